"""Pages for collections."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Exists, OuterRef
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym import stored_files
from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.collections import services, zips
from gym.collections.forms import CollectionForm
from gym.collections.models import Collection, CollectionHumanData, CollectionZip
from gym.collections.picker import read_picker
from gym.downloads import download, zip_stream
from gym.jobs.pages import progress_of, show_error
from gym.runs.pages.export_views import too_much
from gym.runs.pages.leaderboard_views import board_context, board_file, run_missing
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.tables.registry import TooMuch
from gym.sharing.permissions import may_read
from gym.sharing.shareable import Shareable
from lmgym.runs.leaderboard.board import Board
from lmgym.runs.leaderboard.options import Options
from lmgym.text.bibtex import bibtex
from suites.models import SuiteRevision

SHAREABLE = Shareable("collection", "collection-list", "Collections", services.visible_collections)

MOST_NAMED = 10
"""Maximum number of added suites named in a message."""


@require_safe
def collection_list(request: HttpRequest) -> HttpResponse:
    """List collections. Context: collections (with `n`, the number of suites in each)."""
    rows = services.visible_collections(request.user).annotate(n=Count("entries"))
    return render(request, "collections/collections.html", {"collections": rows})


@require_safe
def collection_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a collection with its leaderboard. Context: collection, revisions, n_entries, n_hidden (entries that
    this user cannot see), human_data, addable_data (human data of its revisions), may_change, may_manage,
    may_see_people, citation, and board_context."""
    has_human_data = Exists(CollectionHumanData.objects.filter(collection=OuterRef("pk")))
    counted = services.visible_collections(request.user).annotate(
        n_entries=Count("entries"), has_human_data=has_human_data
    )
    collection: Any = get_object_or_404(counted, slug=slug)
    revisions = services.revisions_of(collection, request.user)
    n_entries = collection.n_entries
    board = leaderboard(request.user, read_options(request.GET), revisions, collection.slug)
    may_change = services.can_change(request.user, collection)
    context = {
        "collection": collection,
        "revisions": revisions,
        "n_entries": n_entries,
        "n_hidden": n_entries - len(revisions),
        "human_data": services.human_data_of(collection, request.user) if collection.has_human_data else [],
        "addable_data": list(services.addable_data(collection, request.user)) if may_change else [],
        "may_change": may_change,
        "may_manage": services.can_manage(request.user, collection),
        "may_see_people": not collection.is_published and may_read(request.user, collection),
        "citation": citation_of(request, collection) if collection.is_published else "",
        **board_context(request, board, collection.get_absolute_url(), collection=collection.slug),
    }
    return render(request, "collections/collection.html", context)


@login_required
def collection_new(request: SignedInRequest) -> HttpResponse:
    """Create a collection. Context: form, picker. `step` searches for suites without saving."""
    picker = read_picker(request.user, _sent(request), [])
    form = _form(request, picker=picker)
    if form.is_bound and form.is_valid():
        cleaned = form.cleaned_data
        try:
            collection = services.create_collection(
                actor=request.user,
                slug=cleaned["slug"],
                revisions=picker.chosen,
                **{name: cleaned[name] for name in ("title", "description", "reference")},
            )
        except ValidationError as error:  # includes OverQuota
            form.add_error(None, error)
        else:
            messages.success(
                request, "Collection created. Only you can see it until you share or publish it."
            )
            _report_added(request, picker.chosen)
            return redirect(collection)
    context = {"form": form, "picker": picker}
    return render(request, "collections/collection_form.html", context, status=400 if form.errors else 200)


@login_required
def collection_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """Edit a collection. Context: form, picker, collection, n_hidden (entries that this user cannot see, which are
    kept)."""
    collection = _changeable(request, slug)
    before = services.revisions_of(collection, request.user)
    n_hidden = len(services.hidden_revisions(collection, request.user))
    picker = read_picker(request.user, _sent(request), before)
    form = _form(request, instance=collection, picker=picker, may_be_empty=n_hidden > 0)
    if form.is_bound and form.is_valid():
        texts = {name: form.cleaned_data[name] for name in ("title", "description", "reference")}
        try:
            services.change_collection(
                Collection.objects.get(pk=collection.pk),
                actor=request.user,
                revisions=picker.chosen,
                **texts,
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, "Saved.")
            earlier = {row.pk for row in before}
            _report_added(request, [row for row in picker.chosen if row.pk not in earlier])
            return redirect(collection)
    context = {"form": form, "picker": picker, "collection": collection, "n_hidden": n_hidden}
    return render(request, "collections/collection_form.html", context, status=400 if form.errors else 200)


def _sent(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _form(request: HttpRequest, **options: Any) -> CollectionForm:
    """Return the form, bound when saving; during a search it keeps the typed values."""
    if request.method == "POST" and "step" not in request.POST:
        return CollectionForm(request.POST, **options)
    written = {name: request.POST[name] for name in CollectionForm.Meta.fields if name in request.POST}
    return CollectionForm(initial=written, **options)


@login_required
@require_POST
def collection_human_data(request: SignedInRequest, slug: str) -> HttpResponse:
    """Set the collection's human data. Parameters: `data` (slugs)."""
    collection = _changeable(request, slug)
    chosen = list(
        services.addable_data(collection, request.user).filter(slug__in=request.POST.getlist("data"))
    )
    try:
        services.set_human_data(collection, chosen, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "Saved.")
    return redirect(collection)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def collection_publish(request: SignedInRequest, slug: str) -> HttpResponse:
    """Publish a collection; GET asks for confirmation. Parameters: `public` (on: make the suites `suite`, primary keys,
    public, too). Context: collection, revisions, n_hidden, offered (suites that are not public and that the user may
    make public), others (that are not public)."""
    collection = _changeable(request, slug)
    services.require_manage(collection, request.user)
    if request.method != "POST":
        revisions = services.revisions_of(collection, request.user)
        n_hidden = len(services.hidden_revisions(collection, request.user))
        offered, others = services.hidden_suites(collection, request.user)
        context = {
            "collection": collection,
            "revisions": revisions,
            "n_hidden": n_hidden,
            "offered": offered,
            "others": others,
        }
        return render(request, "collections/collection_publish.html", context)
    keys = request.POST.getlist("suite") if request.POST.get("public") else []
    make_public = {int(key) for key in keys if key.isdecimal() and len(key) < 19}
    try:
        services.publish_collection(collection, actor=request.user, make_public=make_public)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "Published. The list and its address are now permanent.")
    return redirect(collection)


@login_required
@require_POST
def collection_delete(request: SignedInRequest, slug: str) -> HttpResponse:
    services.delete_collection(_changeable(request, slug), actor=request.user)
    messages.success(request, "Collection deleted. Its suites are unchanged.")
    return redirect("collection-list")


@require_safe
def collection_download(request: HttpRequest, slug: str, form: str) -> HttpResponseBase:
    """Download the collection as zip (redirects to the zip's page until the file exists) or bib, or its
    leaderboard in the format `form`."""
    collection = _visible(request, slug)
    if form == "zip":
        made = zips.current(collection, request.user)
        return zip_response(made) if made else redirect("collection-zip", slug)
    return file_of(request, collection, form, read_options(request.GET))


@require_http_methods(["GET", "HEAD", "POST"])
def collection_zip(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the state of a collection's zip. POST queues the zip, or redirects to it if it exists. Context: collection,
    zip (CollectionZip or None), job, state, is_current; behind only with a zip."""
    collection = _visible(request, slug)
    if request.method == "POST":
        try:
            zip_ = zips.request_zip(
                collection, address_of(request, collection), actor=request.user, again=True
            )
        except TooMuch as error:
            return too_much(request, error)
        except LimitReached as error:
            show_error(request, error)
            return redirect(collection)
        return (
            redirect("collection-download", slug, "zip") if zip_.is_done else redirect("collection-zip", slug)
        )
    latest, is_current = zips.zip_for(collection, request.user)
    context: dict[str, Any] = {"collection": collection, "zip": latest, "is_current": is_current}
    context |= progress_of(latest.job, request.user, latest.state) if latest else {"job": None, "state": ""}
    return render(request, "collections/collection_zip.html", context)


def zip_response(made: CollectionZip) -> HttpResponseBase:
    return zip_stream(stored_files.pieces_of(made), made.filename, made.size)


def address_of(request: HttpRequest, collection: Collection) -> str:
    return request.build_absolute_uri(collection.get_absolute_url())


def file_of(request: HttpRequest, collection: Collection, form: str, options: Options) -> HttpResponse:
    """Return the bib file, or the leaderboard with `options` in the format `form`."""
    slug = collection.slug
    if form == "bib":
        return download(citation_of(request, collection), f"{slug}.bib", "application/x-bibtex")
    board = board_of(request, collection, options)
    address = f"{address_of(request, collection)}?{board.options.query()}"
    return board_file(board, form, address, slug)


@login_required
@require_POST
def collection_run_missing(request: SignedInRequest, slug: str) -> HttpResponse:
    collection = _visible(request, slug)
    return run_missing(
        request, lambda options: board_of(request, collection, options), collection.get_absolute_url()
    )


def board_of(request: HttpRequest, collection: Collection, options: Options) -> Board:
    return leaderboard(
        request.user, options, services.revisions_of(collection, request.user), collection.slug
    )


def citation_of(request: HttpRequest, collection: Collection) -> str:
    when = collection.published_at or collection.created
    return bibtex(
        key=collection.slug,
        title=collection.title,
        authors=[collection.owner.author_name],
        year=when.year,
        address=address_of(request, collection),
        note="Collection of test suites on LM Gym, "
        + (f"sha256 {collection.sha256}" if collection.sha256 else "not published yet"),
    )


def _visible(request: HttpRequest, slug: str) -> Collection:
    return get_object_or_404(services.visible_collections(request.user), slug=slug)


def _report_added(request: HttpRequest, added: list[SuiteRevision]) -> None:
    if added:
        more = f"; and {len(added) - MOST_NAMED} more" if len(added) > MOST_NAMED else ""
        taken = "; ".join(services.described(row) for row in added[:MOST_NAMED])
        messages.success(request, f"Added: {taken}{more}.")


def _changeable(request: HttpRequest, slug: str) -> Collection:
    collection = _visible(request, slug)
    if not services.can_change(request.user, collection):
        raise PermissionDenied("you may not change this collection, or it is published and cannot be changed")
    return collection
