"""Pages of games: start, progress, statistics, downloads; and uploaded logs."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import TooManyJobs
from gym.jobs.errors import WrongState
from gym.jobs.selectors import position_in_queue
from gym.lmchallenge.core.errors import LmcError
from gym.lmchallenge.core.tokens import FILTER_WORDS
from gym.lmchallenge.models import Game
from gym.lmchallenge.site import downloads, permissions, playing, presenters, selectors
from gym.lmchallenge.site.charts import learning_figure
from gym.lmchallenge.site.counting import keep_of, statistics_of
from gym.lmchallenge.site.forms import AboutGameForm, GameForm, LogForm
from gym.lmchallenge.site.views import form_status, problems_of
from gym.lmchallenge.site.views import visible as visible_corpus
from gym.uploads import open_upload

STOP_POLLING = 286
MAX_UPLOAD = 50_000_000
FILTER = "alphaemoji"


@login_required
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Context: corpus, form."""
    corpus = visible_corpus(request, slug)
    if not permissions.can_play(request.user, corpus):
        raise PermissionDenied("you may not play on this corpus")
    form = GameForm(request.POST or None, request.FILES or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(playing.start_game(corpus, form.wish(), actor=request.user))
        except ValidationError as error:
            form.add_error(None, error)
        except TooManyJobs as error:
            form.add_error(None, str(error))
    context = {"corpus": corpus, "form": form}
    return render(request, "lmchallenge/start.html", context, status=form_status(request))


@login_required
def upload(request: HttpRequest) -> HttpResponse:
    """Context: form, problems."""
    corpora = selectors.listed_for(request.user)
    initial = {"corpus": request.GET.get("corpus", "")}
    form = LogForm(request.POST or None, request.FILES or None, corpora=corpora, initial=initial)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["log"]
        try:
            made = playing.upload_log(
                open_upload(file, MAX_UPLOAD),
                actor=request.user,
                filename=file.name,
                corpus=form.cleaned_data["corpus"],
                **form.given(),
            )
            return redirect(made)
        except LmcError as error:
            context["problems"] = problems_of(error)
        except ValidationError as error:
            form.add_error(None, error)
        except TooManyJobs as error:
            form.add_error(None, str(error))
    return render(request, "lmchallenge/upload.html", context, status=form_status(request))


@require_safe
def game_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Statistics with the filter and the partition of the address. Context: game, job, position, keep, filters, whole,
    more, users, partition, learning (Figure or None), comparable, may_steer."""
    game = visible(request, key)
    if game.key != key:
        return redirect(game)
    keep = filter_of(request, game)
    found = statistics_of(game, keep)
    context = {
        **about(request, game),
        "keep": keep,
        "filters": FILTER_WORDS,
        "found": found,
        "match": presenters.match_words(game),
        "figures": presenters.figures(game, found),
        "more": presenters.more(found),
        "parts": presenters.parts(game, found, keep, request),
        "learning": learning_figure(game, found.get("more", {}).get("learning_curve"), keep),
        "comparable": selectors.comparable(game, request.user)[:50] if game.is_counted else [],
    }
    return render(request, "lmchallenge/game.html", context)


@require_safe
def game_progress(request: HttpRequest, key: str) -> HttpResponse:
    """A fragment while it runs; then the page is loaded anew."""
    game = visible(request, key)
    active = game.job is not None and game.job.is_active
    response = render(
        request, "lmchallenge/_progress.html", about(request, game), status=200 if active else STOP_POLLING
    )
    if not active:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_POST
def game_cancel(request: HttpRequest, key: str) -> HttpResponse:
    return _act(request, key, playing.cancel_game)


@login_required
@require_POST
def game_retry(request: HttpRequest, key: str) -> HttpResponse:
    return _act(request, key, playing.retry_game)


def _act(request: HttpRequest, key: str, use_case: Any) -> HttpResponse:
    game = steered(request, key)
    try:
        use_case(game, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except (WrongState, TooManyJobs) as error:
        messages.error(request, str(error))
    return redirect(game)


@login_required
def game_edit(request: HttpRequest, key: str) -> HttpResponse:
    game = steered(request, key)
    form = AboutGameForm(request.POST or None, instance=Game.objects.get(pk=game.pk))
    if request.method == "POST" and form.is_valid():
        playing.edit_game(game, actor=request.user, **form.given())
        return redirect(game)
    return render(
        request, "lmchallenge/game_edit.html", {"game": game, "form": form}, status=form_status(request)
    )


@login_required
@require_POST
def game_delete(request: HttpRequest, key: str) -> HttpResponse:
    game = steered(request, key)
    playing.delete_game(game, actor=request.user)
    messages.success(request, f"{game.title} is deleted, with its log.")
    return redirect(game.corpus) if game.corpus else redirect("lmc-list")


@require_safe
def game_download(request: HttpRequest, key: str, form: str) -> HttpResponse:
    """targets.log, lengths.log, predictions.log, each also with .gz; statistics.json, statistics.csv, users.csv."""
    game = visible(request, key)
    response = downloads.response_of(game, form, filter_of(request, game))
    if response is None:
        raise Http404("There is no such download.")
    return response


@require_safe
def game_text(request: HttpRequest, key: str) -> HttpResponse:
    """The text, coloured. Context: game, lines, pages, keep, legend, mix."""
    game = visible(request, key)
    if not game.is_counted:
        raise Http404("Nothing was played yet.")
    keep = filter_of(request, game)
    number = whole(request.GET.get("page"), 1)
    context: dict[str, Any] = {**about(request, game), "keep": keep, "filters": FILTER_WORDS}
    context |= presenters.text_page(game, keep, number, whole(request.GET.get("line"), 0))
    return render(request, "lmchallenge/text.html", context)


# --- what several pages share ---


def about(request: HttpRequest, game: Game) -> dict[str, Any]:
    job = game.job
    return {
        "game": game,
        "job": job,
        "position": position_in_queue(job) if job is not None and job.state == "queued" else None,
        "may_steer": permissions.can_steer(request.user, game),
        "options": presenters.options(game),
    }


def visible(request: HttpRequest, key: str) -> Game:
    return get_object_or_404(selectors.game_at(request.user, key))


def steered(request: HttpRequest, key: str) -> Game:
    game = visible(request, key)
    if not permissions.can_steer(request.user, game):
        raise PermissionDenied("this belongs to somebody else")
    return game


def filter_of(request: HttpRequest, *games: Game) -> str:
    """The filter of the address, as far as the games have words that can be filtered."""
    name = request.GET.get("filter", FILTER)
    if name not in FILTER_WORDS:
        raise Http404("There is no such filter.")
    return keep_of(name, *games)


def whole(text: str | None, default: int) -> int:
    """A small number of the address."""
    if text and text.isascii() and text.isdigit() and len(text) < 9:
        return int(text)
    return default
