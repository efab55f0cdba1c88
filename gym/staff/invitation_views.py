"""Pages on which staff invite people by mail."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from gym.accounts import invitations, mail
from gym.accounts.models import AccountInvitation, User
from gym.accounts.requests import SignedInRequest
from gym.staff.services import require_staff
from lmgym.text import count


class InviteForm(forms.Form):
    """Addresses to invite and, for superusers, the rights of the new accounts."""

    addresses = forms.CharField(
        label="E-mail addresses",
        help_text="Separated by commas, spaces or line breaks.",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        max_length=20_000,
    )
    is_staff = forms.BooleanField(label="Staff status", required=False)
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, actor: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not actor.is_superuser:
            del self.fields["is_staff"], self.fields["groups"]
        elif not Group.objects.exists():
            del self.fields["groups"]

    def clean_addresses(self) -> list[str]:
        return [word for word in re.split(r"[\s,;]+", self.cleaned_data["addresses"]) if word]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def staff_invitations(request: SignedInRequest) -> HttpResponse:
    """Invite people, and list the open invitations. Context: form, invitations, days, has_mail."""
    require_staff(request.user)
    form = InviteForm(request.POST or None, actor=request.user)
    posted = request.method == "POST"
    if posted and form.is_valid():
        rights = {
            name: form.cleaned_data[name] for name in ("is_staff", "groups") if name in form.cleaned_data
        }
        try:
            made = invitations.invite(form.cleaned_data["addresses"], actor=request.user, **rights)
        except ValidationError as error:
            form.add_error("addresses", error)
        else:
            _send(request, made)
            messages.success(request, f"{count(len(made), 'invitation')} sent.")
            return redirect("staff-invitations")
    context = {
        "form": form,
        "invitations": invitations.open_invitations()[:500],
        "days": settings.GYM_INVITATION_DAYS,
        "has_mail": mail.has_server(),
    }
    return render(request, "staff/invitations.html", context, status=400 if posted else 200)


@login_required
@require_POST
def staff_invitation_resend(request: SignedInRequest, pk: int) -> HttpResponse:
    """Mail a new link; the earlier one no longer works."""
    invitation = _invitation(request, pk)
    _send(request, [invitations.resend(invitation, actor=request.user)])
    messages.success(request, f"A new link was sent to {invitation.email}. The earlier one no longer works.")
    return redirect("staff-invitations")


@login_required
@require_POST
def staff_invitation_revoke(request: SignedInRequest, pk: int) -> HttpResponse:
    invitation = _invitation(request, pk)
    invitations.revoke(invitation, actor=request.user)
    messages.success(request, f"The invitation of {invitation.email} was revoked.")
    return redirect("staff-invitations")


def _invitation(request: SignedInRequest, pk: int) -> AccountInvitation:
    require_staff(request.user)
    return get_object_or_404(AccountInvitation, pk=pk)


def _send(request: SignedInRequest, made: Iterable[invitations.Mailed]) -> None:
    host = mail.own_host(request)
    links = [(invitation.email, _link(request, host, token)) for invitation, token in made]
    mail.in_background(_send_all, links, host, request.user.display_name)


def _link(request: HttpRequest, host: str, token: str) -> str:
    return f"{request.scheme}://{host}{reverse('account-invitation', args=[token])}"


def _send_all(links: list[tuple[str, str]], host: str, inviter: str) -> None:
    for address, link in links:
        mail.send_invitation(address, link, host, settings.GYM_INVITATION_DAYS, inviter)
