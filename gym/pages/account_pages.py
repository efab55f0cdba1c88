"""What is mine, and leaving: the pages of an account that look into every room."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from gym.accounts.forms import CurrentPassword
from gym.accounts.views import form_page, form_status, throttled, with_password
from gym.pages import account_deletion
from gym.pages.profile import profile_of
from gym.runs.core.rules import RULES, rule_of


@login_required
@require_safe
def profile(request: HttpRequest) -> HttpResponse:
    """Context: profile (selectors.Profile)."""
    rule = rule_of(request.GET.get("rule", ""))
    context = {"profile": profile_of(request.user), "rule": rule, "rules": list(RULES.values())}
    return render(request, "accounts/profile.html", context)


@login_required
@sensitive_post_parameters()
@form_page
@throttled
def account_delete(request: HttpRequest) -> HttpResponse:
    """What will happen, and the password to make it happen. Context: form, plan (account_deletion.DeletionPlan)."""
    form = CurrentPassword(request.POST or None, user=request.user)
    if request.method == "POST" and with_password(request, form, "password"):
        try:
            account_deletion.delete_account(request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            logout(request)
            messages.success(request, "Your account is deleted.")
            return redirect("home")
    context = {"form": form, "plan": account_deletion.plan(request.user)}
    return render(request, "accounts/delete.html", context, status=form_status(request))
