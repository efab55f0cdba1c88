"""What somebody answers to an invitation. The profile shows the open ones."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from gym.sharing import invitations
from gym.sharing.models import Invitation, Offer

SAID = {
    Offer.EDIT: "You can edit {} now.",
    Offer.VIEW: "You can view {} now.",
    Offer.OWNER: "You own {} now.",
}


@login_required
@require_POST
def invitation_accept(request: HttpRequest, pk: int) -> HttpResponse:
    row = _mine(request, pk)
    thing = invitations.accept(row, actor=request.user)
    messages.success(request, SAID[Offer(row.role)].format(thing))
    return redirect(thing)


@login_required
@require_POST
def invitation_decline(request: HttpRequest, pk: int) -> HttpResponse:
    row = _mine(request, pk)
    invitations.decline(row, actor=request.user)
    messages.success(request, f"You declined the invitation of {row.inviter.display_name}.")
    return redirect("profile")


def _mine(request: HttpRequest, pk: int) -> Invitation:
    mine = Invitation.objects.filter(invited=request.user, declined=None).select_related("inviter")
    return get_object_or_404(mine, pk=pk)
