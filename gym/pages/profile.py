"""Pages for an account that need data from all apps: use of limits, download of all data, and deletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model, logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from gym import stored_files
from gym.accounts import daily_sentences, quotas, second_factor
from gym.accounts.errors import LimitReached
from gym.accounts.external import kinds
from gym.accounts.forms import CurrentPassword
from gym.accounts.models import ApiToken, User
from gym.accounts.requests import SignedInRequest
from gym.accounts.tokens import live_tokens
from gym.accounts.views import forget_in_browser, form_page, form_status, throttled, with_password
from gym.downloads import zip_stream
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.pages import progress_of, show_error
from gym.jobs.services import active_limit
from gym.pages import account_deletion, account_downloads


@dataclass(frozen=True)
class UsedLimit:
    """An account's use of one limit."""

    name: str
    used: int
    limit: int  # 0 = no limit


@dataclass(frozen=True)
class Profile:
    tokens: QuerySet[ApiToken]
    limits: list[UsedLimit]
    uses: list[quotas.Use]
    has_services: bool
    has_second_factors: bool


def profile_of(user: User) -> Profile:
    used, uses = use_of(user)
    return Profile(
        tokens=live_tokens(user),
        limits=used,
        uses=uses,
        has_services=kinds.any_on(),
        has_second_factors=second_factor.is_offered(),
    )


def use_of(user: User) -> tuple[list[UsedLimit], list[quotas.Use]]:
    """Return the use of the account's limits and quotas in one query. Staff are limited only in active jobs."""
    columns = used_columns() | quotas.columns_of(quotas.kinds())
    row = get_user_model().objects.filter(pk=user.pk).annotate(**columns).values(*columns).get()
    sentences = 0 if user.is_staff else daily_sentences.limit_of(user)
    uses = quotas.uses_in(row, user)
    runs = next(use for use in uses if use.kind.key == "runs")
    return [
        UsedLimit("jobs queued or running", row["used_jobs"], active_limit(user)),
        UsedLimit("sentences queued in the last 24 hours", row["used_sentences"], sentences),
        UsedLimit("runs kept", runs.amount.number, runs.limit.number),
    ], uses


def used_columns() -> dict[str, Any]:
    """Return annotations for querysets of accounts: active jobs, and sentences from the last 24 hours."""
    active = Q(state__in=ACTIVE_STATES)
    return {
        "used_jobs": quotas.Part(Job).column(Count("pk"), only=active),
        "used_sentences": daily_sentences.used_column(),
    }


@login_required
@require_safe
def profile(request: SignedInRequest) -> HttpResponse:
    """Show the account's profile. Context: profile (Profile)."""
    return render(request, "accounts/profile.html", {"profile": profile_of(request.user)})


@login_required
@form_page
def account_export(request: SignedInRequest) -> HttpResponse:
    """Show the zip of the account's data. POST creates it, or deletes it (`delete`). Context: export (AccountExport or
    None), job, state; behind only with an export."""
    if request.method == "POST" and "delete" in request.POST:
        account_downloads.delete_export(actor=request.user)
        messages.success(request, "The file was deleted.")
        return redirect("account-export")
    if request.method == "POST":
        try:
            account_downloads.request_export(actor=request.user)
        except LimitReached as error:
            show_error(request, error)
        return redirect("account-export")
    export = account_downloads.export_of(request.user)
    context: dict[str, Any] = {"export": export}
    context |= progress_of(export.job, request.user, export.state) if export else {"job": None, "state": ""}
    return render(request, "accounts/export.html", context)


@login_required
@require_safe
def account_export_file(request: SignedInRequest) -> HttpResponseBase:
    """Download the zip, or redirect to its page while there is none."""
    export = account_downloads.export_of(request.user)
    if export is None or not export.is_done:
        return redirect("account-export")
    return zip_stream(stored_files.pieces_of(export), export.filename, export.size)


@login_required
@sensitive_post_parameters()
@form_page
@throttled
def account_delete(request: SignedInRequest) -> HttpResponse:
    """Confirm with the password and delete the account. Context: form, plan (account_deletion.DeletionPlan), export
    (AccountExport or None)."""
    form = CurrentPassword(request.POST or None, user=request.user)
    if request.method == "POST" and with_password(request, form, "password"):
        try:
            account_deletion.delete_account(request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            username = request.user.get_username()
            logout(request)
            messages.success(request, "Your account has been deleted.")
            response = redirect("home")
            forget_in_browser(response, username)
            return response
    export = account_downloads.export_of(request.user)
    context = {"form": form, "plan": account_deletion.plan(request.user), "export": export}
    return render(request, "accounts/delete.html", context, status=form_status(request))
