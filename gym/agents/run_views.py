"""Pages of runs: live progress, results, transcripts, comparison, failure modes."""

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

from gym.accounts.errors import TooManyJobs
from gym.accounts.requests import SignedInRequest
from gym.agents import permissions, presenters, selectors, services
from gym.agents.comparing import MOST_COMPARED, ComparedRuns, compare_runs
from gym.agents.forms import NamerForm
from gym.agents.models import AgentRun, CaseRun, Naming, tokens_of
from gym.agents.views import show_form_errors
from gym.downloads import csv_download, csv_stream, download, json_download, stream
from gym.jobs.models import FINAL_STATES
from gym.jobs.pages import act, polled, progress_of, show_error
from lmgym.agents import assessor, failures, reports
from lmgym.agents.assessor import can_be_named
from lmgym.agents.falls import Fall
from models_registry.names import disambiguate

PER_PAGE = 50


def visible_run(request: HttpRequest, key: str) -> AgentRun:
    return get_object_or_404(selectors.runs_visible_to(request.user), key=key)


def visible_case_run(request: HttpRequest, key: str, pk: int) -> CaseRun:
    return get_object_or_404(
        visible_run(request, key).case_runs.select_related("run__suite", "run__server__model", "case"), pk=pk
    )


def _live(request: HttpRequest, run: AgentRun) -> dict[str, Any]:
    return {"run": run, "rows": presenters.rows_of(run), **progress_of(run.job, request.user, run.state)}


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, newest first; of one suite or server where the address names one. With `a`: to compare each with that
    run. Context: page, suite, server, compared (or None)."""
    found = selectors.runs_visible_to(request.user)
    suite, server, compared = None, None, None
    if slug := request.GET.get("suite", ""):
        suite = get_object_or_404(selectors.visible_to(request.user), slug=slug.replace("\0", ""))
        found = found.filter(suite=suite)
    if slug := request.GET.get("server", ""):
        server = get_object_or_404(
            selectors.servers_visible_to(request.user), model__slug=slug.replace("\0", "")
        )
        found = found.filter(server=server)
    if key := request.GET.get("first") or request.GET.get("a", ""):
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
    """Context: run, job, state, behind, rows (CaseRow), totals, tokens, repeats (Repeats), fall (or None), may_steer,
    others (runs to compare with), more_others."""
    run = visible_run(request, key)
    fall = Fall.from_dict(run.fall) if run.fall else None
    others, more_others = selectors.first_runs(_others(request, run))
    context = {
        **_live(request, run),
        "totals": presenters.totals_of(run),
        "repeats": presenters.repeats_of(run),
        "tokens": tokens_of(run.case_runs.all()),
        "fall": fall if fall and (fall.p is not None or fall.lost) else None,
        "may_steer": permissions.can_steer(request.user, run),
        "others": others,
        "more_others": more_others,
    }
    return render(request, "agents/run.html", context)


@require_safe
def run_progress(request: HttpRequest, key: str) -> HttpResponse:
    """The live part. Context: run, job, state, behind, rows."""
    run = visible_run(request, key)
    return polled(request, "agents/_progress.html", _live(request, run), final=run.state in FINAL_STATES)


@login_required
@require_POST
def run_cancel(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, visible_run(request, key), services.cancel_run, "The run stops; what ended is kept.")


@login_required
@require_POST
def run_retry(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, visible_run(request, key), services.retry_run, "The run goes on where it ended.")


@login_required
@require_POST
def run_rescore(request: SignedInRequest, key: str) -> HttpResponse:
    """Score the stored answers by the cases as they are now, and by the reading that is named, if any."""
    run = visible_run(request, key)
    try:
        made = services.queue_rescoring(
            run,
            actor=request.user,
            reading=request.POST.get("reading", ""),
            ask_judge=request.POST.get("ask_judge") == "on",
        )
    except (ValidationError, TooManyJobs) as error:
        show_error(request, error)
        return redirect(run)
    messages.success(request, "The answers are scored again; no agent is asked.")
    return redirect(made)


@require_safe
def run_download(request: HttpRequest, key: str, form: str) -> StreamingHttpResponse:
    """json: everything; junit: for programs that watch builds; csv: a row per iteration."""
    return run_file(visible_run(request, key), form)


def run_file(run: AgentRun, form: str) -> StreamingHttpResponse:
    """One case at a time: transcripts are long."""
    if form not in ("json", "junit", "csv"):
        raise Http404
    results = ((case_run.name, case_run.result()) for case_run in run.case_runs.all())
    if form == "csv":
        return csv_stream(f"agent-run-{run.key}.csv", failures.COLUMNS, failures.rows_of(results))
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
    """Why it failed, and transcripts side by side. Context: run, case_run, evidence, failures (Failure), checks
    (CheckRow), page (of CaseIteration), columns (iterations shown), numbers (theirs), elsewhere (those of them that are
    on other pages), beside (of the run that is shown beside it, or None), turns (TurnRow), tokens, latency, waited,
    several_connections."""
    found = visible_case_run(request, key, pk)
    beside = None
    if other := request.GET.get("beside", ""):
        rows = CaseRun.objects.filter(run__in=selectors.runs_visible_to(request.user))
        number = int(other) if other.isdecimal() and len(other) < 10 else 0
        beside = get_object_or_404(rows.select_related("run__suite", "run__server__model"), pk=number)
    chosen, page = request.GET.getlist("i"), request.GET.get("page", "")
    context = presenters.case_context(found, chosen, page, beside)
    return render(request, "agents/case_run.html", context)


@require_safe
def case_run_download(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """The transcripts of one case, with the case as it was sent."""
    found = visible_case_run(request, key, pk)
    data = {"run": key, "name": found.name, "text": found.text, **found.result().as_dict()}
    return json_download(f"transcripts-{found.pk}.json", data)


def _ticked(request: HttpRequest) -> HttpResponse:
    """To the comparison of ticked runs of one suite, the earliest one first."""
    keys = [key.replace("\0", "") for key in request.GET.getlist("run")[:PER_PAGE]]
    found = selectors.runs_visible_to(request.user).filter(key__in=keys, completed_at__isnull=False)
    ticked = list(found.order_by("created", "pk"))
    if not 2 <= len(ticked) <= MOST_COMPARED or len({run.suite_id for run in ticked}) > 1:
        return _choose_others(request)
    return redirect(f"{reverse('agent-compare')}?{_query_of(ticked)}")


def _choose_others(request: HttpRequest) -> HttpResponse:
    messages.info(request, f"Tick 2 to {MOST_COMPARED} finished runs of one suite to compare them.")
    return redirect("agent-runs")


def _query_of(runs: Sequence[AgentRun]) -> str:
    return urlencode([("first", runs[0].key), *(("second", run.key) for run in runs[1:])])


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Runs compared with the first of them, case by case or (`by=check`) check by check; `ticked` and `run=KEY` several
    times lead here. Context: found (Compared), suite (of the first), suites, sides [(name, run)], query, by_check,
    cases or checks."""
    if "ticked" in request.GET:
        return _ticked(request)
    if not 2 <= len(_keys(request)) <= MOST_COMPARED:
        return _choose_others(request)
    by_check = request.GET.get("by") == "check"
    found = _compared_runs(request, by_check=by_check)
    context = {
        "found": found,
        "suite": found.first.suite,
        "suites": list(dict.fromkeys(run.suite for run in found.runs)),
        "sides": list(zip(found.names, found.runs, strict=True)),
        "query": _query_of(found.runs),
        "by_check": by_check,
        "checks": found.checks_beside(),
        "cases": found.cases_beside(),
    }
    return render(request, "agents/compare.html", context)


@require_safe
def compare_download(request: HttpRequest, form: str) -> HttpResponse:
    """cases.csv or checks.csv of `?first=a&second=b&second=c`."""
    if form not in ("cases.csv", "checks.csv"):
        raise Http404("There is no such download.")
    by_check = form == "checks.csv"
    found = _compared_runs(request, by_check=by_check)
    table = found.checks_table() if by_check else found.cases_table()
    return csv_download(f"{found.first.suite.slug}-compared-{form}", *table)


def _compared_runs(request: HttpRequest, *, by_check: bool) -> ComparedRuns:
    """The runs of the address. 404 for fewer than two or more than MOST_COMPARED."""
    keys = _keys(request)
    if not 2 <= len(keys) <= MOST_COMPARED:
        raise Http404(f"2 to {MOST_COMPARED} different runs are compared.")
    runs = [visible_run(request, key) for key in keys]
    disambiguate([run.server.model for run in runs])
    return compare_runs(*runs, by_check=by_check)


def _keys(request: HttpRequest) -> list[str]:
    """The runs of the address, each once."""
    named = [request.GET.get(name, "") for name in ("first", "a")]  # a and b are former names
    named += [key for name in ("second", "b") for key in request.GET.getlist(name)]
    return list(dict.fromkeys(key.replace("\0", "") for key in named if key))


# --- failure modes: naming them by a model, renaming and merging them ---


def _naming_of(case_run: CaseRun) -> Naming | None:
    found = Naming.objects.select_related("job", "server__model", "case_run__run")
    return found.filter(case_run=case_run).first()


@require_safe
def assess(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Context: run, case_run, assessment, may_edit, naming (or None), namer_form (or None), n_named (failures that can
    be named)."""
    found = visible_case_run(request, key, pk)
    may_edit = permissions.can_edit(request.user, found.run.suite)
    naming = _naming_of(found)  # before the assessment: a page that says "done" shows what came of it
    assessment = presenters.assessment_of(found)
    n_named = sum(can_be_named(sample) for mode in assessment.modes for sample in mode.samples)
    context: dict[str, Any] = {
        "run": found.run,
        "case_run": found,
        "assessment": assessment,
        "may_edit": may_edit,
        "naming": naming,
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
        return _name(request, found)  # type: ignore[arg-type]  # login_required redirects visitors
    current = _naming_of(found)
    context = {"run": found.run, "case_run": found, "naming": current}
    final = current is None or current.state in FINAL_STATES
    return polled(request, "agents/_naming.html", context, final=final)


@login_required
def _name(request: SignedInRequest, found: CaseRun) -> HttpResponse:
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
def forget(request: SignedInRequest, key: str, pk: int) -> HttpResponse:
    """Group without a model again."""
    services.forget_naming(visible_case_run(request, key, pk), actor=request.user)
    return redirect("agent-assess", key, pk)


@login_required
@require_POST
def change_mode(request: SignedInRequest, key: str, pk: int) -> HttpResponse:
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
