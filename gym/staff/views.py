"""The staff page: what runs, what waits, what failed, what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts import quotas
from gym.accounts.errors import TooManyJobs
from gym.accounts.requests import SignedInRequest
from gym.jobs.models import Job, State
from gym.jobs.selectors import queue_summary, workers
from gym.staff import actors, selectors, services
from gym.staff.actors import CLEAN, DOCTOR, MAX_DAYS, MIN_DAYS, TIDY, USUAL_DAYS
from gym.staff.services import OLD
from gym.staff.storage import storage


class AgeForm(forms.Form):
    """How old something is that is to be looked at."""

    days = forms.IntegerField(
        min_value=MIN_DAYS, max_value=MAX_DAYS, initial=USUAL_DAYS, label="Ended more than so many days ago"
    )


class CleanUpForm(AgeForm):
    """What to delete, said by somebody who has seen what it is."""

    what = forms.MultipleChoiceField(
        choices=[(name, name) for name in OLD],
        label="Delete",
        error_messages={"required": "Choose what goes."},
    )
    confirm = forms.BooleanField(error_messages={"required": "Tick that you have looked at what goes."})


@login_required
@require_safe
def staff(request: SignedInRequest) -> HttpResponse:
    """Context: workers, summary, counts, state, q, page (of jobs), failures, storage, users, waiting, doctor, lines,
    tidy, may (what else of the admin this person may open)."""
    services.require_staff(request.user)
    counts = selectors.job_counts()
    state = request.GET.get("state", "")
    if state not in State.values:
        state = next((name for name in ("running", "queued", "failed") if counts[name]), "running")
    words = request.GET.get("q", "").replace("\0", "").strip()
    found = Paginator(selectors.listed_jobs(state, words), selectors.MOST_JOBS)
    if not words:
        found.count = counts[state]
    asked = selectors.last_jobs(DOCTOR, TIDY)
    doctor = asked.get(DOCTOR)
    there = workers()
    context = {
        "workers": there,
        "summary": queue_summary(there),
        "counts": counts,
        "state": state,
        "q": words,
        "page": found.get_page(request.GET.get("page")),
        "acts": ["cancel"] if state in ("running", "queued") else ["requeue"],
        "can_steer": state != "done",
        "failures": selectors.recent_failures(),
        "failure_days": selectors.FAILURE_DAYS,
        "storage": storage(),
        "users": selectors.busiest_users(),
        "waiting": selectors.waiting_models(),
        "doctor": doctor,
        "lines": selectors.doctor_lines(doctor),
        "tidy": asked.get(TIDY),
        "may": {
            "jobs": request.user.has_perm("jobs.view_job"),
            "users": request.user.has_perm("accounts.view_user"),
        },
    }
    return render(request, "staff/staff.html", context)


@login_required
@require_safe
def staff_accounts(request: SignedInRequest) -> HttpResponse:
    """What each account keeps. Context: page (of selectors.StorageUse), kinds (those that an account on it keeps),
    may_users."""
    services.require_staff(request.user)
    page = Paginator(selectors.accounts_by_size(), selectors.MOST_ACCOUNTS).get_page(request.GET.get("page"))
    rows = [selectors.storage_use(user) for user in page.object_list]
    kinds = [kind for kind in quotas.kinds() if any(row.keeps(kind) for row in rows)]
    page.object_list = [replace(row, uses=[use for use in row.uses if use.kind in kinds]) for row in rows]
    context = {
        "page": page,
        "kinds": kinds,
        "may_users": request.user.has_perm("accounts.view_user"),
    }
    return render(request, "staff/accounts.html", context)


@login_required
@require_POST
def staff_jobs(request: SignedInRequest) -> HttpResponse:
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
    kept = {"state": state if state in State.values else "", "q": request.POST.get("q", "")}
    query = urlencode({name: value for name, value in kept.items() if value})
    return redirect(f"{reverse('staff')}?{query}#jobs")


@login_required
@require_POST
def staff_doctor(request: SignedInRequest) -> HttpResponse:
    """Queue the doctor's checks."""
    return _ask(request, lambda: services.ask_for(DOCTOR, actor=request.user), "doctor")


@login_required
@require_POST
def staff_tidy(request: SignedInRequest) -> HttpResponse:
    """Queue tidying up."""
    return _ask(request, lambda: services.ask_for(TIDY, actor=request.user), "storage")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def staff_clean_up(request: SignedInRequest) -> HttpResponse:
    """What would be deleted of what is old; POST with `confirm` queues it. Context: age, form, days, jobs, runs (how
    many), sentences, oldest (the first runs), last (the newest such job)."""
    services.require_staff(request.user)
    posted = request.method == "POST"
    given = request.POST if posted else request.GET
    age = AgeForm(given if "days" in given else {"days": actors.USUAL_DAYS})
    days = age.cleaned_data["days"] if age.is_valid() else actors.USUAL_DAYS
    form = CleanUpForm(request.POST if posted else None)
    if posted and form.is_valid():
        what = form.cleaned_data["what"]
        return _ask(request, lambda: services.ask_to_clean_up(days, what, actor=request.user), "storage")
    before = actors.moment(days)
    context = {
        "age": age,
        "form": form,
        "days": days,
        **actors.totals(before),
        "oldest": actors.old_runs(before).select_related("model", "revision__suite", "owner")[: actors.SHOWN],
        "last": selectors.last_job(CLEAN),
    }
    status = 400 if posted or not age.is_valid() else 200
    return render(request, "staff/clean_up.html", context, status=status)


def _ask(request: HttpRequest, ask: Callable[[], Job], section: str) -> HttpResponse:
    try:
        ask()
    except TooManyJobs as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Queued. Look again in a moment.")
    return redirect(f"{reverse('staff')}#{section}")
