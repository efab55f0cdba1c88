"""`/figures/<kind>.<form>`: charts of the site as files, with the permissions of their pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from gym.agents import case_views as agent_cases
from gym.agents.charts import SUITE_TREND, suite_trend
from gym.agents.selectors import visible_to as visible_agent_suites
from gym.lmchallenge import game_views as lmc
from gym.pages.paper_views import (
    board_named,
    collection_slug,
    comparison_named,
    human_data_named,
    number_in,
    revision_named,
    run_named,
)
from gym.people.comparing import rows_in
from gym.people.pages.model_views import effects_chart, gains_chart
from gym.people.presenters import data_figure
from gym.propara import submission_views as submissions
from gym.propara import views as propara
from gym.runs.pages import compare_views, leaderboard_figures, run_figures
from gym.runs.pages.export_views import is_on, is_within
from gym.runs.pages.figures import figure_file
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.read.presenters import under_the_lens
from lmgym.charts.figure import Figure
from lmgym.runs.leaderboard.board import Board
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models


def _regions(request: HttpRequest) -> Figure:
    run = run_named(request)
    if not run.region_summary:
        raise Http404("This run has no surprisals to draw.")
    return run_figures.regions_figure(run, items=is_on(request, "items"), within=is_within(request))


def _margins(request: HttpRequest) -> Figure:
    run = run_named(request)
    position = number_in(request.GET.get("prediction", "0"))
    result = get_object_or_404(run.prediction_results.select_related("prediction"), position=position)
    return run_figures.margins_figure(run, result)


def _item(request: HttpRequest) -> Figure:
    run = run_named(request)
    item = number_in(request.GET.get("item", ""))
    scores = run.sentence_scores.filter(sentence__item=item).select_related("sentence")
    shown = under_the_lens(scores.order_by("sentence__position"), run.revision)
    figure = run_figures.item_figure(run, item, shown)
    if figure is None:
        raise Http404("This run has no such item, or no tokens of it.")
    return figure


def _models(request: HttpRequest) -> Figure:
    revision, scores, rule = revision_named(request)
    return run_figures.models_figure(revision, scores, rule)


def _of_board(build: Callable[..., Figure]) -> Callable[[HttpRequest], Figure]:
    """Return a view function for a figure of the leaderboard, or of the collection named in the query."""

    def kind(request: HttpRequest) -> Figure:
        slug = collection_slug(request)
        return build(board_named(request), **({"collection": slug} if slug else {}))

    return kind


def _of(build: Callable[[Board, RegisteredModel], Figure]) -> Callable[[HttpRequest], Figure]:
    def kind(request: HttpRequest) -> Figure:
        slug = request.GET.get("of", "").replace("\0", "")[:80]
        options = replace(
            read_options(request.GET), group=False
        )  # about one model, not the group of its seeds
        board = leaderboard(request.user, options)
        return build(board, get_object_or_404(visible_models(request.user), slug=slug))

    return kind


def _agent_trend(request: HttpRequest) -> Figure:
    slug = request.GET.get("suite", "").replace("\0", "")[:80]
    suite = get_object_or_404(visible_agent_suites(request.user), slug=slug)
    trend = suite_trend(suite, request.user)
    if trend is None:
        raise Http404("The chart needs at least two runs.")
    return trend


def _people(request: HttpRequest) -> Figure:
    return _drawn(data_figure(human_data_named(request)))


def _gains(request: HttpRequest) -> Figure:
    return _drawn(gains_chart(comparison_named(request)))


def _effects(request: HttpRequest) -> Figure:
    comparison = comparison_named(request)
    place = number_in(request.GET.get("effect", "0"))
    effects = rows_in(comparison.result, "effects")
    if not 0 <= place < len(effects):
        raise Http404("This comparison has no such effect.")
    return effects_chart(comparison, effects[place])


def _drawn(figure: Figure | None) -> Figure:
    if figure is None:
        raise Http404("There is nothing to draw.")
    return figure


KINDS: dict[str, Callable[[HttpRequest], Figure]] = {
    "run-regions": _regions,
    "run-margins": _margins,
    "run-item": _item,
    "suite-models": _models,
    "people-means": _people,
    "people-gains": _gains,
    "people-effects": _effects,
    "leaderboard-heat": _of_board(leaderboard_figures.heat_figure),
    "leaderboard-scores": _of_board(leaderboard_figures.scores_figure),
    "model-tags": _of(leaderboard_figures.tags_figure),
    "model-pairs": _of(leaderboard_figures.pairs_figure),
    "model-parameters": _of(lambda board, model: leaderboard_figures.size_figure(board, model, "parameters")),
    "model-perplexity": _of(lambda board, model: leaderboard_figures.size_figure(board, model, "perplexity")),
    "model-steps": _of(leaderboard_figures.steps_figure),
    "compare-suites": compare_views.suites_chart,
    "compare-items": compare_views.items_chart,
    "lmc-search": lmc.mixture_chart,
    "lmc-learning": lmc.learning_chart,
    "lmc-hits": lmc.chart_of("lmc-hits"),
    "lmc-ranks": lmc.chart_of("lmc-ranks"),
    "propara-board": propara.board_chart,
    "propara-actions": submissions.actions_chart,
    "agent-trend": agent_cases.trend_chart,
    SUITE_TREND: _agent_trend,
}


@require_safe
def figure(request: HttpRequest, kind: str, form: str) -> HttpResponse:
    """Render a chart as svg, png, pdf, csv or json. The query selects its data; `size=single` or `double`: a drawing as
    wide as a column or a page of a journal."""
    if kind not in KINDS:
        raise Http404(f"Available figures: {', '.join(KINDS)}.")
    return figure_file(KINDS[kind](request), form, request.GET.get("size", "")[:20])
