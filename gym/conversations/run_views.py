"""Pages of runs: live progress, results, transcripts, assessment, comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.conversations import assessor, permissions, reports, selectors, services, shown
from gym.conversations.models import AgentRun, CaseRun, tokens_of
from gym.exports import download, json_download
from gym.jobs.errors import TooManyJobs, WrongState
from gym.jobs.selectors import position_in_queue

STOP_POLLING = 286


def _visible(request: HttpRequest, key: str) -> AgentRun:
    return get_object_or_404(selectors.runs_visible_to(request.user), key=key)


def _case_run(request: HttpRequest, key: str, pk: int) -> CaseRun:
    return get_object_or_404(_visible(request, key).case_runs.select_related("run__suite", "case"), pk=pk)


def _live(run: AgentRun) -> dict[str, Any]:
    job = run.job
    queued = job is not None and job.state == "queued"
    return {
        "run": run,
        "job": job,
        "position": position_in_queue(job) if job is not None and queued else None,
        "rows": shown.rows_of(run),
    }


@require_safe
def run_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Context: run, job, position, rows (shown.CaseRow), totals, may_steer, others (runs to compare with)."""
    run = _visible(request, key)
    others = selectors.runs_visible_to(request.user).filter(suite=run.suite, completed_at__isnull=False)
    context = {
        **_live(run),
        "totals": shown.totals_of(run),
        "tokens": tokens_of(run.case_runs.all()),
        "may_steer": permissions.can_steer(request.user, run),
        "others": others.exclude(pk=run.pk)[:20],
    }
    return render(request, "conversations/run.html", context)


@require_safe
def run_progress(request: HttpRequest, key: str) -> HttpResponse:
    """The live part; status 286 tells htmx to stop polling. Context: run, job, position, rows."""
    run = _visible(request, key)
    final = run.state in {"done", "failed", "cancelled"}
    response = render(
        request, "conversations/_progress.html", _live(run), status=STOP_POLLING if final else 200
    )
    if final:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_POST
def run_cancel(request: HttpRequest, key: str) -> HttpResponse:
    return _steer(request, key, services.cancel_run, "The run stops; what ended is kept.")


@login_required
@require_POST
def run_retry(request: HttpRequest, key: str) -> HttpResponse:
    return _steer(request, key, services.retry_run, "The run goes on where it ended.")


@login_required
@require_POST
def run_rescore(request: HttpRequest, key: str) -> HttpResponse:
    """Score the stored answers by the cases as they are now."""
    return _steer(request, key, services.queue_rescoring, "The answers are scored again; no agent is asked.")


def _steer(request: HttpRequest, key: str, act: Callable[..., AgentRun | None], done: str) -> HttpResponse:
    run = _visible(request, key)
    try:
        made = act(run, actor=request.user)
    except (ValidationError, TooManyJobs, WrongState) as error:
        messages.error(request, " ".join(getattr(error, "messages", [str(error)])))
        return redirect(run)
    messages.success(request, done)
    return redirect(made or run)


@require_safe
def run_download(request: HttpRequest, key: str, form: str) -> HttpResponse:
    """json: everything; junit: for programs that watch builds."""
    run = _visible(request, key)
    if form not in ("json", "junit"):
        raise Http404
    results = [(case_run.name, shown.result_of(case_run)) for case_run in run.case_runs.all()]
    if form == "junit":
        return download(reports.junit(results), f"agent-run-{run.key}.xml", "application/xml")
    head = {
        "suite": run.suite.slug,
        "server": run.server.model.slug,
        "version": run.server_version,
        **run.options,
    }
    data = {"run": run.key, **head, "cases": [{"name": name, **result.as_dict()} for name, result in results]}
    return json_download(f"agent-run-{run.key}.json", data)


@require_safe
def case_run(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Transcripts side by side. Context: run, case_run, evidence, checks (shown.CheckRow), columns (iterations shown),
    turns [(number, what was said, [TurnResult or None per column])], chosen, all_numbers."""
    found = _case_run(request, key, pk)
    context = shown.case_context(found, request.GET.getlist("i"))
    return render(request, "conversations/case_run.html", context)


@require_safe
def assess(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Context: run, case_run, assessment, may_edit."""
    found = _case_run(request, key, pk)
    context = {
        "run": found.run,
        "case_run": found,
        "assessment": shown.assessment_of(found),
        "may_edit": permissions.can_edit(request.user, found.run.suite),
    }
    return render(request, "conversations/assess.html", context)


@require_safe
def assess_download(request: HttpRequest, key: str, pk: int, form: str) -> HttpResponse:
    """text in the reference's layout, or json."""
    found = _case_run(request, key, pk)
    assessment = shown.assessment_of(found)
    if form == "text":
        return download(assessor.text_report(assessment), f"assessment-{found.pk}.txt", "text/plain")
    if form == "json":
        return json_download(f"assessment-{found.pk}.json", assessment.as_dict())
    raise Http404


@login_required
@require_POST
def change_mode(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Name or merge a failure mode."""
    found = _case_run(request, key, pk)
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
        messages.error(request, " ".join(error.messages))
    return redirect("agent-assess", key, pk)


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two runs, case by case. Context: first, second, rows (shown.CompareRow), total (Comparison)."""
    first = _visible(request, request.GET.get("a", ""))
    second = _visible(request, request.GET.get("b", ""))
    rows, total = shown.compared(first, second)
    context = {"first": first, "second": second, "rows": rows, "total": total}
    return render(request, "conversations/compare.html", context)
