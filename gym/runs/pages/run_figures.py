"""Charts of stored runs: convert rows to the values that lmgym.runs.figures draws."""

from __future__ import annotations

from collections.abc import Sequence

from gym.runs.models import PredictionResult, SuiteRun
from gym.runs.read.presenters import region_means
from gym.runs.read.scores import Scored
from lmgym.charts.figure import Figure
from lmgym.runs import figures
from lmgym.runs.lens import ShownSentence
from lmgym.runs.rules import Rule
from lmgym.suites.formats.designs import looks
from suites.models import SuiteRevision
from suites.presenters import critical_regions
from suites.selectors import design_of


def _drawn(run: SuiteRun, **query: str) -> figures.Drawn:
    return figures.Drawn(run.model.label, run.revision.suite.title, run.whitespace, {"run": run.key} | query)


def regions_figure(run: SuiteRun, *, items: bool = False, within: bool = False) -> Figure:
    """Draw mean bits by region and condition. `items`: add a thin line per item; `within`: use within-item
    intervals."""
    chosen = ({"items": "1"} if items else {}) | ({"interval": "within"} if within else {})
    return figures.regions_figure(
        _drawn(run, **chosen),
        run.revision.region_names,
        region_means(run, within=within),
        critical_regions(run.revision),
        threads=_threads(run) if items else None,
        within=within,
        looks=looks(design_of(run.revision), run.revision.condition_names),
    )


def _threads(run: SuiteRun) -> figures.Threads:
    rows = run.sentence_scores.select_related("sentence").order_by("sentence__position")
    threads: dict[str, list[list[float | None]]] = {}
    for row in rows:
        contents = row.sentence.contents
        threads.setdefault(row.sentence.condition, []).append(
            [bits if text else None for bits, text in zip(row.regions, contents, strict=True)]
        )
    return threads


def margins_figure(run: SuiteRun, result: PredictionResult) -> Figure:
    """Draw one dot per item: the margin of one prediction."""
    drawn = _drawn(run, prediction=str(result.position))
    label = result.prediction.label
    return figures.margins_figure(drawn, label, result.items, result.outcomes, result.margins)


def item_figure(run: SuiteRun, item: int, sentences: Sequence[ShownSentence]) -> Figure | None:
    """Draw the tokens of one item, one strip per condition; None without tokens."""
    return figures.item_figure(_drawn(run, item=str(item)), item, sentences)


def models_figure(revision: SuiteRevision, scores: Sequence[Scored], rule: Rule) -> Figure:
    """Draw the pass rates of all models on one suite."""
    rows = [
        figures.ModelScore(
            row.run.model.slug,
            row.run.model.label,
            row.score,
            row.verdict,
            row.policy,
            row.policy or ("" if row.run.is_uploaded else "default"),
        )
        for row in scores
    ]
    query = {"suite": revision.suite.slug, "r": str(revision.number), "rule": rule.key}
    return figures.models_figure(f"{revision.suite.title} r{revision.number}", rows, rule, query)
