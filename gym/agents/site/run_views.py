"""Pages of runs: live progress, results, transcripts, comparison."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import TooManyJobs
from gym.agents.core import reports
from gym.agents.models import AgentRun, CaseRun, tokens_of
from gym.agents.site import permissions, presenters, selectors, services
from gym.agents.site.views import show_error
from gym.downloads import stream
from gym.jobs.errors import WrongState
from gym.jobs.selectors import position_in_queue
from models_registry.names import tell_apart

STOP_POLLING = 286
PER_PAGE = 50
FINAL = frozenset(("done", "failed", "cancelled"))


def visible_run(request: HttpRequest, key: str) -> AgentRun:
    return get_object_or_404(selectors.runs_visible_to(request.user), key=key)


def visible_case_run(request: HttpRequest, key: str, pk: int) -> CaseRun:
    return get_object_or_404(visible_run(request, key).case_runs.select_related("run__suite", "case"), pk=pk)


def _live(run: AgentRun) -> dict[str, Any]:
    job = run.job
    queued = job is not None and job.state == "queued"
    return {
        "run": run,
        "job": job,
        "position": position_in_queue(job) if job is not None and queued else None,
        "rows": presenters.rows_of(run),
    }


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, newest first; of one suite or agent where the address names one. With `a`: to compare each with that
    run. Context: page, suite, server, compared (or None)."""
    found = selectors.runs_visible_to(request.user)
    suite, server, compared = None, None, None
    if slug := request.GET.get("suite", ""):
        suite = get_object_or_404(selectors.visible_to(request.user), slug=slug.replace("\0", ""))
        found = found.filter(suite=suite)
    if slug := request.GET.get("agent", ""):
        server = get_object_or_404(
            selectors.servers_visible_to(request.user), model__slug=slug.replace("\0", "")
        )
        found = found.filter(server=server)
    if key := request.GET.get("a", ""):
        compared = visible_run(request, key.replace("\0", ""))
        found = _others(request, compared)
        suite = compared.suite
    page = Paginator(found.order_by("-created", "-pk"), PER_PAGE).get_page(request.GET.get("page"))
    page.object_list = selectors.with_sums(found.filter(pk__in=[run.pk for run in page]))
    context = {"page": page, "suite": suite, "server": server, "compared": compared}
    return render(request, "agents/runs.html", context)


def _others(request: HttpRequest, run: AgentRun) -> QuerySet[AgentRun]:
    """Runs to compare one with."""
    done = selectors.runs_visible_to(request.user).filter(suite=run.suite, completed_at__isnull=False)
    return done.exclude(pk=run.pk)


@require_safe
def run_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Context: run, job, position, rows (CaseRow), totals, tokens, repeats (Repeats), may_steer, others (runs to
    compare with), more_others."""
    run = visible_run(request, key)
    others, more_others = selectors.first_runs(_others(request, run))
    context = {
        **_live(run),
        "totals": presenters.totals_of(run),
        "repeats": presenters.repeats_of(run),
        "tokens": tokens_of(run.case_runs.all()),
        "may_steer": permissions.can_steer(request.user, run),
        "others": others,
        "more_others": more_others,
    }
    return render(request, "agents/run.html", context)


@require_safe
def run_progress(request: HttpRequest, key: str) -> HttpResponse:
    """The live part; status 286 tells htmx to stop polling. Context: run, job, position, rows."""
    run = visible_run(request, key)
    return polled(request, "agents/_progress.html", _live(run), final=run.state in FINAL)


def polled(request: HttpRequest, template: str, context: dict[str, Any], *, final: bool) -> HttpResponse:
    """For htmx, which asks again until the state is final and then loads the page anew."""
    response = render(request, template, context, status=STOP_POLLING if final else 200)
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
    """Score the stored answers by the cases as they are now, and by the reading that is named, if any."""
    act = partial(services.queue_rescoring, reading=request.POST.get("reading", ""))
    return _steer(request, key, act, "The answers are scored again; no agent is asked.")


def _steer(request: HttpRequest, key: str, act: Callable[..., AgentRun | None], done: str) -> HttpResponse:
    run = visible_run(request, key)
    try:
        made = act(run, actor=request.user)
    except (ValidationError, TooManyJobs, WrongState) as error:
        show_error(request, error)
        return redirect(run)
    messages.success(request, done)
    return redirect(made or run)


@require_safe
def run_download(request: HttpRequest, key: str, form: str) -> StreamingHttpResponse:
    """json: everything; junit: for programs that watch builds."""
    return run_file(visible_run(request, key), form)


def run_file(run: AgentRun, form: str) -> StreamingHttpResponse:
    """One case at a time: transcripts are long."""
    if form not in ("json", "junit"):
        raise Http404
    results = ((case_run.name, case_run.result()) for case_run in run.case_runs.all())
    if form == "junit":
        return stream(
            reports.junit_parts(results, run.server_version), f"agent-run-{run.key}.xml", "application/xml"
        )
    head = {
        "suite": run.suite.slug,
        "server": run.server.model.slug,
        "version": run.server_version,
        "version_changed": run.version_changed,
        **run.options,
    }
    parts = reports.json_parts({"run": run.key, **head}, results)
    return stream(parts, f"agent-run-{run.key}.json", "application/json")


@require_safe
def case_run(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Transcripts side by side. Context: run, case_run, evidence, checks (CheckRow), page (of CaseIteration),
    columns (iterations shown), numbers (theirs), elsewhere (those of them that are on other pages), turns (TurnRow),
    tokens, latency, several_connections."""
    found = visible_case_run(request, key, pk)
    context = presenters.case_context(found, request.GET.getlist("i"), request.GET.get("page", ""))
    return render(request, "agents/case_run.html", context)


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two runs, case by case. Context: first, sides [(A or B, run)], rows (CompareRow), total (Comparison)."""
    first = visible_run(request, request.GET.get("a", ""))
    second = visible_run(request, request.GET.get("b", ""))
    tell_apart([first.server.model, second.server.model])
    rows, total = presenters.compared(first, second)
    sides = [("A", first), ("B", second)]
    context = {"first": first, "sides": sides, "rows": rows, "total": total}
    return render(request, "agents/compare.html", context)
