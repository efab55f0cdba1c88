"""Pages of human data: the list, a data set, one item, details, visibility, exclusions, deletion, downloads."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts.requests import SignedInRequest
from gym.downloads import csv_stream, download, file_download
from gym.jobs.pages import act, polled, progress_of, show_error
from gym.people import permissions, services
from gym.people.exports import citation, observation_rows
from gym.people.forms import CardForm, ExclusionsForm, PublishForm
from gym.people.models import HumanData
from gym.people.presenters import (
    counted_participants,
    data_figure,
    item_rows,
    item_values,
    shown_predictions,
    shown_unevaluable,
)
from gym.people.selectors import comparable_runs, hidden_own, keepable, listed, recent_comparisons, visible_to
from gym.runs.models import SuiteRun
from gym.runs.pages.paper import PaperFiles
from gym.runs.pages.run_figures import regions_figure
from gym.runs.read.scores import scored
from gym.runs.tables.registry import parquet_of
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_read
from gym.sharing.shareable import Shareable
from lmgym.people.tables import HumanValue
from lmgym.runs.rules import EACH
from lmgym.text.columns import columns, header
from models_registry.names import disambiguate
from suites.presenters import critical_regions

SHAREABLE = Shareable("human-data", "human-data-list", "Human data", visible_to)
PER_PAGE = 50


@require_safe
def data_list(request: HttpRequest) -> HttpResponse:
    """List human data of listed suites. Context: page (of HumanData), hidden_own (own data of hidden suites)."""
    page = Paginator(listed(request.user), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "people/list.html", {"page": page, "hidden_own": hidden_own(request.user)})


@require_http_methods(["GET", "HEAD", "POST"])
def data_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a data set. POST queues the computation with other exclusions. Context: data, suite, revision, result (as
    stored), predictions (ShownPeople), unevaluable (ShownUnevaluable), predictions_paper (PaperFiles), figure (means by
    region, or None), run (whose bits are drawn below, or None), run_figure, runs (to choose from, best first), items
    (ItemRow page), exclusions_form (or None), job context of a recomputation, comparisons, participants (see
    counted_participants), citation, may_edit, may_manage, may_see_people, knows_owner."""
    data = data_at(request, slug)
    revision = data.revision
    prefetch_related_objects([revision], "predictions")
    may_edit = permissions.can_edit(request.user, data)
    form = ExclusionsForm(request.POST if request.method == "POST" else None, data_set=data)
    if request.method == "POST":
        if not request.user.is_authenticated:
            return redirect("login")
        if not may_edit:
            raise PermissionDenied("you may not edit these data")
        if form.is_valid():
            exclusions = form.exclusions()
            return act(
                request, data, lambda obj, actor: services.change_exclusions(obj, exclusions, actor=actor)
            )
    may_manage = permissions.can_manage(request.user, data)
    runs = _drawable(data, request)
    run = next((run for run in runs if run.model.slug == request.GET.get("model")), runs[0] if runs else None)
    result = data.result
    context = {
        "data": data,
        "suite": revision.suite,
        "revision": revision,
        "result": result,
        "predictions": shown_predictions(data),
        "unevaluable": shown_unevaluable(data),
        "predictions_paper": PaperFiles("people-predictions", {"data": data.slug}),
        "figure": data_figure(data),
        "run": run,
        "run_figure": regions_figure(run) if run else None,
        "runs": runs,
        "items": Paginator(item_rows(data), PER_PAGE).get_page(request.GET.get("page")),
        "exclusions_form": form if may_edit else None,
        **progress_of(data.job, request.user),
        "comparisons": recent_comparisons(data, request.user),
        "participants": counted_participants(data, names_small=may_manage),
        "citation": citation(data, address_of(request, data), request.user),
        "may_edit": may_edit,
        "may_manage": may_manage,
        "may_see_people": may_read(request.user, data),
        "knows_owner": permissions.may_know_owner(request.user, data),
    }
    return render(request, "people/detail.html", context, status=400 if form.errors else 200)


def _drawable(data: HumanData, request: HttpRequest) -> list[SuiteRun]:
    """Return the runs whose bits can be drawn, best first."""
    runs = [run for run in comparable_runs(data, request.user) if run.region_summary]
    prefetch_related_objects(runs, "scores")
    disambiguate(run.model for run in runs)
    for run in runs:
        run.revision = data.revision  # has the prefetched predictions
    return sorted(runs, key=lambda run: -(scored(run, EACH).rate or 0.0))


@require_safe
def data_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the polled progress of a recomputation with other exclusions. Context: data, and the job's."""
    data = data_at(request, slug)
    context = {"data": data, **progress_of(data.job, request.user)}
    return polled(
        request,
        "people/_recompute_progress.html",
        context,
        final=data.job is None or not data.job.is_active,
    )


@require_safe
def data_item(request: HttpRequest, slug: str, item: int) -> HttpResponse:
    """Show one item: people's values and the bits of models. Context: data, suite, revision, item, rows
    (SentenceRow), outcomes [(ShownPeople, code, margin)], previous, next (item numbers or None), runs."""
    data = data_at(request, slug)
    prefetch_related_objects([data.revision], "sentences", "predictions")
    rows = item_values(data, item, list(comparable_runs(data, request.user)[:5]))
    if not rows:
        raise Http404("The data have no such item.")
    items = list(dict.fromkeys(sentence.item for sentence in data.revision.sentences.all()))
    place = items.index(item)
    at = data.result.get("items", []).index(item) if item in data.result.get("items", []) else None
    context = {
        "data": data,
        "suite": data.revision.suite,
        "revision": data.revision,
        "item": item,
        "rows": rows,
        "critical": critical_regions(data.revision),
        "outcomes": [
            (one, one.outcome.outcomes[at], one.outcome.margins[at]) for one in shown_predictions(data)
        ]
        if at is not None
        else [],
        "previous": items[place - 1] if place > 0 else None,
        "next": items[place + 1] if place + 1 < len(items) else None,
    }
    return render(request, "people/item.html", context)


@login_required
def data_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """Edit details. Context: data, form, may_manage."""
    data = data_at(request, slug)
    if not permissions.can_edit(request.user, data):
        raise PermissionDenied("you may not edit these data")
    form = CardForm(request.POST if request.method == "POST" else None, instance=data)
    if request.method == "POST" and form.is_valid():
        try:
            services.change_card(
                visible_to(request.user).get(pk=data.pk), actor=request.user, **form.cleaned_data
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, "Saved.")
            return redirect(data)
    context = {"data": data, "form": form, "may_manage": permissions.can_manage(request.user, data)}
    return render(request, "people/edit.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def data_visibility(request: SignedInRequest, slug: str) -> HttpResponse:
    """Publish the data, after consent and anonymity are confirmed, or make them private again. Context: data, form."""
    data = data_at(request, slug)
    if not permissions.can_manage(request.user, data):
        raise PermissionDenied("only the owner and staff may change the visibility")
    if request.POST.get("visibility") == Visibility.PRIVATE:
        return act(
            request,
            data,
            lambda obj, actor: services.set_visibility(obj, Visibility.PRIVATE, actor=actor),
            "The data are private now.",
        )
    form = PublishForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            services.set_visibility(data, Visibility.PUBLIC, actor=request.user, confirmed=True)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, "Published: everybody can see and download the data.")
            return redirect(data)
    return render(
        request, "people/visibility.html", {"data": data, "form": form}, status=400 if form.errors else 200
    )


@login_required
@require_POST
def data_delete(request: SignedInRequest, slug: str) -> HttpResponse:
    data = get_object_or_404(keepable(request.user), slug=slug)
    try:
        services.delete(data, actor=request.user)
    except ValidationError as error:  # a published collection holds the data
        show_error(request, error)
        return redirect(data)
    messages.success(request, "The human data were deleted.")
    return redirect("human-data-list")


@require_safe
def data_download(request: HttpRequest, slug: str, form: str) -> HttpResponseBase:
    """Download the observations as csv or parquet, or the citation as bib."""
    data = get_object_or_404(keepable(request.user), slug=slug)
    return file_of(request, data, form)


def file_of(request: HttpRequest, data: HumanData, form: str) -> HttpResponseBase:
    """Return a file of a data set. Raises Http404 for an unknown form."""
    stem = f"{data.revision.suite.slug}-r{data.revision.number}-{data.slug}"
    if form == "csv":
        return csv_stream(f"{stem}.csv", header(HumanValue), observation_rows(data))
    if form == "parquet":
        file = parquet_of(columns(HumanValue), observation_rows(data))
        return file_download(file, f"{stem}.parquet", "application/vnd.apache.parquet")
    if form == "bib":
        return download(
            citation(data, address_of(request, data), request.user),
            f"{data.slug}.bib",
            "application/x-bibtex",
        )
    raise Http404("Available as csv, parquet and bib.")


def address_of(request: HttpRequest, data: HumanData) -> str:
    return request.build_absolute_uri(data.get_absolute_url())


def data_at(request: HttpRequest, slug: str) -> HumanData:
    return get_object_or_404(visible_to(request.user), slug=slug)
