"""Charts of one run, and of the models on one suite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gym.runs.models import PredictionResult, SuiteRun
from gym.runs.pages.figures import Figure
from gym.runs.read.presenters import ShownSentence, ShownToken, region_means
from gym.runs.read.scores import Scored
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.regions import Markup, Series, margin_strip, region_chart
from lmgym.charts.token_strip import StripRow, StripToken, token_strip
from lmgym.runs.against_chance import ALONE
from lmgym.runs.rules import Rule
from suites.models import SuiteRevision
from suites.presenters import critical_regions

COUNTS = ("n_items", "n_passed", "n_judged", "rate", "ci_low", "ci_high", "chance")
"""What the chart of a suite's models draws and says."""


INTERVALS = {
    False: "Interval: 95%, Student’s t; none where all items are alike.",
    True: "Interval: 95% within items (Cousineau–Morey), over items that have the region in every condition; none "
    "where all items are alike.",
}


def regions_figure(run: SuiteRun, *, items: bool = False, within: bool = False) -> Figure:
    """Mean bits by region and condition; with `items` a thin line per item too; `within`: within-item intervals."""
    summary = region_means(run, within=within)
    threads = _threads(run) if items else {}
    revision = run.revision
    names = list(revision.region_names)
    title = f"{run.model.label} on {revision.suite.title}: mean surprisal by region"
    series = [
        Series(
            name=row["condition"],
            means=[cell["mean"] for cell in row["regions"]],
            lows=[cell["low"] for cell in row["regions"]],
            highs=[cell["high"] for cell in row["regions"]],
            n=max((cell["n"] for cell in row["regions"]), default=0),
            items=threads.get(row["condition"], ()),
        )
        for row in summary
    ]
    critical = critical_regions(revision)

    def draw(*, standalone: bool) -> Markup:
        return region_chart(names, series, critical, title, standalone=standalone)

    rows = [
        (row["condition"], number, name, cell["n"], cell["mean"], cell["low"], cell["high"], run.whitespace)
        for row in summary
        for number, (name, cell) in enumerate(zip(names, row["regions"], strict=True), start=1)
    ]
    header = (
        "condition", "region_number", "region_name", "n_items", "mean_bits", "ci_low", "ci_high",
        "whitespace",
    )  # fmt: skip
    chosen = ({"items": "1"} if items else {}) | ({"interval": "within"} if within else {})
    return Figure("run-regions", title, draw, header, rows, {"run": run.key} | chosen, INTERVALS[within])


def _threads(run: SuiteRun) -> dict[str, list[list[float | None]]]:
    rows = run.sentence_scores.select_related("sentence").order_by("sentence__position")
    threads: dict[str, list[list[float | None]]] = {}
    for row in rows:
        contents = row.sentence.contents
        threads.setdefault(row.sentence.condition, []).append(
            [bits if text else None for bits, text in zip(row.regions, contents, strict=True)]
        )
    return threads


def margins_figure(run: SuiteRun, result: PredictionResult) -> Figure:
    """One dot per item: the margin of one prediction."""
    labels = [f"item {number}" for number in result.items]
    title = f"{run.model.label} on {run.revision.suite.title}, {result.prediction.label}: margins"

    def draw(*, standalone: bool) -> Markup:
        return margin_strip(result.margins, result.outcomes, title, labels=labels, standalone=standalone)

    words = ("failed", "held", "tie", "not evaluable")
    rows = [
        (item, words[code] if code < len(words) else "not held", margin, run.whitespace)
        for item, code, margin in zip(result.items, result.outcomes, result.margins, strict=True)
    ]
    query = {"run": run.key, "prediction": str(result.position)}
    header = ("item_number", "outcome", "margin_bits", "whitespace")
    return Figure("run-margins", title, draw, header, rows, query)


def item_figure(run: SuiteRun, item: int, sentences: Sequence[ShownSentence]) -> Figure | None:
    """The tokens of one item, a strip per condition; None without tokens."""
    known = [sentence for sentence in sentences if sentence.score.tokens]
    if not known:
        return None
    columns = [("start", False)]
    columns += [(f"{region.number} {region.name}", region.critical) for region in known[0].regions]
    columns.append(("end", False))
    strips = [
        StripRow(
            sentence.condition,
            [
                [_strip(token) for token in sentence.specials if token.start == 0],
                *([_strip(token) for token in region.tokens] for region in sentence.regions),
                [_strip(token) for token in sentence.specials if token.start > 0],
            ],
        )
        for sentence in known
    ]
    title = f"{run.model.label} on {run.revision.suite.title}, item {item}"
    blanks = any("·" in token.text for strip in strips for tokens in strip.columns for token in tokens)
    note = "·: a blank that belongs to the token." if blanks else ""
    draw = partial(token_strip, strips, columns, title, note=note)
    header = (
        "condition", "region_number", "region_name", "token", "start", "end", "surprisal_bits", "special",
        "straddles_regions", "whitespace",
    )  # fmt: skip
    rows = [
        (sentence.condition, number, name, token.text or token.token, token.start, token.end, token.bits,
         token.special, token.straddles, run.whitespace)
        for sentence in known
        for number, name, tokens in (
            *((region.number, region.name, region.tokens) for region in sentence.regions),
            (None, "outside regions", sentence.specials),
        )
        for token in tokens
    ]  # fmt: skip
    return Figure("run-item", title, draw, header, rows, {"run": run.key, "item": str(item)})


def _strip(token: ShownToken) -> StripToken:
    """Blanks as a dot, which the font of papers has; it lacks the open box of the pages."""
    text = (token.text or token.token).replace(" ", "·") + (f" {token.part}" if token.part else "")
    place = f"characters {token.start}–{token.end}"
    note = f"not computed, {place}" if token.not_computed else place
    return StripToken(text, token.bits, token.special, token.straddles, note)


def models_figure(revision: SuiteRevision, scores: Sequence[Scored], rule: Rule) -> Figure:
    """Pass rates of all models on one suite."""
    known = [score for score in scores if score.rate is not None]
    title = f"{revision.suite.title} r{revision.number}"
    marks = [
        RowMark(
            row.run.model.label,
            row.rate,
            row.score.ci_low,
            row.score.ci_high,
            row.score.chance,
            note=_held(row),
        )
        for row in known
    ]

    def draw(*, standalone: bool) -> Markup:
        return interval_rows(marks, title, note=f"Scoring rule: {rule.label}", standalone=standalone)

    header = ("model", "rule", *COUNTS, "p_above_chance_uncorrected", *ALONE, "policy")
    rows: list[tuple[Any, ...]] = [
        (
            row.run.model.slug,
            rule.key,
            *(getattr(row.score, name) for name in (*COUNTS, "p_above_chance_uncorrected")),
            *(getattr(row.verdict, name) for name in ALONE),
            row.policy or ("" if row.run.is_uploaded else "default"),
        )
        for row in known
    ]
    query = {"suite": revision.suite.slug, "r": str(revision.number), "rule": rule.key}
    return Figure("suite-models", title, draw, header, rows, query, "95% Wilson intervals.", rule)


def _held(score: Scored) -> str:
    held = f"{score.score.n_passed} of {score.score.n_judged} held"
    held += f"; {score.verdict.words}" if score.verdict.words else ""
    return f"{held}; {score.policy}, not the default policy" if score.policy else held
