"""Pages for an account that need data from all apps: use of limits, and deletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model, logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from gym.accounts import daily_sentences, quotas, second_factor
from gym.accounts.external import kinds
from gym.accounts.forms import CurrentPassword
from gym.accounts.models import ApiToken, User
from gym.accounts.requests import SignedInRequest
from gym.accounts.tokens import live_tokens
from gym.accounts.views import forget_in_browser, form_page, form_status, throttled, with_password
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import active_limit
from gym.pages import account_deletion


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
@sensitive_post_parameters()
@form_page
@throttled
def account_delete(request: SignedInRequest) -> HttpResponse:
    """Confirm with the password and delete the account. Context: form, plan (account_deletion.DeletionPlan)."""
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
    context = {"form": form, "plan": account_deletion.plan(request.user)}
    return render(request, "accounts/delete.html", context, status=form_status(request))
