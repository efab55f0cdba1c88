"""Pages of suites: parse, authorise, render."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.quotas import OverQuota
from gym.downloads import download
from gym.sharing.models import Visibility
from suites import permissions, services
from suites.formats import SuiteDocument, write_json, write_long_csv, write_wide_tsv
from suites.forms import DocumentForm, ErrataForm, ImportForm, SuiteForm
from suites.models import Sentence, Suite, SuiteRevision
from suites.presenters import critical_regions
from suites.quotas import SUITES
from suites.selectors import (
    export_document,
    revisions_for,
    visible_to,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User

PER_PAGE = 50
ITEMS_PER_PAGE = 40
STALE = (
    "Somebody changed the draft since you opened this page; nothing was saved. Look at the draft, and upload the file "
    "again to replace what they changed."
)


@login_required
def suite_import(request: HttpRequest) -> HttpResponse:
    """Context: form, problems [{where, message, hint}]. A readable file becomes a draft, and its page opens."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            suite = services.import_suite(
                form.document,
                actor=request.user,
                title=given["title"],
                visibility=given["visibility"],
                tags=given["tags"],
                join_policy=given["join_policy"],
            )
        except OverQuota as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"Imported as a draft: {_shape(form.document)}.")
            return redirect(suite)
    return render(
        request, "suites/import.html", {"form": form, "problems": form.problems}, status=_form_status(request)
    )


@require_safe
def suite_items(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Context: suite, revision, page (of (item number, [Sentence])), critical."""
    suite = _visible(request, slug)
    revision = revision_or_404(request, suite, number)
    by_item: dict[int, list[Sentence]] = {}
    for sentence in revision.sentences.order_by("position"):
        by_item.setdefault(sentence.item, []).append(sentence)
    page = Paginator(list(by_item.items()), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"suite": suite, "revision": revision, "page": page, "critical": critical_regions(revision)}
    return render(request, "suites/items.html", context)


@login_required
def suite_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """What a suite says about itself; its sentences live in revisions. Context: suite, form; where a public address
    would be left and `confirmed` is not sent, the page that asks has also wanted (visibility)."""
    suite = _editable(request, slug)
    form = SuiteForm(request.POST or None, instance=suite, user=request.user)
    if request.method == "POST" and form.is_valid():
        before = Suite.objects.get(pk=suite.pk)
        wanted, suite.visibility = suite.visibility, before.visibility
        if before.visibility == Visibility.PUBLIC != wanted and "confirmed" not in request.POST:
            context = {"suite": before, "form": form, "wanted": wanted}
            return render(request, "suites/confirm_visibility.html", context)
        with SUITES.growing(before.owner, actor=request.user):
            form.save()
        services.set_tags(suite, form.cleaned_data["tag_names"])
        services.set_visibility(suite, wanted, actor=request.user)
        moved = f" The suite has the address {suite.get_absolute_url()} now." if suite.slug != slug else ""
        messages.success(request, f"Saved.{moved}")
        return redirect(suite)
    return render(request, "suites/edit.html", {"suite": suite, "form": form}, status=_form_status(request))


@login_required
def suite_upload(request: HttpRequest, slug: str) -> HttpResponse:
    """A new version from a file: it becomes the draft, frozen revisions stay. Context: suite, form, problems, version
    (of the draft that the file would replace)."""
    suite = _editable(request, slug)
    draft = suite.draft
    version = str(draft.edits) if draft else ""
    newest = suite.revisions.order_by("-number").first()
    initial = {"join_policy": newest.join_policy} if newest else {}
    form = DocumentForm(request.POST or None, request.FILES or None, initial=initial, newest=newest)
    if request.method == "POST" and request.POST.get("version", version) != version:
        form.add_error(None, STALE)
    elif request.method == "POST" and form.is_valid():
        try:
            draft = services.replace_draft(
                suite, form.document, actor=request.user, join_policy=form.cleaned_data["join_policy"]
            )
        except OverQuota as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"Draft r{draft.number}: {_shape(form.document)}.")
            return redirect(draft)
    context = {"suite": suite, "form": form, "problems": form.problems, "version": version}
    return render(request, "suites/upload.html", context, status=_form_status(request))


@login_required
def suite_errata(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Say what turned out to be wrong with a revision. Context: suite, revision, form."""
    suite = _editable(request, slug)
    revision = revision_or_404(request, suite, number)
    form = ErrataForm(request.POST if request.method == "POST" else None, initial={"errata": revision.errata})
    if request.method == "POST" and form.is_valid():
        services.set_errata(revision, form.cleaned_data["errata"], actor=request.user)
        messages.success(request, "Saved. The sentences stay as they are.")
        return redirect(revision)
    context = {"suite": suite, "revision": revision, "form": form}
    return render(request, "suites/errata.html", context, status=_form_status(request))


@login_required
@require_POST
def suite_discard_draft(request: HttpRequest, slug: str) -> HttpResponse:
    suite = _editable(request, slug)
    try:
        services.discard_draft(suite, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The draft is gone; the frozen revisions are as they were.")
    return redirect(suite)


@login_required
@require_POST
def suite_delete(request: HttpRequest, slug: str) -> HttpResponse:
    suite = _visible(request, slug)
    try:
        services.delete_suite(suite, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(suite)
    messages.success(request, f"{suite.title} is deleted.")
    return redirect("suite-list")


DOWNLOADS = {
    "json": ("JSON", "json", "application/json"),
    "json-trimmed": ("JSON, blanks trimmed", "json", "application/json"),
    "json-early": ("JSON, early dialect", "json", "application/json"),
    "csv": ("long CSV", "csv", "text/csv"),
    "tsv": ("wide TSV", "tsv", "text/tab-separated-values"),
}


@require_safe
def suite_download(request: HttpRequest, slug: str, number: int, form: str) -> HttpResponse:
    suite = _visible(request, slug)
    revision = revision_or_404(request, suite, number)
    if form not in DOWNLOADS:
        raise Http404(f"Downloads are {', '.join(DOWNLOADS)}.")
    return export_text(revision, form, request.user)


def export_text(revision: SuiteRevision, form: str, user: User | AnonymousUser) -> HttpResponse:
    """A revision as a download for this reader, in one of DOWNLOADS."""
    _, extension, content_type = DOWNLOADS[form]
    document = export_document(revision, names_author=permissions.may_know_owner(user, revision.suite))
    text = {
        "json": lambda: write_json(document),
        "json-trimmed": lambda: write_json(document, whitespace="trimmed"),
        "json-early": lambda: write_json(document, dialect="early"),
        "csv": lambda: write_long_csv(document),
        "tsv": lambda: write_wide_tsv(document),
    }[form]()
    return download(text, f"{revision.suite.slug}-r{revision.number}.{extension}", content_type)


def _visible(request: HttpRequest, slug: str) -> Suite:
    return get_object_or_404(
        visible_to(request.user).select_related("owner").prefetch_related("tags"), slug=slug
    )


def _editable(request: HttpRequest, slug: str) -> Suite:
    suite = _visible(request, slug)
    if not permissions.can_edit(request.user, suite):
        raise PermissionDenied("you may not edit this suite")
    return suite


def revision_or_404(request: HttpRequest, suite: Suite, number: int) -> SuiteRevision:
    revision: SuiteRevision = get_object_or_404(revisions_for(request.user, suite), number=number)
    revision.suite = suite
    return revision


def _form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200


def _shape(document: SuiteDocument) -> str:
    items = len({row.item for row in document.sentences})
    counts = [
        ("item", items),
        ("condition", len(document.conditions)),
        ("region", len(document.region_names)),
    ]
    shape = " × ".join(_counted(number, noun) for noun, number in counts)
    return f"{shape}, {_counted(len(document.predictions), 'prediction')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
