"""The People page of everything that has collaborators, and what somebody answers to an invitation. Rooms put
`people_urls(ROOM)` among their addresses; the profile shows open invitations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods, require_POST

from gym.accounts.requests import SignedInRequest
from gym.sharing import invitations, permissions, services
from gym.sharing.models import Invitation, Offer, Role
from gym.sharing.rooms import Room
from gym.sharing.selectors import invited_to


class CollaboratorForm(forms.Form):
    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.EDIT)


def people_urls(room: Room, before: str = "<slug:slug>/") -> list[URLPattern]:
    """Five addresses below that of a thing."""
    more = {"room": room}
    row = f"{before}people/<int:pk>/"
    return [
        path(f"{before}people/", people, more, name=f"{room.prefix}-people"),
        path(f"{row}role/", collaborator_role, more, name=f"{room.prefix}-collaborator-role"),
        path(f"{row}remove/", collaborator_remove, more, name=f"{room.prefix}-collaborator-remove"),
        path(
            f"{before}people/invitations/<int:pk>/withdraw/",
            invitation_withdraw,
            more,
            name=f"{room.prefix}-invitation-withdraw",
        ),
        path(f"{before}leave/", leave, more, name=f"{room.prefix}-leave"),
    ]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: SignedInRequest, slug: str, room: Room) -> HttpResponse:
    """Context: thing, noun, room, names (of addresses), visibility, people (their roles), invited (open invitations,
    for the owner), offered (keys of people who are offered the ownership), roles, form, may_share, may_edit, mine (my
    own role), address."""
    thing = _visible(request, slug, room)
    if not permissions.may_read(request.user, thing):
        raise PermissionDenied(f"this is for the people of the {services.noun_of(thing)}")
    form = CollaboratorForm(request.POST or None)
    if request.method == "POST":
        services.require_owner(request.user, thing)
        if form.is_valid():
            given = form.cleaned_data
            try:
                asked = invitations.invite(thing, given["username"], given["role"], actor=request.user)
            except ValidationError as error:
                form.add_error("username", error)
            else:
                done = f"{asked.user.display_name} is invited, and sees the invitation on their home page."
                messages.success(request, done)
                return redirect(f"{room.prefix}-people", slug)
    status = 400 if request.method == "POST" else 200
    return render(request, room.template, _context(request, thing, room, form), status=status)


def _context(request: HttpRequest, thing: Any, room: Room, form: CollaboratorForm) -> dict[str, Any]:
    rows = list(thing.collaborations.select_related("user").order_by("user__username"))
    may_share = permissions.owns(request.user, thing)
    asked = list(invited_to(thing)) if may_share else []
    open_to_all = "public" if getattr(thing, "is_published", False) else "private"
    return {
        "thing": thing,
        "noun": services.noun_of(thing),
        "room": room,
        "names": {
            "edit": f"{room.prefix}-edit",
            "role": f"{room.prefix}-collaborator-role",
            "remove": f"{room.prefix}-collaborator-remove",
            "withdraw": f"{room.prefix}-invitation-withdraw",
            "leave": f"{room.prefix}-leave",
        },
        "visibility": getattr(thing, "visibility", open_to_all),
        "people": rows,
        "invited": asked,
        "offered": {row.invited_id for row in asked if row.role == Offer.OWNER},
        "roles": Role.choices,
        "form": form,
        "may_share": may_share,
        "may_edit": permissions.may_edit(request.user, thing),
        "mine": next((row for row in rows if row.user_id == request.user.pk), None),
        "address": request.build_absolute_uri(thing.get_absolute_url()),
    }


@login_required
@require_POST
def collaborator_role(request: SignedInRequest, slug: str, pk: int, room: Room) -> HttpResponse:
    """POST role: edit or view; "owner" offers the thing to an editor."""
    thing, row = _collaboration(request, slug, pk, room)
    role = request.POST.get("role", "")
    if role == Offer.OWNER:
        done = f"{row.user.display_name} is asked to become the owner. Until they accept, it stays yours."
        return _answer(
            request, thing, room, done, lambda: invitations.offer_ownership(thing, row, actor=request.user)
        )
    return _answer(
        request, thing, room, "Saved.", lambda: services.set_role(thing, row, role, actor=request.user)
    )


@login_required
@require_POST
def collaborator_remove(request: SignedInRequest, slug: str, pk: int, room: Room) -> HttpResponse:
    thing, row = _collaboration(request, slug, pk, room)
    done = f"{row.user.display_name} is no longer a collaborator."
    return _answer(
        request, thing, room, done, lambda: services.remove_collaborator(thing, row, actor=request.user)
    )


@login_required
@require_POST
def invitation_withdraw(request: SignedInRequest, slug: str, pk: int, room: Room) -> HttpResponse:
    thing = _visible(request, slug, room)
    services.require_owner(request.user, thing)
    row = get_object_or_404(invited_to(thing), pk=pk)
    done = f"The invitation of {row.user.display_name} is withdrawn."
    return _answer(request, thing, room, done, lambda: invitations.withdraw(thing, row, actor=request.user))


@login_required
@require_POST
def leave(request: SignedInRequest, slug: str, room: Room) -> HttpResponse:
    thing = _visible(request, slug, room)
    row = thing.collaborations.filter(user=request.user).first()
    if row is None:
        raise PermissionDenied(f"you are no collaborator of this {services.noun_of(thing)}")
    services.remove_collaborator(thing, row, actor=request.user)
    messages.success(request, f"You no longer work on {thing}.")
    return redirect(room.home)


def _answer(request: HttpRequest, thing: Any, room: Room, done: str, act: Callable[[], Any]) -> HttpResponse:
    try:
        act()
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, done)
    thing.refresh_from_db()
    if permissions.may_read(request.user, thing):
        return redirect(f"{room.prefix}-people", thing.slug)
    return redirect(thing)


def _visible(request: HttpRequest, slug: str, room: Room) -> Any:
    return get_object_or_404(room.visible_to(request.user).select_related("owner"), slug=slug)


def _collaboration(request: SignedInRequest, slug: str, pk: int, room: Room) -> tuple[Any, Any]:
    thing = _visible(request, slug, room)
    services.require_owner(request.user, thing)
    return thing, get_object_or_404(thing.collaborations.select_related("user"), pk=pk)


# --- answers to an invitation ---


SAID = {
    Offer.EDIT: "You can edit {} now.",
    Offer.VIEW: "You can view {} now.",
    Offer.OWNER: "You own {} now.",
}


@login_required
@require_POST
def invitation_accept(request: SignedInRequest, pk: int) -> HttpResponse:
    row = _mine(request, pk)
    thing = invitations.accept(row, actor=request.user)
    messages.success(request, SAID[Offer(row.role)].format(thing))
    return redirect(thing)


@login_required
@require_POST
def invitation_decline(request: SignedInRequest, pk: int) -> HttpResponse:
    row = _mine(request, pk)
    invitations.decline(row, actor=request.user)
    messages.success(request, f"You declined the invitation of {row.inviter.display_name}.")
    return redirect("home")


def _mine(request: SignedInRequest, pk: int) -> Invitation:
    mine = Invitation.objects.filter(invited=request.user, declined=None).select_related("inviter")
    return get_object_or_404(mine, pk=pk)
