"""`/paper/<kind>.<form>`: tables and methods paragraphs for papers, with the permissions of the pages that show their
numbers."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from gym.collections.services import revisions_of, visible_collections
from gym.collections.views import citation_of
from gym.people.models import HumanData, PeopleComparison
from gym.people.pages import paper as people_paper
from gym.people.selectors import comparisons_of
from gym.people.selectors import visible_to as visible_human_data
from gym.runs.models import SuiteRun
from gym.runs.pages import compare_views, paper
from gym.runs.pages.export_views import finished_run, is_within
from gym.runs.pages.methods import board_methods, run_methods
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import StoredBoard, leaderboard
from gym.runs.read.scores import Scored, scored_runs
from gym.runs.read.selectors import latest_done
from gym.runs.read.selectors import visible_to as visible_runs
from lmgym.runs.methods import Methods
from lmgym.runs.rules import Rule, rule_of
from lmgym.runs.studied import DIGITS
from lmgym.text.bibtex import Entry, plain_key
from lmgym.text.paper_tables import PaperTable
from suites.models import SuiteRevision
from suites.selectors import revisions_for


def run_named(request: HttpRequest) -> SuiteRun:
    """Return the finished run of `?run=`."""
    return finished_run(request.user, request.GET.get("run", "").replace("\0", "")[:24])


def collection_slug(request: HttpRequest) -> str:
    return request.GET.get("collection", "").replace("\0", "")[:80]


def board_named(request: HttpRequest) -> StoredBoard:
    """Return the leaderboard that the query selects, or that of `?collection=`."""
    options = read_options(request.GET)
    slug = collection_slug(request)
    if not slug:
        return leaderboard(request.user, options)
    collection = get_object_or_404(visible_collections(request.user), slug=slug)
    return leaderboard(request.user, options, revisions_of(collection, request.user), slug)


def revision_named(request: HttpRequest) -> tuple[SuiteRevision, list[Scored], Rule]:
    """Return the revision of `?suite=&r=`, the newest finished run of each model, and the rule of `?rule=`."""
    revision = get_object_or_404(
        revisions_for(request.user).select_related("suite"),
        suite__slug=request.GET.get("suite", "").replace("\0", "")[:80],
        number=number_in(request.GET.get("r", "")),
    )
    rule = rule_of(request.GET.get("rule", ""))
    runs = latest_done(visible_runs(request.user).filter(revision=revision))
    return revision, scored_runs(runs, rule), rule


def human_data_named(request: HttpRequest) -> HumanData:
    """Return the human data of `?data=`."""
    slug = request.GET.get("data", "").replace("\0", "")[:80]
    return get_object_or_404(visible_human_data(request.user), slug=slug)


def comparison_named(request: HttpRequest) -> PeopleComparison:
    """Return the comparison with people of `?comparison=`."""
    key = request.GET.get("comparison", "").replace("\0", "")[:24]
    data = get_object_or_404(visible_human_data(request.user), comparisons__key=key)
    comparison = get_object_or_404(comparisons_of(data, request.user), key=key)
    comparison.human_data = data
    return comparison


def number_in(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Http404("A number is missing or invalid.")
    return int(text)


def _suite_predictions(request: HttpRequest) -> PaperTable:
    _, scores, rule = revision_named(request)
    return paper.suite_predictions(scores, rule)


TABLES: dict[str, Callable[[HttpRequest], PaperTable]] = {
    "run-predictions": lambda request: paper.run_predictions(run_named(request)),
    "run-regions": lambda request: paper.run_regions(run_named(request), within=is_within(request)),
    "suite-predictions": _suite_predictions,
    "compare-suites": compare_views.suites_table,
    "compare-predictions": compare_views.predictions_table,
    "people-gains": lambda request: people_paper.comparison_gains(comparison_named(request)),
    "people-coefficients": lambda request: people_paper.comparison_coefficients(comparison_named(request)),
    "people-predictions": lambda request: people_paper.data_predictions(human_data_named(request)),
    "leaderboard": lambda request: paper.board_paper_table(board_named(request)),
}


def _board_methods(request: HttpRequest) -> Methods:
    board = board_named(request)
    slug = collection_slug(request)
    if not slug:
        return board_methods(request, board)
    collection = get_object_or_404(visible_collections(request.user), slug=slug)
    digest = f" (sha256 {collection.sha256[:DIGITS]})" if collection.sha256 else ""
    entry = Entry(plain_key(slug), citation_of(request, collection))
    return board_methods(request, board, (f"the collection {collection.title}{digest}", entry))


METHODS: dict[str, Callable[[HttpRequest], Methods]] = {
    "run-methods": lambda request: run_methods(request, run_named(request)),
    "compare-methods": compare_views.comparison_methods,
    "leaderboard-methods": _board_methods,
    "people-methods": lambda request: people_paper.comparison_methods(request, comparison_named(request)),
}


@require_safe
def paper_file(request: HttpRequest, kind: str, form: str) -> HttpResponse:
    """Return a table as tex, md or csv, or a methods paragraph as tex, md or bib. The query selects its data, as in
    /figures/."""
    if kind in METHODS:
        return paper.methods_file(METHODS[kind](request), form, kind)
    if kind not in TABLES:
        raise Http404(f"Available: {', '.join((*TABLES, *METHODS))}.")
    return paper.table_file(TABLES[kind](request), form, kind)
