"""Pages for runs: live progress, results, transcripts, comparison, failure modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.agents import permissions, presenters, selectors, services
from gym.agents.comparing import MOST_COMPARED, ComparedRuns, compare_runs
from gym.agents.forms import NamerForm
from gym.agents.models import AgentRun, CaseRun, Naming, tokens_of
from gym.agents.views import show_form_errors
from gym.downloads import csv_download, csv_stream, download, json_download, stream
from gym.jobs.models import FINAL_STATES
from gym.jobs.pages import act, polled, progress_of, show_error
from lmgym.agents import assessor, reports
from lmgym.agents.assessor import can_be_named
from lmgym.agents.failures import iteration_rows
from lmgym.agents.regression_test import Regression
from lmgym.agents.tables import IterationRow
from lmgym.text.columns import header
from models_registry.names import disambiguate

PER_PAGE = 50


def visible_run(request: HttpRequest, key: str) -> AgentRun:
    return get_object_or_404(selectors.runs_visible_to(request.user), key=key)


def visible_case_run(request: HttpRequest, key: str, pk: int) -> CaseRun:
    rows = visible_run(request, key).case_runs.select_related(
        "run__suite", "run__server__model", "case__suite", "naming__job", "naming__server__model"
    )
    return get_object_or_404(rows, pk=pk)


def _live(request: HttpRequest, run: AgentRun) -> dict[str, Any]:
    return {"run": run, "rows": presenters.rows_of(run), **progress_of(run.job, request.user, run.state)}


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """List runs, newest first, filtered by `suite` and `server`. With `first`, list runs to compare with that run.

    Context: page, suite, server, compared (or None).
    """
    queryset = selectors.runs_visible_to(request.user)
    suite, server, compared = None, None, None
    if slug := request.GET.get("suite", ""):
        suite = get_object_or_404(selectors.visible_to(request.user), slug=slug.replace("\0", ""))
        queryset = queryset.filter(suite=suite)
    if slug := request.GET.get("server", ""):
        server = get_object_or_404(
            selectors.servers_visible_to(request.user), model__slug=slug.replace("\0", "")
        )
        queryset = queryset.filter(server=server)
    if key := request.GET.get("first") or request.GET.get("a", ""):
        compared = visible_run(request, key.replace("\0", ""))
        queryset = _others(request, compared)
        suite = compared.suite
    page = Paginator(queryset.order_by("-created", "-pk"), PER_PAGE).get_page(request.GET.get("page"))
    page.object_list = selectors.with_sums(queryset.filter(pk__in=[run.pk for run in page]))
    context = {"page": page, "suite": suite, "server": server, "compared": compared}
    return render(request, "agents/runs.html", context)


def _others(request: HttpRequest, run: AgentRun) -> QuerySet[AgentRun]:
    """Return the other finished runs of the same suite, for comparison."""
    done = selectors.runs_visible_to(request.user).filter(suite=run.suite, completed_at__isnull=False)
    return done.exclude(pk=run.pk)


@require_safe
def run_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Show a run. Context: run, job, state, behind, rows (CaseRow), totals, tokens, at_k (AtK), regression (Regression
    or None), may_steer, others (runs to compare with), more_others."""
    run = visible_run(request, key)
    regression = Regression.from_dict(run.regression) if run.regression else None
    others, more_others = selectors.first_runs(_others(request, run))
    context = {
        **_live(request, run),
        "totals": presenters.totals_of(run),
        "at_k": presenters.at_k_of_run(run),
        "tokens": tokens_of(run.case_runs.all()),
        "regression": regression if regression and (regression.p is not None or regression.lost) else None,
        "may_steer": permissions.can_steer(request.user, run),
        "others": others,
        "more_others": more_others,
    }
    return render(request, "agents/run.html", context)


@require_safe
def run_progress(request: HttpRequest, key: str) -> HttpResponse:
    """Show the live part. Context: run, job, state, behind, rows."""
    run = visible_run(request, key)
    return polled(request, "agents/_progress.html", _live(request, run), final=run.state in FINAL_STATES)


@login_required
@require_POST
def run_cancel(request: HttpRequest, key: str) -> HttpResponse:
    done = "The run is being cancelled. Finished iterations are kept."
    return act(request, visible_run(request, key), services.cancel_run, done)


@login_required
@require_POST
def run_retry(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, visible_run(request, key), services.retry_run, "The run was resumed.")


@login_required
@require_POST
def run_rescore(request: SignedInRequest, key: str) -> HttpResponse:
    """Queue a rescoring of the stored answers against the current cases, with a different reading if one is sent."""
    run = visible_run(request, key)
    try:
        rescored = services.queue_rescoring(
            run,
            actor=request.user,
            reading=request.POST.get("reading", ""),
            ask_judge=request.POST.get("ask_judge") == "on",
        )
    except (ValidationError, LimitReached) as error:
        show_error(request, error)
        return redirect(run)
    messages.success(request, "Rescoring of the stored answers is queued. No agent is called.")
    return redirect(rescored)


@require_safe
def run_download(request: HttpRequest, key: str, form: str) -> StreamingHttpResponse:
    """Download a run. `form`: json (everything), junit (for CI systems) or csv (one row per iteration)."""
    return run_file(visible_run(request, key), form)


def run_file(run: AgentRun, form: str) -> StreamingHttpResponse:
    """Stream a run's file one case at a time, because transcripts are long. Raises Http404 for an unknown `form`."""
    if form not in ("json", "junit", "csv"):
        raise Http404
    results = ((case_run.name, case_run.result()) for case_run in run.case_runs.all())
    if form == "csv":
        return csv_stream(f"agent-run-{run.key}.csv", header(IterationRow), iteration_rows(results))
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
    """Show a case in a run: reasons for failures, each check over all iterations, and transcripts side by side.

    Context: run, case_run, evidence, assessment (assessor.Assessment), contradictions, naming (or None),
    n_named (failures that a model can name), namer_form (or None), checks (CheckRow), at_k (AtK), page (of
    CaseIteration), columns (iterations shown), numbers (their numbers), elsewhere (iterations shown that are
    listed on other pages), other (the case in the other run shown, or None), turns (TurnRow), tokens,
    latency, waited, several_connections.
    """
    row = visible_case_run(request, key, pk)
    other = None
    if chosen := request.GET.get("beside", ""):
        rows = CaseRun.objects.filter(run__in=selectors.runs_visible_to(request.user))
        number = int(chosen) if chosen.isdecimal() and len(chosen) < 10 else 0
        other = get_object_or_404(rows.select_related("run__suite", "run__server__model"), pk=number)
    naming = _naming_of(
        row
    )  # read before the failures, so that a page showing the naming as done also shows its names
    context = presenters.case_context(
        row, request.GET.getlist("i"), request.GET.get("page", ""), other, naming=naming
    )
    n_named = sum(can_be_named(sample) for mode in context["assessment"].modes for sample in mode.samples)
    may_name = n_named and permissions.can_edit(request.user, row.run.suite)
    context |= {"n_named": n_named, "namer_form": NamerForm(user=request.user) if may_name else None}
    return render(request, "agents/case_run.html", context)


@require_safe
def case_run_download(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Download a case's transcripts, with the case's text in this run."""
    row = visible_case_run(request, key, pk)
    data = {"run": key, "name": row.name, "text": row.text, **row.result().as_dict()}
    return json_download(f"transcripts-{row.pk}.json", data)


def _ticked(request: HttpRequest) -> HttpResponse:
    """Redirect to the comparison of a suite's ticked runs, earliest first; if they cannot be compared, to the list with
    a message."""
    keys = [key.replace("\0", "") for key in request.GET.getlist("run")[:PER_PAGE]]
    finished = selectors.runs_visible_to(request.user).filter(key__in=keys, completed_at__isnull=False)
    ticked = list(finished.order_by("created", "pk"))
    if not 2 <= len(ticked) <= MOST_COMPARED or len({run.suite_id for run in ticked}) > 1:
        return _choose_others(request)
    return redirect(f"{reverse('agent-compare')}?{_query_of(ticked)}")


def _choose_others(request: HttpRequest) -> HttpResponse:
    messages.info(request, f"Tick 2 to {MOST_COMPARED} finished runs of the same suite to compare them.")
    return redirect("agent-runs")


def _query_of(runs: Sequence[AgentRun]) -> str:
    return urlencode([("first", runs[0].key), *(("second", run.key) for run in runs[1:])])


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Compare runs with the first run by case or, with `by=check`, by check. `ticked` with several `run=KEY` redirects
    here.

    Context: comparison (Compared), suite (of the first run), suites, sides [(name, run)], query, by_check, cases,
    checks (empty unless by_check).
    """
    if "ticked" in request.GET:
        return _ticked(request)
    if not 2 <= len(_keys(request)) <= MOST_COMPARED:
        return _choose_others(request)
    by_check = request.GET.get("by") == "check"
    comparison = _compared_runs(request, by_check=by_check)
    context = {
        "comparison": comparison,
        "suite": comparison.first.suite,
        "suites": list(dict.fromkeys(run.suite for run in comparison.runs)),
        "sides": list(zip(comparison.names, comparison.runs, strict=True)),
        "query": _query_of(comparison.runs),
        "by_check": by_check,
        "checks": comparison.by_check(),
        "cases": comparison.by_case(),
    }
    return render(request, "agents/compare.html", context)


@require_safe
def compare_download(request: HttpRequest, form: str) -> HttpResponse:
    """Download the comparison `?first=a&second=b&second=c` as cases.csv or checks.csv."""
    if form not in ("cases.csv", "checks.csv"):
        raise Http404("There is no such download.")
    by_check = form == "checks.csv"
    comparison = _compared_runs(request, by_check=by_check)
    table = comparison.checks_table() if by_check else comparison.cases_table()
    return csv_download(f"{comparison.first.suite.slug}-compared-{form}", *table)


def _compared_runs(request: HttpRequest, *, by_check: bool) -> ComparedRuns:
    """Compare the runs in the query. Raises Http404 for fewer than two or more than MOST_COMPARED runs."""
    keys = _keys(request)
    if not 2 <= len(keys) <= MOST_COMPARED:
        raise Http404(f"A comparison needs 2 to {MOST_COMPARED} different runs.")
    runs = [visible_run(request, key) for key in keys]
    disambiguate([run.server.model for run in runs])
    return compare_runs(*runs, by_check=by_check)


def _keys(request: HttpRequest) -> list[str]:
    """Return the distinct keys of the runs in the query."""
    named = [request.GET.get(name, "") for name in ("first", "a")]  # a, b: former parameter names
    named += [key for name in ("second", "b") for key in request.GET.getlist(name)]
    return list(dict.fromkeys(key.replace("\0", "") for key in named if key))


# --- failure modes ---


def _naming_of(case_run: CaseRun) -> Naming | None:
    """Return the naming of a case loaded by `visible_case_run`, or None."""
    return getattr(case_run, "naming", None)


@require_safe
def failures_download(request: HttpRequest, key: str, pk: int, form: str) -> HttpResponse:
    """Download a case's failure modes as text in neuro-san's layout or as JSON."""
    row = visible_case_run(request, key, pk)
    assessment = presenters.assessment_of(row)
    if form == "text":
        return download(assessor.text_report(assessment), f"failures-{row.pk}.txt", "text/plain")
    if form == "json":
        return json_download(f"failures-{row.pk}.json", assessment.as_dict())
    raise Http404


@require_http_methods(["GET", "HEAD", "POST"])
def naming(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Show the progress of naming, polled by htmx (GET), or queue it (POST). Context: run, case_run, naming."""
    row = visible_case_run(request, key, pk)
    if request.method == "POST":
        return _name(request, row)  # type: ignore[arg-type]  # login_required redirects visitors
    current = _naming_of(row)
    context = {"run": row.run, "case_run": row, "naming": current}
    final = current is None or current.state in FINAL_STATES
    return polled(request, "agents/_naming.html", context, final=final)


@login_required
def _name(request: SignedInRequest, row: CaseRun) -> HttpResponse:
    form = NamerForm(request.POST, user=request.user)
    if not form.is_valid():
        show_form_errors(request, form)
    else:
        data = form.cleaned_data
        try:
            services.queue_naming(row, data["server"], data["agent"], actor=request.user)
        except (ValidationError, LimitReached) as error:
            show_error(request, error)
    return redirect(f"{row.get_absolute_url()}#why")


@login_required
@require_POST
def forget(request: SignedInRequest, key: str, pk: int) -> HttpResponse:
    """Discard a model's choices and group the failures by text again."""
    row = visible_case_run(request, key, pk)
    services.forget_naming(row, actor=request.user)
    return redirect(f"{row.get_absolute_url()}#why")
