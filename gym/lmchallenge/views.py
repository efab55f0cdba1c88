"""Pages for corpora, and the list of corpora and games."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.requests import SignedInRequest
from gym.downloads import stream
from gym.lmchallenge import permissions, presenters, selectors, services, storage
from gym.lmchallenge.forms import AboutCorpusForm, CorpusFileForm
from gym.lmchallenge.models import Corpus
from gym.sharing.forms import note_in
from gym.sharing.permissions import may_read
from gym.sharing.redirects import ask_before_leaving
from gym.sharing.shareable import Shareable
from lmgym.lmchallenge import corpus_tools
from lmgym.lmchallenge.errors import LmcError

PER_PAGE = 50
SHAREABLE = Shareable("lmc-corpus", "lmc-list", "LM Challenge", selectors.visible_to)
TYPES = {"txt": "text/plain", "jsonl": "application/x-ndjson"}


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """List corpora and games. Context: corpora (with n_games), page (of games), explained (heading of their metrics, by
    game)."""
    games = selectors.listed_games(request.user).defer(*selectors.HEAVY_GAME, "corpus__packed")
    context = {
        "corpora": selectors.with_counts(selectors.listed_for(request.user), request.user)[:200],
        "page": Paginator(games, PER_PAGE).get_page(request.GET.get("page")),
        "explained": presenters.MAIN_EXPLAINED,
    }
    return render(request, "lmchallenge/list.html", context)


@login_required
def corpus_new(request: SignedInRequest) -> HttpResponse:
    """Upload a corpus.

    Context: about, files (forms), problems, and after “Check only” checked (see corpus_tools.preview), lines (the first
    ones, split into tokens), form (text or json). json_as_text: number of lines that look like JSON, if most lines do
    but are read as plain text; nothing is saved until the user decides.
    """
    about = AboutCorpusForm(request.POST or None)
    files = CorpusFileForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"about": about, "files": files}
    only_check = "check" in request.POST
    status = form_status(request)
    if request.method == "POST" and files.is_valid() and (only_check or about.is_valid()):
        files_data = files.cleaned_data
        read_as = request.POST.get("read_as")
        form = read_as if read_as in ("text", "json") else files_data["form"]
        try:
            read = services.read_corpus(files_data["data"], form, files_data["name"])
            if read.json_as_text and read_as != "text":
                context["json_as_text"] = read.json_as_text
                status = 200
            if only_check:
                context |= {
                    "checked": read.preview,
                    "lines": shown_lines(read.preview["shown"]),
                    "form": read.form,
                }
                context["about"] = AboutCorpusForm(initial=request.POST.dict())
                status = 200
            elif "json_as_text" not in context:
                return redirect(services.create_corpus(read, actor=request.user, **about.values()))
        except LmcError as error:
            context["problems"] = problems_of(error)
        except ValidationError as error:
            about.add_error(None, error)
    return render(request, "lmchallenge/corpus_new.html", context, status=status)


@require_safe
def corpus_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a corpus with its games.

    Context: corpus, lines (the first ones, split into tokens), page (of games), explained (heading of their metrics, by
    game), may_edit, may_manage, may_see_people, may_play.
    """
    corpus = selectors.get_corpus(request.user, slug)
    games = selectors.listed_games(request.user).filter(corpus=corpus)
    context = {
        "corpus": corpus,
        "lines": shown_lines(corpus.shown),
        "page": Paginator(games, PER_PAGE).get_page(request.GET.get("page")),
        "explained": presenters.MAIN_EXPLAINED,
        "may_edit": permissions.can_edit(request.user, corpus),
        "may_manage": permissions.can_manage(request.user, corpus),
        "may_see_people": may_read(request.user, corpus),
        "may_play": permissions.can_play(request.user, corpus),
    }
    return render(request, "lmchallenge/corpus.html", context)


@login_required
def corpus_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    corpus = selectors.get_editable_corpus(request.user, slug)
    may_manage = permissions.can_manage(request.user, corpus)
    unsaved = Corpus.objects.get(pk=corpus.pk)
    form = AboutCorpusForm(request.POST or None, instance=unsaved, may_manage=may_manage)
    if request.method == "POST" and form.is_valid():
        if (response := ask_before_leaving(request, corpus, form)) is not None:
            return response
        try:
            services.edit_corpus(corpus, actor=request.user, **form.values())
            return redirect(corpus)
        except ValidationError as error:
            form.add_error(None, error)
    context = {"corpus": corpus, "form": form}
    return render(request, "lmchallenge/corpus_edit.html", context, status=form_status(request))


@login_required
@require_POST
def corpus_delete(request: SignedInRequest, slug: str) -> HttpResponse:
    corpus = selectors.get_editable_corpus(request.user, slug)
    try:
        services.delete_corpus(corpus, actor=request.user, note=note_in(request.POST))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(corpus)
    messages.success(request, f"{corpus.title} and the games on it were deleted.")
    return redirect("lmc-list")


@require_safe
def corpus_download(request: HttpRequest, slug: str, form: str) -> HttpResponseBase:
    """Download corpus.txt or corpus.jsonl."""
    corpus = selectors.get_corpus(request.user, slug)
    try:
        return corpus_file(corpus, form)
    except LmcError as error:
        messages.error(request, str(error))
        return redirect(corpus)


def corpus_file(corpus: Corpus, form: str) -> StreamingHttpResponse:
    """Stream a download. Raises Http404, and LmcError for a text that the format cannot represent."""
    lines: Any
    same = {"text": "corpus.txt", "json": "corpus.jsonl"}[corpus.form] == form
    if same:
        lines = storage.unpacked_lines(bytes(corpus.packed))
    elif form == "corpus.txt":
        for _ in corpus_tools.to_text(storage.lines_of(corpus)):
            pass  # detect errors before the response starts
        lines = (line.encode() for line in corpus_tools.to_text(storage.lines_of(corpus)))
    elif form == "corpus.jsonl":
        converted = corpus_tools.to_json(storage.lines_of(corpus), timestamps=True)
        lines = (line.encode("utf-8", "replace") for line in converted)
    else:
        raise Http404("There is no such download.")
    return stream(lines, f"{corpus.slug}-{form}", TYPES[form.rpartition(".")[2]])


# --- shared ---


def shown_lines(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Split lines at their tokens: {"number", "user", "timestamp", "pieces": [(text, is_token)]}."""
    result = []
    for line in lines:
        text, at, pieces = line["text"], 0, []
        for start, end in line["tokens"]:
            pieces += [(text[at:start], False)] if start > at else []
            pieces.append((text[start:end], True))
            at = end
        pieces += [(text[at:], False)] if at < len(text) else []
        result.append({**line, "pieces": pieces})
    return result


def problems_of(error: LmcError) -> list[dict[str, str]]:
    """Return the error in the form of includes/problems.html."""
    return [{"message": error.message, "hint": error.hint, "where": ""}]


def form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200
