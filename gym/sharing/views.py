"""The Share page of every kind of object with collaborators, and accepting or declining invitations. Apps add
`people_urls(SHAREABLE)` to their URLs; the home page lists open invitations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods, require_POST

from gym.accounts.requests import SignedInRequest
from gym.sharing import invitations, permissions, services
from gym.sharing.models import Invitation, Offer, Role
from gym.sharing.selectors import invited_to
from gym.sharing.shareable import Shareable
from lmgym.text import count


class CollaboratorForm(forms.Form):
    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.EDIT)


def people_urls(shareable: Shareable, before: str = "<slug:slug>/") -> list[URLPattern]:
    """Return the URLs of an object's Share page and its forms."""
    kwargs = {"shareable": shareable}
    row = f"{before}people/<int:pk>/"
    return [
        path(f"{before}people/", people, kwargs, name=f"{shareable.prefix}-people"),
        path(f"{row}role/", collaborator_role, kwargs, name=f"{shareable.prefix}-collaborator-role"),
        path(f"{row}remove/", collaborator_remove, kwargs, name=f"{shareable.prefix}-collaborator-remove"),
        path(
            f"{before}people/invitations/<int:pk>/withdraw/",
            invitation_withdraw,
            kwargs,
            name=f"{shareable.prefix}-invitation-withdraw",
        ),
        path(f"{before}leave/", leave, kwargs, name=f"{shareable.prefix}-leave"),
    ]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: SignedInRequest, slug: str, shareable: Shareable) -> HttpResponse:
    """Show the Share page; POST invites a collaborator. Context: obj, noun, shareable, names (of URLs),
    visibility, people (collaborators), invited (open invitations, for the owner and staff), offered (pks of
    users who are offered the ownership), roles, form, may_share, may_edit, mine (the user's own role),
    address."""
    obj = _visible(request, slug, shareable)
    if not permissions.may_read(request.user, obj):
        noun = services.noun_of(obj)
        raise PermissionDenied(f"only owner and collaborators of the {noun}, and staff, may see this page")
    form = CollaboratorForm(request.POST or None)
    if request.method == "POST":
        services.require_owner(request.user, obj)
        if form.is_valid():
            cleaned = form.cleaned_data
            try:
                invitation = invitations.invite(obj, cleaned["username"], cleaned["role"], actor=request.user)
            except ValidationError as error:
                form.add_error("username", error)
            else:
                done = (
                    f"{invitation.user.display_name} is invited and sees the invitation on their home page."
                )
                messages.success(request, done)
                return redirect(f"{shareable.prefix}-people", slug)
    status = 400 if request.method == "POST" else 200
    return render(request, shareable.template, _context(request, obj, shareable, form), status=status)


def _context(request: HttpRequest, obj: Any, shareable: Shareable, form: CollaboratorForm) -> dict[str, Any]:
    rows = list(obj.collaborations.select_related("user").order_by("user__username"))
    may_share = permissions.owns(request.user, obj)
    invitations_open = list(invited_to(obj)) if may_share else []
    open_to_all = "public" if getattr(obj, "is_published", False) else "private"
    return {
        "obj": obj,
        "noun": services.noun_of(obj),
        "shareable": shareable,
        "names": {
            "edit": f"{shareable.prefix}-edit",
            "role": f"{shareable.prefix}-collaborator-role",
            "remove": f"{shareable.prefix}-collaborator-remove",
            "withdraw": f"{shareable.prefix}-invitation-withdraw",
            "leave": f"{shareable.prefix}-leave",
        },
        "visibility": getattr(obj, "visibility", open_to_all),
        "people": rows,
        "invited": invitations_open,
        "offered": {row.invited_id for row in invitations_open if row.role == Offer.OWNER},
        "roles": Role.choices,
        "form": form,
        "may_share": may_share,
        "may_edit": permissions.may_edit(request.user, obj),
        "mine": next((row for row in rows if row.user_id == request.user.pk), None),
        "address": request.build_absolute_uri(obj.get_absolute_url()),
    }


@login_required
@require_POST
def collaborator_role(request: SignedInRequest, slug: str, pk: int, shareable: Shareable) -> HttpResponse:
    """Change a collaborator's role. POST `role`: edit or view; "owner" offers the ownership to an editor."""
    obj, row = _collaboration(request, slug, pk, shareable)
    role = request.POST.get("role", "")
    if role == Offer.OWNER:
        done = (
            f"{row.user.display_name} is invited to become the owner. You remain the owner until they accept."
        )
        return _answer(
            request,
            obj,
            shareable,
            done,
            lambda: invitations.offer_ownership(obj, row, actor=request.user),
        )
    return _answer(
        request, obj, shareable, "Saved.", lambda: services.set_role(obj, row, role, actor=request.user)
    )


@login_required
@require_POST
def collaborator_remove(request: SignedInRequest, slug: str, pk: int, shareable: Shareable) -> HttpResponse:
    obj, row = _collaboration(request, slug, pk, shareable)
    done = f"{row.user.display_name} is no longer a collaborator."
    return _answer(
        request, obj, shareable, done, lambda: services.remove_collaborator(obj, row, actor=request.user)
    )


@login_required
@require_POST
def invitation_withdraw(request: SignedInRequest, slug: str, pk: int, shareable: Shareable) -> HttpResponse:
    obj = _visible(request, slug, shareable)
    services.require_owner(request.user, obj)
    row = get_object_or_404(invited_to(obj), pk=pk)
    done = f"The invitation to {row.user.display_name} was withdrawn."
    return _answer(request, obj, shareable, done, lambda: invitations.withdraw(obj, row, actor=request.user))


@login_required
@require_POST
def leave(request: SignedInRequest, slug: str, shareable: Shareable) -> HttpResponse:
    obj = _visible(request, slug, shareable)
    row = obj.collaborations.filter(user=request.user).first()
    if row is None:
        raise PermissionDenied(f"you are not a collaborator of this {services.noun_of(obj)}")
    services.remove_collaborator(obj, row, actor=request.user)
    messages.success(request, f"You no longer work on {obj}.")
    return redirect(shareable.home)


def _answer(
    request: HttpRequest, obj: Any, shareable: Shareable, done: str, act: Callable[[], Any]
) -> HttpResponse:
    try:
        act()
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, done)
    obj.refresh_from_db()
    if permissions.may_read(request.user, obj):
        return redirect(f"{shareable.prefix}-people", obj.slug)
    return redirect(obj)


def _visible(request: HttpRequest, slug: str, shareable: Shareable) -> Any:
    return get_object_or_404(shareable.visible_to(request.user).select_related("owner"), slug=slug)


def _collaboration(request: SignedInRequest, slug: str, pk: int, shareable: Shareable) -> tuple[Any, Any]:
    obj = _visible(request, slug, shareable)
    services.require_owner(request.user, obj)
    return obj, get_object_or_404(obj.collaborations.select_related("user"), pk=pk)


# --- answers to an invitation ---


ACCEPTED = {
    Offer.EDIT: "You can now edit {}.",
    Offer.VIEW: "You can now view {}.",
    Offer.OWNER: "You now own {}.",
}


@login_required
@require_POST
def invitation_accept(request: SignedInRequest, pk: int) -> HttpResponse:
    row = _mine(request, pk)
    obj = invitations.accept(row, actor=request.user)
    messages.success(request, ACCEPTED[Offer(row.role)].format(obj))
    return redirect(obj)


@login_required
@require_POST
def invitations_accept(request: SignedInRequest, inviter: int) -> HttpResponse:
    """Accept all invitations from an account, except offers of ownership."""
    accepted = invitations.accept_all(inviter, actor=request.user)
    if not accepted:
        raise Http404("There are no open invitations from this account.")
    messages.success(request, f"You accepted {count(len(accepted), 'invitation')}.")
    return redirect("home")


@login_required
@require_POST
def invitation_decline(request: SignedInRequest, pk: int) -> HttpResponse:
    row = _mine(request, pk)
    invitations.decline(row, actor=request.user)
    messages.success(request, f"You declined the invitation from {row.inviter.display_name}.")
    return redirect("home")


def _mine(request: SignedInRequest, pk: int) -> Invitation:
    mine = Invitation.objects.filter(invited=request.user, declined=None).select_related("inviter")
    return get_object_or_404(mine, pk=pk)
