"""Pages that decode logs: the comparison of games, the search of the mixture of ic."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from gym.lmchallenge.core.errors import LmcError
from gym.lmchallenge.core.interpolation import Domain
from gym.lmchallenge.core.stats import IC_METRICS
from gym.lmchallenge.core.tokens import FILTER_WORDS
from gym.lmchallenge.models import Game
from gym.lmchallenge.site import comparing, counting, selectors
from gym.lmchallenge.site.charts import learning_figure, search_figure
from gym.lmchallenge.site.game_views import about, filter_of, visible
from gym.runs.pages.figures import Figure

METRICS = tuple(name for name in IC_METRICS if name not in ("skip", "words"))


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Context: games (chosen), choices, rows (comparing.Compared), wordless (games), wrong, keep, cluster."""
    keys = [key for key in dict.fromkeys(request.GET.getlist("game")) if key][: comparing.MOST + 1]
    games = [counted(request, key) for key in keys]
    keep, cluster = filter_of(request, *games), request.GET.get("cluster", "auto")
    if cluster not in comparing.CLUSTERS:
        raise Http404("There is no such cluster.")
    context: dict[str, Any] = {
        "games": games,
        "first": games[0] if games else None,
        "keep": keep,
        "filters": FILTER_WORDS,
        "wordless": [game for game in games if not game.has_targets],
        "cluster": cluster,
        "clusters": comparing.CLUSTERS,
        "choices": selectors.listed_games(request.user).filter(counted_at__isnull=False)[:200],
        "rows": [],
    }
    if len(games) > 1:
        try:
            context["rows"] = comparing.compare_games(games, keep, cluster)
        except LmcError as error:
            context["wrong"] = error
    return render(request, "lmchallenge/compare.html", context, status=400 if "wrong" in context else 200)


@require_safe
def search(request: HttpRequest, key: str) -> HttpResponse:
    """Accuracy by alpha and OOV penalty. Context: rows [(penalty, cells)], alphas, best, held (cross-validated),
    figure (the same as a drawing), wrong."""
    game = counted(request, key)
    if game.game != "ic":
        raise Http404("Only input correction has a mixture.")
    keep, target, given = _asked(request, game)
    context: dict[str, Any] = {
        **about(request, game),
        "keep": keep,
        "filters": FILTER_WORDS,
        "target": target,
        "targets": METRICS,
        "given": given,
        "held": counting.statistics_of(game, keep).get("more", {}).get("cross_validated"),
    }
    try:
        found = _searched(game, keep, target, given)
        context |= heat_map(found)
        context["figure"] = search_figure(game, found, _query(game, keep, target, given))
    except LmcError as error:
        context["wrong"] = error
    return render(request, "lmchallenge/search.html", context, status=400 if "wrong" in context else 200)


def search_chart(request: HttpRequest) -> Figure:
    """The heat map of `search`, of the game that the address names."""
    game = counted(request, request.GET.get("game", "").replace("\0", ""))
    if game.game != "ic":
        raise Http404("Only input correction has a mixture.")
    keep, target, given = _asked(request, game)
    try:
        return search_figure(game, _searched(game, keep, target, given), _query(game, keep, target, given))
    except LmcError as error:
        raise Http404(f"{error.message} {error.hint}") from None


def learning_chart(request: HttpRequest) -> Figure:
    game = counted(request, request.GET.get("game", "").replace("\0", ""))
    keep = filter_of(request, game)
    curve = counting.statistics_of(game, keep).get("more", {}).get("learning_curve")
    figure = learning_figure(game, curve, keep)
    if figure is None:
        raise Http404("This game has no learning curve.")
    return figure


def _asked(request: HttpRequest, game: Game) -> tuple[str, str, dict[str, str]]:
    """Filter, figure, and the ranges of alpha and penalty."""
    given = {name: request.GET.get(name, default) for name, default in DEFAULTS.items()}
    return filter_of(request, game), request.GET.get("target", "accuracy"), given


def _searched(game: Game, keep: str, target: str, given: dict[str, str]) -> list[dict[str, Any]]:
    domains = Domain.parse(given["alpha"]), Domain.parse(given["oov_penalty"])
    return counting.searched(game, keep, *domains, target)


def _query(game: Game, keep: str, target: str, given: dict[str, str]) -> dict[str, str]:
    return {"game": game.key, "filter": keep, "target": target, **given}


DEFAULTS = {"alpha": "0:1:11", "oov_penalty": "-8:0:5"}


def heat_map(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows of a table: one per penalty, one cell per alpha."""
    best = counting.best_of(found)
    rows: dict[float, list[dict[str, Any]]] = {}
    for one in found:
        cell = {**one, "is_best": one is best}
        rows.setdefault(one["oov_penalty"], []).append(cell)
    first = next(iter(rows.values()))
    return {"rows": list(rows.items()), "alphas": [cell["alpha"] for cell in first], "best": best}


def counted(request: HttpRequest, key: str) -> Game:
    game = visible(request, key)
    if not game.is_counted:
        raise Http404("This game is not counted yet.")
    return game
