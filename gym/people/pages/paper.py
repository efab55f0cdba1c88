"""Tables and methods paragraphs for papers, of comparisons and of data sets; `/paper/KIND.FORM` serves them."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from gym.people.comparing import options_of, rows_in
from gym.people.exports import citation
from gym.people.models import HumanData, PeopleComparison
from gym.people.pages.views import address_of
from gym.people.presenters import shown_predictions, shown_unevaluable
from gym.people.results import dropped_in
from gym.runs.models import SuiteRun
from gym.runs.pages.methods import facts_and_references
from gym.runs.pages.paper import PaperFiles, methods_files, studied
from lmgym.people.methods import StudiedPeople, people_methods
from lmgym.people.paper import coefficients_table, gains_table, people_predictions_table
from lmgym.runs.methods import Methods
from lmgym.runs.studied import DIGITS, models_and_dates, sources
from lmgym.text.bibtex import Entry, entry_in, plain_key
from lmgym.text.paper_tables import PaperTable
from models_registry.names import disambiguate


def comparison_files(comparison: PeopleComparison) -> dict[str, PaperFiles]:
    """Return the files of a comparison for its page."""
    query: dict[str, str | list[str]] = {"comparison": comparison.key}
    return {
        "gains_paper": PaperFiles("people-gains", query),
        "coefficients_paper": PaperFiles("people-coefficients", query),
        "methods_files": methods_files("people-methods", query),
    }


def comparison_gains(comparison: PeopleComparison) -> PaperTable:
    """Build the ranking. Raises 404 without one."""
    runs = _labelled(comparison)
    gains = rows_in(comparison.result, "gains")
    if not gains:
        raise Http404("This comparison has no ranking.")
    return gains_table(
        gains,
        rows_in(comparison.result, "coefficients"),
        {run.model.slug: label for run, label in runs},
        _notes(comparison, runs),
        log=bool(comparison.options.get("log")),
    )


def comparison_coefficients(comparison: PeopleComparison) -> PaperTable:
    """Build the table of the mixed models, best model first. Raises 404 without a fit."""
    runs = _labelled(comparison)
    rank = {gain.model: gain.rank for gain in rows_in(comparison.result, "gains")}
    fits = sorted(rows_in(comparison.result, "fits"), key=lambda fit: rank.get(fit.model, len(runs) + 1))
    if not fits:
        raise Http404("This comparison has no mixed models.")
    return coefficients_table(
        fits,
        rows_in(comparison.result, "coefficients"),
        {run.model.slug: label for run, label in runs},
        _notes(comparison, runs),
        log=bool(comparison.options.get("log")),
    )


def data_predictions(data: HumanData) -> PaperTable:
    """Build the table of the predictions evaluated on people. Raises 404 if there are none."""
    rows = shown_predictions(data)
    if not rows:
        raise Http404("These data decide no prediction.")
    revision = data.revision
    suite = f"Suite: {revision.suite.title} r{revision.number} (sha256 {revision.sha256[:DIGITS]})."
    return people_predictions_table(
        data.title,
        [row.outcome for row in rows],
        [row.shown.prediction.label for row in rows],
        [row.crossed for row in rows],
        data.unit,
        f"{_named(data)} {suite} {models_and_dates([], [data.created.date()])}",
        [row.shown.prediction.label for row in shown_unevaluable(data)],
    )


def comparison_methods(request: HttpRequest, comparison: PeopleComparison) -> Methods:
    """Write the paragraph of a comparison for this reader."""
    data, runs = comparison.human_data, _labelled(comparison)
    cited = citation(data, address_of(request, data), request.user)
    entry = entry_in(cited) or Entry(plain_key(data.slug), cited)
    people = StudiedPeople(
        title=data.title,
        measure=data.as_measure(),
        sha256=data.provenance.get("sha256", ""),
        n=data.n_observations,
        n_participants=data.n_participants,
        dropped=dropped_in(comparison.result),
        entries=[entry],
        is_simulated=data.is_simulated,
    )
    return people_methods(
        people,
        *facts_and_references(request, runs),
        rows_in(comparison.result, "fits"),
        options_of(comparison.options, data),
        comparison.result.get("left_out", {}),
        [label for run, label in runs if run.model.slug in comparison.result.get("models_left_out", {})],
        has_gains=bool(rows_in(comparison.result, "gains")),
    )


def _labelled(comparison: PeopleComparison) -> list[tuple[SuiteRun, str]]:
    """Return the runs with the labels of their models. Raises 404 if the comparison is not finished."""
    if not comparison.is_done:
        raise Http404("This comparison has no results yet.")
    runs = list(
        comparison.runs.select_related("model", "revision__suite__owner").order_by("model__name", "pk")
    )
    disambiguate(run.model for run in runs)
    return [(run, run.model.label) for run in runs]


def _notes(comparison: PeopleComparison, runs: list[tuple[SuiteRun, str]]) -> str:
    return f"{_named(comparison.human_data)} {sources([studied(run, label) for run, label in runs])}"


def _named(data: HumanData) -> str:
    digest = data.provenance.get("sha256", "")[:DIGITS]
    file = f" (sha256 of the file {digest})" if digest else ""
    return f"{'Simulated data' if data.is_simulated else 'Human data'}: {data.title}{file}."
