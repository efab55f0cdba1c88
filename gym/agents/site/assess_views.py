"""Pages of assessment: failure modes, naming them by a model, renaming and merging them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts.errors import TooManyJobs
from gym.agents.core import assessor
from gym.agents.core.failure_naming import can_be_named
from gym.agents.models import CaseRun, Naming
from gym.agents.site import permissions, presenters, services
from gym.agents.site.forms import NamerForm
from gym.agents.site.run_views import FINAL, polled, visible_case_run
from gym.agents.site.views import show_error, show_form_errors
from gym.downloads import download, json_download


def _naming_of(case_run: CaseRun) -> Naming | None:
    found = Naming.objects.select_related("job", "server__model", "case_run__run")
    return found.filter(case_run=case_run).first()


@require_safe
def assess(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Context: run, case_run, assessment, may_edit, naming (or None), namer_form (or None), n_named (failures that can
    be named)."""
    found = visible_case_run(request, key, pk)
    may_edit = permissions.can_edit(request.user, found.run.suite)
    assessment = presenters.assessment_of(found)
    n_named = sum(can_be_named(sample) for mode in assessment.modes for sample in mode.samples)
    context: dict[str, Any] = {
        "run": found.run,
        "case_run": found,
        "assessment": assessment,
        "may_edit": may_edit,
        "naming": _naming_of(found),
        "n_named": n_named,
        "namer_form": NamerForm(user=request.user) if may_edit and n_named else None,
    }
    return render(request, "agents/assess.html", context)


@require_safe
def assess_download(request: HttpRequest, key: str, pk: int, form: str) -> HttpResponse:
    """text in the reference's layout, or json."""
    found = visible_case_run(request, key, pk)
    assessment = presenters.assessment_of(found)
    if form == "text":
        return download(assessor.text_report(assessment), f"assessment-{found.pk}.txt", "text/plain")
    if form == "json":
        return json_download(f"assessment-{found.pk}.json", assessment.as_dict())
    raise Http404


@require_http_methods(["GET", "HEAD", "POST"])
def naming(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """GET: its progress, for htmx. POST: queue it. Context: run, case_run, naming."""
    found = visible_case_run(request, key, pk)
    if request.method == "POST":
        return _name(request, found)
    current = _naming_of(found)
    context = {"run": found.run, "case_run": found, "naming": current}
    final = current is None or current.state in FINAL
    return polled(request, "agents/_naming.html", context, final=final)


@login_required
def _name(request: HttpRequest, found: CaseRun) -> HttpResponse:
    form = NamerForm(request.POST, user=request.user)
    if not form.is_valid():
        show_form_errors(request, form)
    else:
        given = form.cleaned_data
        try:
            services.queue_naming(found, given["server"], given["agent"], actor=request.user)
        except (ValidationError, TooManyJobs) as error:
            show_error(request, error)
    return redirect("agent-assess", found.run.key, found.pk)


@login_required
@require_POST
def forget(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Group without a model again."""
    services.forget_naming(visible_case_run(request, key, pk), actor=request.user)
    return redirect("agent-assess", key, pk)


@login_required
@require_POST
def change_mode(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Name or merge a failure mode."""
    found = visible_case_run(request, key, pk)
    given = request.POST
    try:
        services.change_mode(
            found.run.suite,
            found.name,
            given.get("mode", ""),
            actor=request.user,
            name=given.get("name", "").strip(),
            merged_into=given.get("merged_into", ""),
        )
    except ValidationError as error:
        show_error(request, error)
    return redirect("agent-assess", key, pk)
