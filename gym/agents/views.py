"""Pages for suites of agent tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.agents import pauses, permissions, schedules, selectors, services
from gym.agents.charts import suite_trend
from gym.agents.forms import ImportForm, RunForm, ScheduleForm, SuiteForm, changed_secrets
from gym.agents.models import AgentSuite
from gym.jobs.pages import act, show_error
from gym.sharing.permissions import may_read
from gym.sharing.shareable import Shareable
from lmgym.agents.archives import write_archive
from lmgym.agents.regression_test import min_iterations

SHAREABLE = Shareable("agent-suite", "agent-home", "Agent tests", selectors.visible_to)


def visible_suite(request: HttpRequest, slug: str) -> AgentSuite:
    return get_object_or_404(selectors.visible_to(request.user), slug=slug)


def editable_suite(request: HttpRequest, slug: str) -> AgentSuite:
    suite = visible_suite(request, slug)
    if not permissions.can_edit(request.user, suite):
        raise PermissionDenied("this suite belongs to another user, and you are not one of its editors")
    return suite


def add_errors(form: Any, error: ValidationError | LimitReached) -> None:
    """Add a service's errors to a form, at their fields if the form has these fields."""
    if isinstance(error, LimitReached) or not hasattr(error, "error_dict"):
        form.add_error(None, getattr(error, "messages", str(error)))
        return
    for field, errors in error.message_dict.items():
        form.add_error(field if field in form.fields else None, errors)


def show_form_errors(request: HttpRequest, form: Any) -> None:
    for problems in form.errors.values():
        messages.error(request, " ".join(problems))


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """List suites and servers. Context: suites, runnable (pks of suites whose secrets, if any, this user may send),
    servers."""
    user = request.user
    suites = selectors.listed(user)
    runnable = [
        suite for suite in suites if user.is_authenticated and permissions.can_send_secrets(user, suite)
    ]
    context = {
        "suites": suites,
        "runnable": {suite.pk for suite in runnable},
        "servers": selectors.servers_visible_to(user),
    }
    return render(request, "agents/home.html", context)


@require_safe
def suite_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a suite. Context: suite, columns (selectors.Column), rows (selectors.Row), by_version, has_versions, runs,
    more_runs, trend (Figure or None), may_edit, may_see_people, run_form (or None), schedules, schedule_form
    (or None)."""
    suites = selectors.with_versions(selectors.visible_to(request.user), request.user)
    suite = get_object_or_404(suites, slug=slug)
    by_version = request.GET.get("by") == "version"
    prefetch_related_objects([suite], "cases")  # for the matrix and the trend
    columns, rows = selectors.matrix(suite, request.user, by_version=by_version)
    may_edit = permissions.can_edit(request.user, suite)
    runs, more_runs = selectors.first_runs(selectors.runs_visible_to(request.user).filter(suite=suite))
    may_run = run_form(request, suite, [case.agent for case in suite.cases.all()])
    context = {
        "suite": suite,
        "columns": columns,
        "rows": rows,
        "by_version": by_version,
        "has_versions": suite.has_versions,  # type: ignore[attr-defined]  # annotated
        "runs": runs,
        "more_runs": more_runs,
        "trend": suite_trend(suite, request.user),
        "may_edit": may_edit,
        "may_see_people": may_read(request.user, suite),
        "run_form": may_run,
        "schedules": schedules.visible_to(request.user, suite) if suite.has_schedules else [],  # type: ignore[attr-defined]  # annotated
        "schedule_form": may_run and ScheduleForm(user=request.user, servers=may_run.servers),
    }
    return render(request, "agents/suite.html", context)


def run_form(request: HttpRequest, suite: AgentSuite, agents: Iterable[str]) -> RunForm | None:
    """Return the form to run cases with these agents; None if the user may not run the suite."""
    may_run = permissions.can_run_suite(request.user, suite) and permissions.can_judge(request.user, suite)
    return RunForm(user=request.user, agents=agents) if may_run else None


@login_required
def suite_new(request: SignedInRequest) -> HttpResponse:
    return _suite_form(request, AgentSuite())


@login_required
def suite_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    return _suite_form(request, editable_suite(request, slug))


def _suite_form(request: SignedInRequest, suite: AgentSuite) -> HttpResponse:
    """Create or edit a suite. Context: suite (None for a new suite), form, may_manage."""
    form = SuiteForm(request.POST or None, instance=suite, user=request.user)
    new = suite.pk is None
    if request.method == "POST" and form.is_valid():
        changed = form.save(commit=False)
        try:
            lines = form.cleaned_data.get("variable_lines")
            variables = None if lines is None else changed_secrets(changed.variables, lines)
            services.save_suite(changed, actor=request.user, variables=variables)
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(
                request, "The suite was created. Next, write or import cases." if new else "Saved."
            )
            return redirect(changed)
    may_manage = not new and permissions.can_manage(request.user, suite)
    context = {
        "suite": None if new else suite,
        "form": form,
        "may_manage": may_manage,
    }
    return render(request, "agents/suite_form.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def suite_delete(request: HttpRequest, slug: str) -> HttpResponse:
    suite = editable_suite(request, slug)
    done = f"{suite.title} was deleted with its runs."
    return act(request, suite, services.delete_suite, done, to="agent-home")


@login_required
def suite_import(request: SignedInRequest, slug: str) -> HttpResponse:
    """Import cases from files. Context: suite, form, problems."""
    suite = editable_suite(request, slug)
    form = ImportForm(request.POST or None, request.FILES or None)
    problems: list[str] = []
    if request.method == "POST" and form.is_valid():
        try:
            cases = services.import_cases(suite, form.cleaned_data["cases"], actor=request.user)
        except ValidationError as error:
            problems = error.messages
        else:
            messages.success(request, f"{len(cases)} case{'' if len(cases) == 1 else 's'} imported.")
            return redirect(suite)
    context = {"suite": suite, "form": form, "problems": problems}
    status = 400 if request.method == "POST" else 200
    return render(request, "agents/suite_import.html", context, status=status)


@require_safe
def suite_download(request: HttpRequest, slug: str) -> HttpResponse:
    """Download all cases as unchanged files in a zip archive."""
    return cases_file(visible_suite(request, slug))


def cases_file(suite: AgentSuite) -> HttpResponse:
    data = write_archive({case.name: case.text for case in suite.cases.all()})
    response = HttpResponse(data, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{suite.slug}.zip"'
    return response


@login_required
@require_POST
def suite_run(request: SignedInRequest, slug: str) -> HttpResponse:
    """Queue the chosen cases (by default all), with a run on each chosen server."""
    suite = visible_suite(request, slug)
    form = RunForm(request.POST, user=request.user)
    if not form.is_valid():
        show_form_errors(request, form)
        return redirect(suite)
    selected = [int(pk) for pk in request.POST.getlist("case") if pk.isdigit() and len(pk) < 10]
    cases = list(suite.cases.filter(pk__in=selected)) if selected else None
    try:
        servers = list(form.cleaned_data["server"])
        runs = services.queue_runs(suite, servers, actor=request.user, cases=cases, **form.options())
    except (ValidationError, LimitReached) as error:
        show_error(request, error)
        return redirect(suite)
    if len(runs) == 1:
        return redirect(runs[0])
    messages.success(request, f"{len(runs)} runs were queued.")
    return redirect(f"{suite.get_absolute_url()}#runs")


@login_required
@require_POST
def schedule_new(request: SignedInRequest, slug: str) -> HttpResponse:
    suite = visible_suite(request, slug)
    form = ScheduleForm(request.POST, user=request.user)
    if not form.is_valid():
        show_form_errors(request, form)
    else:
        data = form.cleaned_data
        try:
            schedules.add_schedule(
                suite,
                data["server"],
                actor=request.user,
                every=data["every"],
                iterations=data["iterations"],
            )
        except ValidationError as error:
            show_error(request, error)
        else:
            messages.success(
                request,
                "The schedule was added. You will be notified if pass rates fall significantly or a case loses its "
                "verdict.",
            )
    return redirect(f"{suite.get_absolute_url()}#schedules")


@login_required
@require_safe
def schedule_limits(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the regressions that can be detected with the number of iterations entered in the form.

    Context: suite, limits (Limit), least (minimum number of iterations to report a single case), problem.
    """
    suite = visible_suite(request, slug)
    form = ScheduleForm(request.GET, user=request.user, servers=())
    form.is_valid()  # the other fields may be empty
    problem = " ".join(map(str, form.errors.get("iterations", ())))
    limits = [] if problem else schedules.limits_of(suite, form.cleaned_data.get("iterations"))
    least = min_iterations(sum(limit.cases for limit in limits)) if limits else None
    context = {"suite": suite, "limits": limits, "least": least, "problem": problem}
    return render(request, "agents/_limits.html", context)


@login_required
@require_POST
def schedule_resume(request: SignedInRequest, slug: str, pk: int) -> HttpResponse:
    suite = visible_suite(request, slug)
    schedule = get_object_or_404(schedules.visible_to(request.user, suite), pk=pk)
    try:
        pauses.resume(schedule, actor=request.user, seen=request.POST.get("seen", ""))
    except ValidationError as error:
        show_error(request, error)
    else:
        messages.success(request, "The schedule was resumed.")
    return redirect(f"{suite.get_absolute_url()}#schedules")


@login_required
@require_POST
def schedule_delete(request: SignedInRequest, slug: str, pk: int) -> HttpResponse:
    suite = visible_suite(request, slug)
    schedule = get_object_or_404(schedules.visible_to(request.user, suite), pk=pk)
    schedules.remove_schedule(schedule, actor=request.user)
    messages.success(request, "The schedule was deleted. Its runs are kept.")
    return redirect(f"{suite.get_absolute_url()}#schedules")
