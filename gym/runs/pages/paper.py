"""Tables for papers from stored runs; `/paper/KIND.FORM` serves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.db.models import prefetch_related_objects
from django.http import Http404, HttpResponse
from django.urls import reverse

from gym.downloads import download
from gym.runs.models import SuiteRun
from gym.runs.read.comparison_selectors import OnAllSuites, OnASuite
from gym.runs.read.leaderboard.build import StoredBoard
from gym.runs.read.presenters import region_means
from gym.runs.read.scores import Scored, under_every_rule
from gym.runs.read.selectors import rates_alone
from lmgym.runs.comparison import tests_in_words
from lmgym.runs.leaderboard.export import for_paper
from lmgym.runs.methods import FORMS as METHODS_FORMS
from lmgym.runs.methods import Methods
from lmgym.runs.paper import SuiteRates, predictions_table, regions_table, suites_table
from lmgym.runs.rules import Rule
from lmgym.runs.studied import Studied, model_version, models_and_dates, named_model
from lmgym.stats import Correction
from lmgym.text import count
from lmgym.text.paper_tables import FORMS, PaperTable, written


@dataclass(frozen=True)
class PaperFiles:
    """Files of a table or paragraph for papers. `query`: parameters that identify it within its `kind`."""

    kind: str
    query: Mapping[str, str | list[str]]
    forms: Iterable[str] = tuple(FORMS)

    @property
    def links(self) -> list[tuple[str, str]]:
        """Name and URL of each format."""
        query = urlencode(self.query, doseq=True, safe=":,")
        return [(NAMES[form], f"{reverse('paper', args=[self.kind, form])}?{query}") for form in self.forms]


def methods_files(kind: str, query: Mapping[str, str | list[str]]) -> PaperFiles:
    return PaperFiles(kind, query, tuple(METHODS_FORMS))


NAMES = {"tex": "LaTeX", "md": "Markdown", "csv": "CSV", "bib": "BibTeX"}
"""Names of formats in menus."""


def studied(run: SuiteRun, label: str = "") -> Studied:
    """Return a finished run as a paper names it. `label`: name of its column; default: the model's."""
    if run.completed_at is None:
        raise Http404("This run has no results yet.")
    n_conditions = len(run.revision.condition_names)
    n_items = next((row.n for row in run.prediction_results.all()), 0)
    return Studied(
        suite=run.revision.suite.title,
        revision=run.revision.number,
        sha256=run.revision.sha256,
        model=label or run.model.label,
        n_items=n_items or run.n_sentences // max(1, n_conditions),
        n_conditions=n_conditions,
        policy=run.policy,
        provenance=run.provenance,
        completed=run.completed_at.date(),
        is_uploaded=run.is_uploaded,
    )


def run_predictions(run: SuiteRun) -> PaperTable:
    """Build the table of a run's predictions, with all of them together under each rule if there are several."""
    prefetch_related_objects([run], rates_alone(), "scores")
    rates = run.rates()
    together = under_every_rule(run) if len(rates) > 1 else []
    return predictions_table([(studied(run), rates)], [(row.rule, [row.score]) for row in together])


def run_regions(run: SuiteRun, *, within: bool) -> PaperTable:
    """Build the table of conditions by regions. Raises 404 if the run has no surprisals."""
    if not run.region_summary:
        raise Http404("This run has no surprisals.")
    summary = region_means(run, within=within)
    return regions_table([(studied(run), summary)], run.revision.region_names, within=within)


def suite_predictions(scores: Sequence[Scored], rule: Rule) -> PaperTable:
    """Build the table of the predictions of one revision by models. Raises 404 without a run."""
    if not scores:
        raise Http404("No model has run on this revision.")
    prefetch_related_objects([row.run for row in scores], rates_alone())
    runs = [(studied(row.run), row.run.rates()) for row in scores]
    return predictions_table(runs, [(rule, [row.score for row in scores])])


def compared_suites(comparison: OnAllSuites, rule: Rule, correction: Correction) -> PaperTable:
    """Build the table of a comparison on several suites, with differences from the first model."""
    runs = [
        studied(side.run, side.label) for row in comparison.rows for side in row.sides if side is not None
    ]
    rows = [
        SuiteRates(
            f"{row.revision.suite.title} r{row.revision.number}",
            [side.scored.score if side else None for side in row.sides],
            [pair.rate if pair else None for pair in row.pairs],
        )
        for row in comparison.rows
    ]
    tests = (
        f"{tests_in_words(comparison.pairs)}, two-sided, {correction.label}-corrected for the "
        f"{count(len(comparison.pairs), 'comparison')} in the table"
    )
    return suites_table(rows, [model.label for model in comparison.models], rule, runs, tests)


def compared_predictions(comparison: OnASuite, rule: Rule) -> PaperTable:
    """Build the table of predictions by runs of a comparison on one suite, with the rates under the rule."""
    sides = comparison.sides
    runs = [(studied(side.run, side.label), side.run.rates()) for side in sides]
    return predictions_table(runs, [(rule, [side.scored.score for side in sides])])


def board_paper_table(board: StoredBoard, label: str = "leaderboard") -> PaperTable:
    """Build the table of a leaderboard, with versions of the models and dates of the runs."""
    keys = [cell.run for row in board.rows for cell in row.cells if cell]
    facts = ("model", "completed_at", "provenance__model_revision", "provenance__model_fingerprint")
    rows = list(SuiteRun.objects.filter(key__in=keys).order_by().values_list(*facts))
    labels = {model.pk: model.label for row in board.rows for model in row.models}
    versions = {
        (labels[pk], model_version(str(commit or ""), str(fingerprint or "")))
        for pk, _, commit, fingerprint in rows
    }
    models = [named_model(label, version) for label, version in sorted(versions)]
    days = {when.date() for _, when, *_ in rows}
    return replace(for_paper(board, models_and_dates(models, days)), label=label)


def table_file(table: PaperTable, form: str, stem: str) -> HttpResponse:
    """Return the table as a file in one of FORMS."""
    if form not in FORMS:
        raise Http404(f"A table for a paper is available as {', '.join(FORMS)}.")
    return download(written(table, form), f"{stem}.{form}", FORMS[form])


def methods_file(text: Methods, form: str, stem: str) -> HttpResponse:
    """Return the paragraph or its references as a file in one of METHODS_FORMS."""
    if form not in METHODS_FORMS:
        raise Http404(f"A methods paragraph is available as {', '.join(METHODS_FORMS)}.")
    return download(text.written(form), f"{stem}.{form}", METHODS_FORMS[form])
