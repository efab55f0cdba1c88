"""Pages of suites: parse, authorise, render."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.api.filters import MOST_CHARACTERS
from gym.evaluations.forms import RunForm
from gym.evaluations.selectors import newest_and_unfinished
from gym.evaluations.selectors import visible_to as visible_runs
from gym.exports import download
from gym.jobs.models import ACTIVE_STATES
from gym.results.comparisons import on_another
from gym.results.exports.cite import EXPORT_TABLES, citation
from gym.results.front import field_scores
from gym.results.rules import RULES, rule_of
from gym.results.run_figures import models_figure, regions_figure
from gym.results.selectors import Scored, scored_runs
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_read
from suites import permissions, services
from suites.filters import SuiteFilter
from suites.formats import SuiteDocument, write_json, write_long_csv, write_wide_tsv
from suites.forms import DocumentForm, ErrataForm, FreezeForm, ImportForm, SuiteForm
from suites.models import Sentence, Suite, SuiteRevision
from suites.presenters import critical_regions, shown_prediction
from suites.selectors import (
    document_of,
    export_document,
    findings_of,
    listed_for,
    revisions_for,
    tags_of,
    visible_to,
    with_shape,
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


@require_safe
def suite_list(request: HttpRequest) -> HttpResponse:
    """Context: page (of Suite with n_items, n_sentences, n_predictions, last_revision, last_state), filter, wrong,
    tags [{"name", "n"}], current_tag, query, sort, total, scores {suite.pk: FieldScores}, rule, rules."""
    listed = listed_for(request.user)
    filtered = SuiteFilter(request.GET, queryset=with_shape(listed, request.user))
    wrong = [message for name in ("q", "tag", "language") for message in filtered.errors.get(name, ())]
    page = Paginator(Suite.objects.none() if wrong else filtered.qs, PER_PAGE).get_page(
        request.GET.get("page")
    )
    rule = rule_of(request.GET.get("rule", ""))
    is_narrowed = any(request.GET.get(name) for name in ("q", "tag", "language"))
    context = {
        "page": page,
        "filter": filtered,
        "tags": tags_of(listed),
        "current_tag": request.GET.get("tag", ""),
        "query": request.GET.get("q", "")[:MOST_CHARACTERS],
        "wrong": wrong,
        "sort": request.GET.get("sort", ""),
        "total": listed.count() if is_narrowed else page.paginator.count,
        "scores": field_scores(request.user, list(page), rule),
        "rule": rule,
        "rules": list(RULES.values()),
    }
    return render(request, "suites/list.html", context, status=400 if wrong else 200)


@login_required
def suite_import(request: HttpRequest) -> HttpResponse:
    """Context: form, problems [{where, message, hint}]. A readable file becomes a draft, and its page opens."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        suite = services.import_suite(
            form.document,
            actor=request.user,
            title=given["title"],
            visibility=given["visibility"],
            tags=given["tags"],
            join_policy=given["join_policy"],
        )
        messages.success(request, f"Imported as a draft: {_shape(form.document)}.")
        return redirect(suite)
    return render(
        request, "suites/import.html", {"form": form, "problems": form.problems}, status=_form_status(request)
    )


@require_safe
def suite_detail(request: HttpRequest, slug: str, number: int | None = None) -> HttpResponse:
    """Context: suite, revision, revisions, predictions (ShownPrediction), example (Sentence rows of the first item),
    critical (region numbers that formulas look at), findings and put_aside (lint), scores (Scored, best first), rule,
    rules, models_figure and regions_figure (Figure), shown_run, drawable (runs), on_both (OnBoth or None),
    runs_under_way (queued or running, on any revision), runs_stopped (failed or cancelled), run_form, freeze_form,
    may_edit, may_see_people, may_run, n_items, n_sentences, downloads."""
    revisions = _revisions(request, slug)
    suite = revisions[0].suite
    revision = _chosen(suite, revisions, number)
    prefetch_related_objects([revision], "sentences", "predictions")
    document = document_of(revision)
    shown = [shown_prediction(row, revision.regions) for row in revision.predictions.all()]
    runs = visible_runs(request.user).filter(revision__suite=suite)
    done, unfinished = newest_and_unfinished(runs, revision, results=len(shown) > 1)
    for run in done:
        run.revision = revision  # with what is prefetched
    first_item = document.sentences[0].item if document.sentences else None
    may_run = permissions.can_run(request.user, suite)
    rule = rule_of(request.GET.get("rule", ""))
    findings = findings_of(revision)
    scores = scored_runs(done, rule)
    context = {
        "suite": suite,
        "revision": revision,
        "revisions": revisions,
        "predictions": shown,
        "example": [row for row in revision.sentences.all() if row.item == first_item],
        "critical": critical_regions(revision),
        "findings": [finding for finding in findings if not finding["ignored"]],
        "put_aside": [finding for finding in findings if finding["ignored"]],
        "scores": scores,
        **_figures(revision, scores, request.GET.get("model", "")),
        "on_both": on_another(request.user, suite, revision.number) if done and len(revisions) > 1 else None,
        "rule": rule,
        "rules": list(RULES.values()),
        "runs_under_way": [run for run in unfinished if run.state in ACTIVE_STATES],
        "runs_stopped": [run for run in unfinished if run.state not in ACTIVE_STATES],
        "run_form": RunForm(revision=revision, user=request.user) if may_run and revision.is_frozen else None,
        "freeze_form": FreezeForm(),
        "may_edit": permissions.can_edit(request.user, suite),
        "may_see_people": may_read(request.user, suite),
        "may_delete": permissions.can_delete(request.user, suite),
        "may_run": may_run,
        "n_items": len({row.item for row in document.sentences}),
        "n_sentences": len(document.sentences),
        "export_tables": EXPORT_TABLES,
        "citation": citation(revision, request.build_absolute_uri(revision.get_absolute_url()), request.user),
        "downloads": [(form, label) for form, (label, _, _) in DOWNLOADS.items()],
    }
    return render(request, "suites/detail.html", context)


def _figures(revision: SuiteRevision, scores: list[Scored], slug: str) -> dict[str, Any]:
    """models_figure: pass rates of all models; regions_figure: bits by region under one of them (`shown_run`)."""
    drawable = [score.run for score in scores if score.run.has_surprisals]
    run = next((run for run in drawable if run.model.slug == slug), drawable[0] if drawable else None)
    rated = [score for score in scores if score.rate is not None]
    return {
        "models_figure": models_figure(revision, scores, scores[0].rule) if len(rated) > 1 else None,
        "regions_figure": regions_figure(run) if run is not None and run.region_summary else None,
        "shown_run": run,
        "drawable": drawable,
    }


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
        draft = services.replace_draft(
            suite, form.document, actor=request.user, join_policy=form.cleaned_data["join_policy"]
        )
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


def _revisions(request: HttpRequest, slug: str) -> list[SuiteRevision]:
    """Of a suite, those that this person may read, the newest first, with the suite."""
    rows = revisions_for(request.user).filter(suite__slug=slug)
    found = list(rows.select_related("suite__owner").prefetch_related("suite__tags").order_by("-number"))
    if not found:
        raise Http404("There is no such suite.")
    return found


def _editable(request: HttpRequest, slug: str) -> Suite:
    suite = _visible(request, slug)
    if not permissions.can_edit(request.user, suite):
        raise PermissionDenied("you may not edit this suite")
    return suite


def _chosen(suite: Suite, revisions: list[SuiteRevision], number: int | None) -> SuiteRevision:
    """The revision asked for; without a number the newest frozen one, else the draft."""
    if number is not None:
        found = next((row for row in revisions if row.number == number), None)
    else:
        found = next((row for row in revisions if row.is_frozen), revisions[0] if revisions else None)
    if found is None:
        raise Http404("This suite has no such revision.")
    for row in revisions:
        row.suite = suite
    return found


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
