"""Pages for games: start, progress, statistics, text, mixture, downloads, upload of logs, and comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.jobs.pages import act, polled, progress_of
from gym.lmchallenge import (
    changes,
    counting,
    downloads,
    figures,
    permissions,
    playing,
    presenters,
    reading,
    selectors,
)
from gym.lmchallenge.forms import AboutGameForm, GameForm, LogForm
from gym.lmchallenge.models import Game
from gym.lmchallenge.views import form_status, problems_of
from gym.uploads import open_upload
from lmgym.charts.figure import Figure
from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.logs import coloured
from lmgym.lmchallenge.logs.measures import metrics_of
from lmgym.lmchallenge.logs.text_index import LOSSES
from lmgym.lmchallenge.tokens import FILTER_WORDS

MAX_UPLOAD = 50_000_000
FILTER = "alphaemoji"


@login_required
def start(request: SignedInRequest, slug: str) -> HttpResponse:
    """Start games on a corpus. Context: corpus, form."""
    corpus = selectors.get_corpus(request.user, slug)
    if not permissions.can_play(request.user, corpus):
        raise PermissionDenied("you may not play on this corpus")
    form = GameForm(request.POST or None, request.FILES or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        try:
            made = playing.start_games(corpus, form.game_requests(), actor=request.user)
            if len(made) > 1:
                messages.success(request, f"{len(made)} games were queued.")
            return redirect(made[0] if len(made) == 1 else corpus)
        except ValidationError as error:
            form.add_error(None, error)
        except LimitReached as error:
            form.add_error(None, str(error))
    context = {"corpus": corpus, "form": form}
    return render(request, "lmchallenge/start.html", context, status=form_status(request))


@login_required
def upload(request: SignedInRequest) -> HttpResponse:
    """Upload logs of games. Context: form, problems."""
    corpora = selectors.listed_for(request.user)
    initial = {"corpus": request.GET.get("corpus", "")}
    form = LogForm(request.POST or None, request.FILES or None, corpora=corpora, initial=initial)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        corpus = form.cleaned_data["corpus"]
        try:
            made = playing.upload_logs(
                [(file.name, open_upload(file, MAX_UPLOAD)) for file in form.cleaned_data["file"]],
                actor=request.user,
                corpus=corpus,
                **form.values(),
            )
            if len(made) == 1:
                return redirect(made[0])
            messages.success(request, f"{len(made)} logs were uploaded and will be counted.")
            return redirect(corpus or "lmc-list")
        except LmcError as error:
            context["problems"] = problems_of(error)
        except ValidationError as error:
            form.add_error(None, error)
        except LimitReached as error:
            form.add_error(None, str(error))
    return render(request, "lmchallenge/upload.html", context, status=form_status(request))


@require_safe
def game_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Show a game's statistics, with the filter and partition in the query.

    Context: game, job, state, behind, options, is_indexed, may_steer, keep, filters, statistics,
    match, figures, more, parts, learning (Figure or None), charts, comparable, counterpart.
    """
    game = selectors.get_game(request.user, key)
    if game.key != key:
        return redirect(game)
    keep = filter_of(request, game)
    statistics = counting.statistics_of(game, keep)
    context = {
        **about(request, game),
        "keep": keep,
        "filters": FILTER_WORDS,
        "statistics": statistics,
        "match": presenters.match_words(game),
        "figures": presenters.figures(game, statistics),
        "more": presenters.more(statistics),
        "parts": presenters.parts(game, statistics, keep, request),
        "learning": presenters.learning_figure(game, statistics.get("more", {}).get("learning_curve"), keep),
        "charts": figures.of_games([game], keep) if statistics else [],
        "counterpart": presenters.counterpart(game),
        "comparable": selectors.comparable(game, request.user)[:50] if game.is_counted else [],
    }
    return render(request, "lmchallenge/game.html", context)


@require_safe
def game_progress(request: HttpRequest, key: str) -> HttpResponse:
    """Render the progress fragment while the job runs. The page is reloaded when it ends."""
    game = selectors.get_game(request.user, key)
    active = game.job is not None and game.job.is_active
    return polled(request, "lmchallenge/_progress.html", about(request, game), final=not active)


@login_required
@require_POST
def game_cancel(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, selectors.get_steered_game(request.user, key), playing.cancel_game)


@login_required
@require_POST
def game_retry(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, selectors.get_steered_game(request.user, key), playing.retry_game)


@login_required
@require_POST
def game_count_again(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, selectors.get_steered_game(request.user, key), playing.recount)


@login_required
def game_edit(request: SignedInRequest, key: str) -> HttpResponse:
    game = selectors.get_steered_game(request.user, key)
    form = AboutGameForm(request.POST or None, instance=Game.objects.get(pk=game.pk))
    if request.method == "POST" and form.is_valid():
        playing.edit_game(game, actor=request.user, **form.values())
        return redirect(game)
    return render(
        request, "lmchallenge/game_edit.html", {"game": game, "form": form}, status=form_status(request)
    )


@login_required
@require_POST
def game_delete(request: SignedInRequest, key: str) -> HttpResponse:
    game = selectors.get_steered_game(request.user, key)
    playing.delete_game(game, actor=request.user)
    messages.success(request, f"{game.title} was deleted with its log.")
    return redirect(game.corpus) if game.corpus else redirect("lmc-list")


@require_safe
def game_download(request: HttpRequest, key: str, form: str) -> HttpResponseBase:
    """Download targets.log, lengths.log or predictions.log, each also with .gz; statistics.json, statistics.csv,
    users.csv; transcript.txt; or text.html, with the lines that `game_text` finds.
    """
    game = selectors.get_game(request.user, key)
    if game.version == 5 and form.partition(".")[0] in downloads.ONLY_OF_4:
        messages.info(request, downloads.ONE_FORM)
        return redirect(game)
    keep = filter_of(request, game)
    try:
        response = downloads.response_of(game, form, keep, text_search(request, game, keep))
    except (LmcError, ValidationError) as error:
        raise Http404(str(error)) from None
    if response is None:
        raise Http404("No such download.")
    return response


@require_safe
def game_text(request: HttpRequest, key: str) -> HttpResponse:
    """Show a log's coloured text.

    Context: that of `about`, keep, filters, search (reading.TextSearch), text (reading.Page), orders, outcomes, legend,
    loss (its label), users (to choose from), mix, typed, wrong (only after an error).
    """
    game = selectors.get_game(request.user, key)
    if not game.is_counted:
        raise Http404("This game has no statistics yet.")
    keep = filter_of(request, game)
    context = about(request, game) | {
        "keep": keep,
        "filters": FILTER_WORDS,
        "orders": reading.ORDERS,
        "outcomes": reading.outcome_words(game),
        "legend": list(coloured.words_of(game.game).items()),
        "loss": LOSSES[game.game],
        "users": presenters.users_of(game, keep),
        "mix": counting.mix_of(game, keep) if game.game == "ic" else None,
        "typed": game.game in ("ic", "wr"),
    }
    try:
        context["search"] = text_search(request, game, keep)
        context["text"] = reading.read_page(game, context["search"])
    except ValidationError as error:
        context["wrong"] = {"message": " ".join(error.messages)}
    except LmcError as error:
        context["wrong"] = error
    return render(request, "lmchallenge/text.html", context, status=400 if "wrong" in context else 200)


def text_search(request: HttpRequest, game: Game, keep: str) -> reading.TextSearch:
    """Parse the text search in the query. Raises ValidationError."""
    values: dict[str, Any] = {
        name: request.GET.get(name, "").replace("\0", "")[: reading.MOST_WORD]
        for name in ("order", "outcome", "word", "user")
    }
    values["page"] = presenters.whole(request.GET.get("page"), 1)
    if (line := request.GET.get("line", "").strip()) and not presenters.whole(line, 0):
        raise ValidationError({"line": [f"“{line[:20]}” is not a line number."]})
    values["line"] = presenters.whole(line, 0)
    return reading.parse_search(game, keep, values)


# --- pages that decode logs ---


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Compare games: `?first=…&second=…&second=…`.

    Selected games (`game`) redirect to such a URL; the baseline is `first` if selected, else the first selected game.
    Context: games (the baseline first), first, choices, rows (counting.Compared), metrics, wordless (games),
    has_filters, keep, filters, cluster, clusters; with results also metric, explained and charts,
    after an LmcError wrong.
    """
    if ticked := [key for key in request.GET.getlist("game") if key]:
        query = request.GET.copy()
        del query["game"]
        first = str(query["first"]) if query.get("first") in ticked else ticked[0]
        query["first"] = first
        query.setlist("second", [key for key in ticked if key != first])
        return redirect(f"{request.path}?{query.urlencode()}")
    comparison = _compared(request)
    games = comparison.games
    choices = selectors.listed_games(request.user).filter(counted_at__isnull=False)
    context: dict[str, Any] = {
        "games": games,
        "first": games[0] if games else None,
        "keep": comparison.keep,
        "filters": FILTER_WORDS,
        "wordless": [game for game in games if not game.has_targets],
        "has_filters": all(game.has_filters for game in games),
        "cluster": comparison.cluster,
        "clusters": counting.CLUSTERS,
        "choices": choices[:200],
        "metrics": [(name, presenters.metric_words(name)) for name in comparison.metrics],
        "rows": [],
    }
    if len(games) > 1:
        try:
            rows = context["rows"] = comparison.rows()
            context["metric"] = presenters.metric_words(rows[0].comparison.measure)
            context["explained"] = presenters.explained(rows[0].comparison.measure)
            context["charts"] = figures.of_games(games, comparison.keep)
        except LmcError as error:
            context["wrong"] = error
    return render(request, "lmchallenge/compare.html", context, status=400 if "wrong" in context else 200)


@require_safe
def compare_table(request: HttpRequest) -> HttpResponse:
    """Download the table of `compare` as CSV."""
    comparison = _compared(request)
    try:
        return downloads.comparison(comparison.rows())
    except LmcError as error:
        raise Http404(f"{error.message} {error.hint}") from None


@require_safe
def compare_text(request: HttpRequest) -> HttpResponse:
    """Show the word-by-word changes from the first game to the second.

    Context: first, game, keep, filters, has_filters, legend, text (changes.ChangedPage) or wrong.
    """
    comparison = _compared(request)
    if len(comparison.games) != 2:
        raise Http404("Select exactly two games.")
    first, game = comparison.games
    context: dict[str, Any] = {
        "first": first,
        "game": game,
        "keep": comparison.keep,
        "filters": FILTER_WORDS,
        "has_filters": first.has_filters and game.has_filters,
        "legend": changes.legend_of(game),
    }
    try:
        number = presenters.whole(request.GET.get("page"), 1)
        context["text"] = changes.read_changes(first, game, comparison.keep, number)
    except LmcError as error:
        context["wrong"] = error
    return render(request, "lmchallenge/changes.html", context, status=400 if "wrong" in context else 200)


@dataclass(frozen=True)
class _Comparing:
    """A comparison as requested in the query."""

    games: list[Game]
    keep: str
    cluster: str
    metric: str

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that all games have, and the requested metric."""
        known = metrics_of([game.game for game in self.games]) if self.games else ()
        return known if not self.metric or self.metric in known else (*known, self.metric)

    def rows(self) -> list[counting.Compared]:
        return counting.compare_games(self.games, self.keep, self.cluster, self.metric)


def _compared(request: HttpRequest, named: str = "first") -> _Comparing:
    keys = dict.fromkeys([request.GET.get(named, ""), *request.GET.getlist("second")])
    chosen = [key.replace("\0", "") for key in keys if key][: counting.MOST_COMPARED + 1]
    games = [selectors.get_counted_game(request.user, key) for key in chosen]
    cluster = request.GET.get("cluster", "auto")
    if cluster not in counting.CLUSTERS:
        raise Http404("There is no such cluster.")
    return _Comparing(games, filter_of(request, *games), cluster, request.GET.get("metric", "")[:30])


@require_safe
def mixture(request: HttpRequest, key: str) -> HttpResponse:
    """Show the accuracy of each mixture that was tried when the log's statistics were computed.

    Context: that of `about`; for ic rows [(penalty, cells)], alphas, best, keep, filters, held (cross-validated),
    figure; for wr mix, figures.
    """
    game = selectors.get_counted_game(request.user, key)
    if game.game == "wr":
        counted = counting.statistics_of(game, "all")
        shown = {"mix": counted["mix"], "figures": presenters.figures(game, counted)}
        return render(request, "lmchallenge/mixture_5.html", {**about(request, game), **shown})
    if game.game != "ic":
        raise Http404("Only input correction and word reranking have a mixture.")
    keep = filter_of(request, game)
    stored = counting.statistics_of(game, keep)
    context: dict[str, Any] = {
        **about(request, game),
        **heat_map(stored["search"]),
        "keep": keep,
        "filters": FILTER_WORDS,
        "held": stored["more"].get("cross_validated"),
        "figure": presenters.mixture_figure(game, keep),
    }
    return render(request, "lmchallenge/mixture.html", context)


def mixture_chart(request: HttpRequest) -> Figure:
    """Draw the heat map of `mixture`, for the game in the query."""
    game = selectors.get_counted_game(request.user, request.GET.get("game", "").replace("\0", ""))
    if game.game != "ic":
        raise Http404("Only input correction has a mixture.")
    return presenters.mixture_figure(game, filter_of(request, game))


def chart_of(kind: str) -> Callable[[HttpRequest], Figure]:
    """Return a view of a chart in `figures.BUILDERS`, for the games in the query (`game`, `second`)."""

    def chart(request: HttpRequest) -> Figure:
        comparison = _compared(request, "game")
        if not 1 <= len(comparison.games) <= counting.MOST_COMPARED:
            raise Http404(f"Select 1 to {counting.MOST_COMPARED} games.")
        figure = figures.BUILDERS[kind](comparison.games, comparison.keep)
        if figure is None:
            raise Http404("Not all of these games have data for this chart.")
        return figure

    return chart


def learning_chart(request: HttpRequest) -> Figure:
    game = selectors.get_counted_game(request.user, request.GET.get("game", "").replace("\0", ""))
    keep = filter_of(request, game)
    curve = counting.statistics_of(game, keep).get("more", {}).get("learning_curve")
    figure = presenters.learning_figure(game, curve, keep)
    if figure is None:
        raise Http404("This game has no learning curve.")
    return figure


def heat_map(search: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a table of mixtures: a row per penalty, a cell per alpha."""
    best = counting.best_of(search)
    rows: dict[float, list[dict[str, Any]]] = {}
    for mixture_row in search:
        cell = {**mixture_row, "is_best": mixture_row is best}
        rows.setdefault(mixture_row["oov_penalty"], []).append(cell)
    first = next(iter(rows.values()))
    return {"rows": list(rows.items()), "alphas": [cell["alpha"] for cell in first], "best": best}


# --- shared ---


def about(request: HttpRequest, game: Game) -> dict[str, Any]:
    return {
        "game": game,
        **progress_of(game.job, request.user, game.state),
        "may_steer": permissions.can_steer(request.user, game),
        "options": presenters.options(game),
        "is_indexed": reading.is_indexed(game),
    }


def filter_of(request: HttpRequest, *games: Game) -> str:
    """Return the filter to apply: the filter in the query, or "all" for games that have no filters (see
    `counting.keep_of`).
    """
    name = request.GET.get("filter", FILTER)
    if name not in FILTER_WORDS:
        raise Http404("There is no such filter.")
    return counting.keep_of(name, *games)
