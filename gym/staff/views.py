"""The staff page: workers, queues, grouped failures, storage and use. Single rows are listed and changed in the admin;
this page covers what the admin cannot show or do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts import quotas
from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.jobs.models import Job
from gym.jobs.selectors import broker_problem_of, queue_summary, workers
from gym.staff import actors, selectors, services
from gym.staff.actors import CLEAN, DOCTOR, MAX_DAYS, MIN_DAYS, TIDY, USUAL_DAYS, WEIGHTS
from gym.staff.services import OLD
from gym.staff.storage import storage


class AgeForm(forms.Form):
    """Form for the minimum age of the jobs and runs to preview."""

    days = forms.IntegerField(
        min_value=MIN_DAYS, max_value=MAX_DAYS, initial=USUAL_DAYS, label="Ended at least this many days ago"
    )


class CleanUpForm(AgeForm):
    """Form for the old rows to delete, confirmed after a preview."""

    what = forms.MultipleChoiceField(
        choices=[(name, name) for name in OLD],
        label="Delete",
        error_messages={"required": "Choose what to delete."},
    )
    confirm = forms.BooleanField(error_messages={"required": "Confirm that you have checked the preview."})


@login_required
@require_safe
def staff(request: SignedInRequest) -> HttpResponse:
    """Show the staff page. Context: workers, broker_problem, summary (of queues), counts (of jobs by state), failures,
    failure_days, storage, users, waiting (models), doctor, lines (of the doctor's log), tidy and weights (newest
    jobs), may (which pages of the admin this user may open)."""
    services.require_staff(request.user)
    staff_jobs = selectors.last_jobs(DOCTOR, TIDY, WEIGHTS)
    doctor = staff_jobs.get(DOCTOR)
    all_workers = workers()
    context = {
        "workers": all_workers,
        "broker_problem": broker_problem_of(all_workers),
        "summary": queue_summary(all_workers),
        "counts": selectors.job_counts(),
        "failures": selectors.recent_failures(),
        "failure_days": selectors.FAILURE_DAYS,
        "storage": storage(),
        "users": selectors.busiest_users(),
        "waiting": selectors.waiting_models(),
        "doctor": doctor,
        "lines": selectors.doctor_lines(doctor),
        "tidy": staff_jobs.get(TIDY),
        "weights": staff_jobs.get(WEIGHTS),
        "may": {
            "jobs": request.user.has_perm("jobs.view_job"),
            "users": request.user.has_perm("accounts.view_user"),
        },
    }
    return render(request, "staff/staff.html", context)


@login_required
@require_safe
def staff_accounts(request: SignedInRequest) -> HttpResponse:
    """Show storage by account. Context: page (of selectors.StorageUse), kinds (with rows on this page), may_users."""
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
def staff_doctor(request: SignedInRequest) -> HttpResponse:
    """Queue the doctor's checks."""
    return _ask(request, lambda: services.queue_task(DOCTOR, actor=request.user), "doctor")


@login_required
@require_POST
def staff_tidy(request: SignedInRequest) -> HttpResponse:
    """Queue the job that tidies up storage."""
    return _ask(request, lambda: services.queue_task(TIDY, actor=request.user), "storage")


@login_required
@require_POST
def staff_weights(request: SignedInRequest) -> HttpResponse:
    """Queue the deletion of weights that no model uses."""
    return _ask(request, lambda: services.queue_task(WEIGHTS, actor=request.user), "storage")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def staff_clean_up(request: SignedInRequest) -> HttpResponse:
    """Preview the deletion of old jobs and runs; POST with `confirm` queues it. Context: age, form, days, jobs and runs
    (numbers), sentences, oldest (the oldest runs), last (the newest deletion job)."""
    services.require_staff(request.user)
    posted = request.method == "POST"
    query = request.POST if posted else request.GET
    age = AgeForm(query if "days" in query else {"days": actors.USUAL_DAYS})
    days = age.cleaned_data["days"] if age.is_valid() else actors.USUAL_DAYS
    form = CleanUpForm(request.POST if posted else None)
    if posted and form.is_valid():
        what = form.cleaned_data["what"]
        return _ask(request, lambda: services.queue_clean_up(days, what, actor=request.user), "storage")
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
    except LimitReached as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Queued. Reload this page in a moment.")
    return redirect(f"{reverse('staff')}#{section}")
