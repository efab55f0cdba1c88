"""The staff page: what runs, what waits, what failed, what is kept."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from gym.jobs.errors import TooManyJobs
from gym.jobs.models import State
from gym.jobs.selectors import queue_summary, workers
from gym.staff import selectors, services
from gym.staff.actors import DOCTOR, TIDY


@login_required
@require_safe
def staff(request: HttpRequest) -> HttpResponse:
    """Context: workers, summary, counts, state, jobs, failures, storage, users, waiting, doctor, lines, tidy."""
    services.require_staff(request.user)
    counts = selectors.job_counts()
    state = request.GET.get("state", "")
    if state not in State.values:
        state = next((name for name in ("running", "queued", "failed") if counts[name]), "running")
    doctor = selectors.last_job(DOCTOR)
    context = {
        "workers": workers(),
        "summary": queue_summary(),
        "counts": counts,
        "state": state,
        "jobs": selectors.listed_jobs(state),
        "acts": ["cancel"] if state in ("running", "queued") else ["requeue"],
        "can_steer": state != "done",
        "failures": selectors.recent_failures(),
        "failure_days": selectors.FAILURE_DAYS,
        "storage": selectors.storage(),
        "users": selectors.busiest_users(),
        "waiting": selectors.waiting_models(),
        "doctor": doctor,
        "lines": selectors.doctor_lines(doctor),
        "tidy": selectors.last_job(TIDY),
    }
    return render(request, "staff/staff.html", context)


@login_required
@require_POST
def staff_jobs(request: HttpRequest) -> HttpResponse:
    """Cancel or requeue the ticked jobs."""
    services.require_staff(request.user)
    act = request.POST.get("act", "")
    try:
        ids = [UUID(value) for value in request.POST.getlist("job")[: selectors.MOST_JOBS]]
    except ValueError:
        return HttpResponseBadRequest("A job's number is not one.")
    if act not in services.ACTS:
        return HttpResponseBadRequest("Choose cancel or requeue.")
    done, problems = services.steer_jobs(ids, act, actor=request.user)
    for problem in problems[:5]:
        messages.warning(request, problem)
    if done:
        messages.success(
            request, f"{done} {'cancelled or asked to stop' if act == 'cancel' else 'queued again'}."
        )
    elif not problems:
        messages.info(request, "No job was ticked.")
    state = request.POST.get("state", "")
    query = f"?state={state}" if state in State.values else ""
    return redirect(f"{reverse('staff')}{query}#jobs")


@login_required
@require_POST
def staff_doctor(request: HttpRequest) -> HttpResponse:
    """Queue the doctor's checks."""
    return _ask(request, DOCTOR, "doctor")


@login_required
@require_POST
def staff_tidy(request: HttpRequest) -> HttpResponse:
    """Queue tidying up."""
    return _ask(request, TIDY, "storage")


def _ask(request: HttpRequest, kind: str, section: str) -> HttpResponse:
    try:
        services.ask_for(kind, actor=request.user)
    except TooManyJobs as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Queued. Look again in a moment.")
    return redirect(f"{reverse('staff')}#{section}")
