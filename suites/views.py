"""Pages for suites."""

from __future__ import annotations

import io
from collections.abc import Sequence
from copy import copy
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts.models import AnyUser
from gym.accounts.quotas import OverQuota
from gym.accounts.requests import SignedInRequest
from gym.downloads import download, file_download
from gym.sharing.forms import note_in
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_read
from gym.sharing.redirects import ask_before_leaving
from gym.sharing.shareable import Shareable
from lmgym.suites.blueprints import BLUEPRINTS
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.files import FORMS, file_name
from lmgym.suites.formats.item_data import ItemData, data_of_rows
from lmgym.suites.intake.sheets import shape
from lmgym.text import count
from models_registry.selectors import runnable_by, strongest_first
from suites import drafts, history, imports, permissions, services
from suites.answer_forms import pasted_sheet
from suites.exports import file_content
from suites.fields import METRIC_NAMES
from suites.forms import (
    ChooseSuiteForm,
    CopyForm,
    DocumentForm,
    ErrataForm,
    FileForm,
    GuidedForm,
    PasteForm,
    SuiteForm,
    TemplateForm,
)
from suites.models import JoinPolicy, Sentence, Suite, SuiteRevision
from suites.options import ImportOptions
from suites.presenters import critical_regions
from suites.selectors import (
    document_of,
    listed_for,
    revisions_for,
    visible_to,
)

SHAREABLE = Shareable("suite", "suite-list", "Suites", visible_to, "suites/people.html")
ITEMS_PER_PAGE = 40
MAX_FILTERS = 50
"""Maximum number of different values of item data to filter by."""


@require_safe
def suite_items(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show a revision's items. `?where=NAME: VALUE` keeps the items of which a sentence has this item data. Context:
    suite, revision, page (of (item number, [Sentence with data_cells])), critical, data_names, filters (name -> values)
    and where (the active filter, or "")."""
    suite = _visible(request, slug)
    revision = revision_or_404(request, suite, number)
    by_item: dict[int, list[Sentence]] = {}
    for sentence in revision.sentences.order_by("position"):
        by_item.setdefault(sentence.item, []).append(sentence)
    data = data_of_rows(
        ((row.item, row.condition, row.extra) for rows in by_item.values() for row in rows), revision.extra
    )
    filters = {name: list(dict.fromkeys(values.values())) for name, values in data.values.items()}
    filters = {name: values for name, values in filters.items() if 2 <= len(values) <= MAX_FILTERS}
    matching = {f"{name}: {value}": (name, value) for name, values in filters.items() for value in values}
    where = request.GET.get("where", "")
    if where in matching:
        name, value = matching[where]
        kept = {item for (item, _), text in data.values[name].items() if text == value}
        by_item = {item: rows for item, rows in by_item.items() if item in kept}
    page = Paginator(list(by_item.items()), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    names = sorted(data.names, key=lambda name: name not in data.by_item)
    for item, rows in page:
        for place, row in enumerate(rows):
            row.data_cells = _data_cells(data, names, item, row.condition, len(rows) if place == 0 else 0)  # type: ignore[attr-defined]
    context = {
        "suite": suite,
        "revision": revision,
        "page": page,
        "critical": critical_regions(revision),
        "data_names": names,
        "filters": filters,
        "where": where if where in matching else "",
    }
    return render(request, "suites/items.html", context)


def _data_cells(
    data: ItemData, names: Sequence[str], item: int, condition: str, rows: int
) -> list[tuple[str, int]]:
    """Return (value, rows that the cell spans) of a sentence's item data. `rows`: sentences of the item if this is its
    first one, whose cells span all of them if the item has one value; else 0."""
    cells = []
    for name in names:
        if name not in data.by_item:
            cells.append((data.values[name].get((item, condition), ""), 1))
        elif rows:
            cells.append((data.by_item[name].get(item, ""), rows))
    return cells


@login_required
def suite_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """Edit a suite's card. Context: suite, form."""
    suite = editable(request, slug)
    form = SuiteForm(request.POST or None, instance=copy(suite), user=request.user)
    if request.method == "POST" and form.is_valid():
        if (confirmation := ask_before_leaving(request, suite, form)) is not None:
            return confirmation
        try:
            services.edit_card(suite, actor=request.user, **form.card())
        except ValidationError as error:
            form.add_error(None, error)
        else:
            moved = (
                f" The new address of the suite is {suite.get_absolute_url()}." if suite.slug != slug else ""
            )
            messages.success(request, f"Saved.{moved}")
            return redirect(suite)
    return render(request, "suites/edit.html", {"suite": suite, "form": form}, status=_form_status(request))


@login_required
def suite_upload(request: SignedInRequest, slug: str) -> HttpResponse:
    """Upload a new version as the draft; a file that raises questions becomes an import. Context: suite, form,
    problems, version (of the draft to be replaced, or "")."""
    suite = editable(request, slug)
    draft = suite.draft
    version = str(draft.edits) if draft else ""
    newest = suite.revisions.order_by("-number").first()
    initial = {"join_policy": newest.join_policy} if newest else {}
    form = DocumentForm(request.POST or None, request.FILES or None, initial=initial, newest=newest)
    if request.method == "POST" and request.POST.get("version", version) != version:
        form.add_error(None, imports.STALE)
    elif request.method == "POST" and form.is_valid():
        try:
            draft = services.replace_draft(
                suite,
                form.document,
                actor=request.user,
                join_policy=form.cleaned_data["join_policy"],
                metric=form.cleaned_data["metric"],
            )
        except OverQuota as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"Draft r{draft.number}: {_shape(form.document)}.")
            return redirect(draft)
    if form.ambiguous_file is not None:
        options = ImportOptions.of(form.cleaned_data, version=version)
        return redirect(
            imports.import_files([form.ambiguous_file], options, actor=request.user, target=suite)
        )
    context = {"suite": suite, "form": form, "problems": form.problems, "version": version}
    return render(request, "suites/upload.html", context, status=_form_status(request))


@login_required
def suite_errata(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Edit the errata of a revision. Context: suite, revision, form."""
    suite = editable(request, slug)
    revision = revision_or_404(request, suite, number)
    form = ErrataForm(request.POST if request.method == "POST" else None, initial={"errata": revision.errata})
    if request.method == "POST" and form.is_valid():
        services.set_errata(revision, form.cleaned_data["errata"], actor=request.user)
        messages.success(request, "Saved. The sentences did not change.")
        return redirect(revision)
    context = {"suite": suite, "revision": revision, "form": form}
    return render(request, "suites/errata.html", context, status=_form_status(request))


@login_required
@require_POST
def suite_discard_draft(request: SignedInRequest, slug: str) -> HttpResponse:
    suite = editable(request, slug)
    try:
        services.discard_draft(suite, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "Draft discarded. Frozen revisions are unchanged.")
    return redirect(suite)


@login_required
@require_POST
def suite_delete(request: SignedInRequest, slug: str) -> HttpResponse:
    suite = _visible(request, slug)
    try:
        services.delete_suite(suite, actor=request.user, note=note_in(request.POST))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(suite)
    messages.success(request, f"{suite.title} was deleted.")
    return redirect("suite-list")


@require_safe
def suite_download(request: HttpRequest, slug: str, number: int, form: str) -> HttpResponseBase:
    suite = _visible(request, slug)
    revision = revision_or_404(request, suite, number)
    if form not in FORMS:
        raise Http404(f"Unknown format. Choose one of {', '.join(FORMS)}.")
    return export_text(revision, form, request.user)


def export_text(revision: SuiteRevision, form: str, user: AnyUser) -> HttpResponseBase:
    """Return a revision as a download for this reader, in one of FORMS."""
    content = file_content(revision, form, user)
    name = file_name(revision.suite.slug, revision.number, form)
    content_type = FORMS[form].content_type
    if isinstance(content, bytes):
        return file_download(io.BytesIO(content), name, content_type)
    return download(content, name, content_type)


# ---- new suites: from scratch, a template, a sheet, a file, or another suite ----

SOURCES = {
    "guided": "Start from scratch",
    "template": "Use a template",
    "paste": "Paste a sheet",
    "file": "From a file",
    "copy": "Copy a suite",
}


@login_required
def suite_new(request: SignedInRequest) -> HttpResponse:
    """Create a suite, which is a private draft and opens in the editor; a file that raises questions becomes an import.
    Context: source, sources [(key, label)], form, parsed (ParseResult of a pasted sheet or a file, or None),
    blueprints."""
    source = request.POST.get("by") or request.GET.get("by") or "guided"
    source = source if source in SOURCES else "guided"
    form = _new_form(request, source)
    step = request.POST.get("step")
    if step == "cross" and source == "guided":
        form = form.crossed()
    elif request.method == "POST" and not form.is_valid() and getattr(form, "ambiguous_file", None):
        return redirect(imports.import_files([form.ambiguous_file], form.options(), actor=request.user))
    elif request.method == "POST" and form.is_valid() and step != "look":
        try:
            suite = _create(request, source, form)
        except OverQuota as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"Created {suite.title} as a draft. It is private until you share it.")
            if (parsed := getattr(form, "parsed", None)) and parsed.understood:
                messages.info(request, " ".join(parsed.understood))
            return redirect("suite-editor", suite.slug)
    refused = request.method == "POST" and bool(form.errors)
    context = {
        "source": source,
        "sources": list(SOURCES.items()),
        "form": form,
        "parsed": getattr(form, "parsed", None),
        "blueprints": BLUEPRINTS.values(),
    }
    return render(request, "suites/new.html", context, status=400 if refused else 200)


def _new_form(request: HttpRequest, source: str) -> Any:
    data = request.POST if request.method == "POST" else None
    if source == "template":
        first = request.GET.get("template", "agreement")
        return TemplateForm(data, initial={"template": first if first in BLUEPRINTS else "agreement"})
    if source == "copy":
        return ChooseSuiteForm(
            data, suites=listed_for(request.user).select_related("owner").order_by("title")
        )
    if source == "file":
        return FileForm(data, request.FILES or None)
    return {"guided": GuidedForm, "paste": PasteForm}[source](data)


def _create(request: SignedInRequest, source: str, form: Any) -> Suite:
    cleaned = form.cleaned_data
    if source == "copy":
        original = cleaned["suite"]
        title = cleaned["name"] or f"{original.title[:190]} copy"
        return _copy(request, original, original.latest_frozen or original.draft, title, Visibility.PRIVATE)
    return services.import_suite(cleaned["document"], form.options(), actor=request.user)


def _copy(request: SignedInRequest, suite: Suite, revision: Any, title: str, visibility: str) -> Suite:
    revision.suite = suite
    return services.copy_suite(revision, actor=request.user, title=title, visibility=visibility)


@login_required
def suite_copy(request: SignedInRequest, slug: str) -> HttpResponse:
    """Copy a suite, which any signed-in user who can see it may do. Context: suite, form."""
    suite = _visible(request, slug)
    form = CopyForm(
        request.POST if request.method == "POST" else None,
        suite=suite,
        user=request.user,
        initial={"name": f"{suite.title[:190]} copy"},
    )
    if request.method == "POST" and form.is_valid():
        cleaned = form.cleaned_data
        try:
            duplicate = _copy(request, suite, cleaned["revision"], cleaned["name"], cleaned["visibility"])
        except OverQuota as error:
            form.add_error(None, error)
        else:
            draft = duplicate.draft
            assert draft is not None
            messages.success(request, f"Created {duplicate.title}: {shape(document_of(draft))}.")
            return redirect("suite-editor", duplicate.slug)
    return render(request, "suites/copy.html", {"suite": suite, "form": form}, status=_form_status(request))


# ---- the page of the grid editor, which uses the REST API; see docs/grid.md ----


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def suite_editor(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the grid editor. POST opens a draft if there is none. Context without a draft: suite, frozen.
    Context with a draft: suite, draft, card (the draft as in the REST API), earlier (own newest changes, for undo),
    endpoints {draft, cells, preview, lint, formula, design, freeze, history, sheet}, models [{slug, name, parameters}]
    (the strongest first), metrics {name: words}, joins [(name, words)], may_freeze."""
    suite = editable(request, slug)
    if request.method == "POST":
        services.open_draft(suite, actor=request.user)
        return redirect("suite-editor", slug)
    draft = suite.draft
    if draft is None:
        return render(request, "suites/open_draft.html", {"suite": suite, "frozen": suite.latest_frozen})
    draft.suite = suite
    context = {
        "suite": suite,
        "draft": draft,
        "card": drafts.card(draft),
        "earlier": history.earlier_edits(draft, request.user),
        "endpoints": {
            "draft": reverse("api-draft", args=[slug]),
            "cells": reverse("api-draft-cells", args=[slug]),
            "preview": reverse("api-preview", args=[slug]),
            "lint": reverse("api-lint", args=[slug]),
            "formula": reverse("api-formula-explain"),
            "design": reverse("api-design-explain"),
            "freeze": reverse("suite-freeze", args=[slug]),
            "history": reverse("suite-history", args=[slug]),
            "sheet": reverse("suite-pasted-sheet", args=[slug]),
        },
        "models": list(strongest_first(runnable_by(request.user)).values("slug", "name", "parameters")),
        "metrics": METRIC_NAMES,
        "joins": JoinPolicy.choices,
        "may_freeze": True,
    }
    return render(request, "suites/editor.html", context)


@login_required
@require_POST
def suite_pasted_sheet(request: HttpRequest, slug: str) -> HttpResponse:
    """Parse a sheet pasted into the grid; nothing is saved. Returns JSON {kind, regions, cells, understood}, or an HTML
    fragment with the open questions. Context: parsed, form (AnswersForm or None)."""
    editable(request, slug)
    parsed, form = pasted_sheet(request.POST)
    if parsed.part is None:
        return render(request, "suites/editor/_pasted.html", {"parsed": parsed, "form": form})
    kind, part = parsed.kind, parsed.part
    return JsonResponse(
        {"kind": kind, "regions": part.regions, "cells": part.texts, "understood": parsed.understood}
    )


# ---- the address of an unlisted suite ----


@login_required
@require_POST
def suite_new_address(request: SignedInRequest, slug: str) -> HttpResponse:
    suite = _visible(request, slug)
    try:
        services.new_secret_address(suite, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The suite has a new address. Links to the old one no longer work.")
    suite.refresh_from_db()
    return redirect("suite-people", suite.slug) if may_read(request.user, suite) else redirect(suite)


# ---- helpers ----


def _visible(request: HttpRequest, slug: str) -> Suite:
    return get_object_or_404(visible_to(request.user).select_related("owner"), slug=slug)


def editable(request: HttpRequest, slug: str) -> Suite:
    """Return the suite if this user may edit it; 404 if they may not see it, 403 if they may only read it."""
    suite = _visible(request, slug)
    permissions.require_edit(request.user, suite)
    return suite


def revision_or_404(request: HttpRequest, suite: Suite, number: int) -> SuiteRevision:
    revision: SuiteRevision = get_object_or_404(revisions_for(request.user, suite), number=number)
    revision.suite = suite
    return revision


def _form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200


def _shape(document: SuiteDocument) -> str:
    return f"{shape(document)}, {count(len(document.predictions), 'prediction')}"
