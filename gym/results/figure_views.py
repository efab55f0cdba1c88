"""`/figures/<kind>.<form>`: every chart of the site as a file, under the rights of its page."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from gym.evaluations.models import SuiteRun
from gym.evaluations.selectors import latest_done
from gym.evaluations.selectors import visible_to as visible_runs
from gym.results import field_figures, run_figures
from gym.results.figures import Figure, figure_file
from gym.results.leaderboard import Board, leaderboard
from gym.results.options import read_options
from gym.results.rules import rule_of
from gym.results.selectors import scored_runs
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models
from suites.models import SuiteRevision
from suites.selectors import visible_to as visible_suites


def _run(request: HttpRequest) -> SuiteRun:
    runs = visible_runs(request.user).filter(completed_at__isnull=False)
    return get_object_or_404(runs, key=request.GET.get("run", "").replace("\0", "")[:24])


def _regions(request: HttpRequest) -> Figure:
    run = _run(request)
    if not run.region_summary:
        raise Http404("This run has no surprisals to draw.")
    return run_figures.regions_figure(run, items="items" in request.GET)


def _margins(request: HttpRequest) -> Figure:
    run = _run(request)
    position = _number(request.GET.get("prediction", "0"))
    result = get_object_or_404(run.prediction_results.select_related("prediction"), position=position)
    return run_figures.margins_figure(run, result)


def _models(request: HttpRequest) -> Figure:
    revision = get_object_or_404(
        SuiteRevision.objects.select_related("suite").filter(suite__in=visible_suites(request.user)),
        suite__slug=request.GET.get("suite", "").replace("\0", "")[:80],
        number=_number(request.GET.get("r", "")),
    )
    rule = rule_of(request.GET.get("rule", ""))
    runs = latest_done(visible_runs(request.user).filter(revision=revision))
    return run_figures.models_figure(revision, scored_runs(runs, rule), rule)


def _board(request: HttpRequest) -> Board:
    return leaderboard(request.user, read_options(request.GET))


def _heat(request: HttpRequest) -> Figure:
    return field_figures.heat_figure(_board(request))


def _scores(request: HttpRequest) -> Figure:
    return field_figures.scores_figure(_board(request))


def _of(build: Callable[[Board, RegisteredModel], Figure]) -> Callable[[HttpRequest], Figure]:
    def kind(request: HttpRequest) -> Figure:
        slug = request.GET.get("of", "").replace("\0", "")[:80]
        return build(_board(request), get_object_or_404(visible_models(request.user), slug=slug))

    return kind


KINDS: dict[str, Callable[[HttpRequest], Figure]] = {
    "run-regions": _regions,
    "run-margins": _margins,
    "suite-models": _models,
    "leaderboard-heat": _heat,
    "leaderboard-scores": _scores,
    "model-tags": _of(field_figures.tags_figure),
    "model-pairs": _of(field_figures.pairs_figure),
    "model-parameters": _of(lambda board, model: field_figures.size_figure(board, model, "parameters")),
    "model-perplexity": _of(lambda board, model: field_figures.size_figure(board, model, "perplexity")),
    "model-steps": _of(field_figures.steps_figure),
}


@require_safe
def figure(request: HttpRequest, kind: str, form: str) -> HttpResponse:
    """svg, png, pdf, csv or json of a chart; the query says of what."""
    if kind not in KINDS:
        raise Http404(f"Figures are {', '.join(KINDS)}.")
    return figure_file(KINDS[kind](request), form)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Http404("This is not a number.")
    return int(text)
