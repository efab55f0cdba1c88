"""API for the collaborators of any shareable object, and for the user's own invitations.

Apps add `*people_api(name, visible_to, prefix)` to their URLs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, ObjectView, get_or_404
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body, Query
from gym.sharing import invitations, permissions, services
from gym.sharing.addresses import NOTE
from gym.sharing.models import Invitation, Offer, Role
from gym.sharing.selectors import invitations_of, invited_to

VisibleTo: TypeAlias = Callable[[Any], QuerySet[Any]]
"""Function from a user to the objects that they may see."""


def people_api(name: str, visible_to: VisibleTo, before: str) -> list[URLPattern]:
    """Return the URLs of an object's collaborators.

    Args:
        name: prefix of the URL names, such as "api-model".
        before: the object's route, such as "models/<slug:slug>/".
    """
    options: dict[str, Any] = {"base_name": name, "visible_to": visible_to}
    return [
        path(f"{before}people/", People.as_view(**options), name=f"{name}-people"),
        path(f"{before}people/<user:username>/", Person.as_view(**options), name=f"{name}-person"),
    ]


class FormerNoteBody(Body):
    """Base body for changes to an object with a current or former public address."""

    former_address_note = serializers.CharField(
        max_length=NOTE,
        required=False,
        allow_blank=True,
        help_text="note shown at the public address that the object left or is about to leave",
    )


class DeletionQuery(Query):
    note = serializers.CharField(
        max_length=NOTE,
        default="",
        allow_blank=True,
        help_text="note shown at the address of what is deleted, if it was public",
    )


class PersonBody(Body):
    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(Role.choices)


class RoleBody(Body):
    role = serializers.ChoiceField(
        Offer.choices,
        help_text="owner: offers ownership to an editor; the object's secrets are deleted when the offer is accepted",
    )


class PersonSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Offer.choices)
    accepted = serializers.BooleanField(help_text="false: invited, without rights until accepted")


class SharedObjectView(ObjectView[Any]):
    permission_classes = [IsAuthenticated, TokenScope]
    base_name = ""
    visible_to: VisibleTo = None  # type: ignore[assignment]  # `people_api` sets it

    def visible_rows(self, address: str) -> QuerySet[Any]:
        return self.visible_to(self.request.user).filter(slug=address)


class People(SharedObjectView, ListView):
    @operation("List collaborators", response=PersonSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """List collaborators. Only the owner, collaborators and staff may read this list. The owner and staff
        also see open invitations."""
        obj = self.get_object()
        if not permissions.may_read(request.user, obj):
            noun = services.noun_of(obj)
            raise PermissionDenied(
                f"only owner and collaborators of the {noun}, and staff, may see this list"
            )
        people = list(obj.collaborations.select_related("user").order_by("user__username"))
        open_invitations = list(invited_to(obj)) if permissions.owns(request.user, obj) else []
        return self.page([*people, *open_invitations])

    @operation("Invite a collaborator", body=PersonBody, response=PersonSerializer, status=201)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Invite an account to edit or view the object. Only the owner of the object and staff may do this.
        Invitations give no rights until they are accepted."""
        obj = self.get_object()
        services.require_owner(request.user, obj)
        body = self.body()
        invitation = invitations.invite(obj, body["username"], body["role"], actor=request.user)
        return self.respond(invitation, f"{self.base_name}-person", slug, invitation.user.username)


class Person(SharedObjectView):
    @operation("Change a collaborator's role", body=RoleBody, response=PersonSerializer)
    def patch(self, request: SignedInApiRequest, slug: str, username: str) -> Response:
        """Set the role to edit or view, also for invitations. Only the owner of the object and staff may do this.
        `owner` offers the ownership to an editor; when they accept, the previous owner becomes an editor. Another role
        withdraws the offer."""
        obj = self.get_object()
        services.require_owner(request.user, obj)
        row = _person(obj, username)
        role = self.body()["role"]
        if role == Offer.OWNER and row.accepted:
            row = invitations.offer_ownership(obj, row, actor=request.user)
        elif row.accepted:
            services.set_role(obj, row, role, actor=request.user)
        else:
            invitations.change_offer(obj, row, role, actor=request.user)
        return self.respond(row)

    @operation("Remove a collaborator or withdraw an invitation", status=204)
    def delete(self, request: SignedInApiRequest, slug: str, username: str) -> Response:
        """Remove a collaborator. The owner and staff can remove anyone, others only themselves. Deleting your
        own invitation declines it."""
        obj = self.get_object()
        if username != request.user.username:
            services.require_owner(request.user, obj)
        row = _person(obj, username)
        if row.accepted:
            services.remove_collaborator(obj, row, actor=request.user)
        elif row.user == request.user:
            invitations.decline(row, actor=request.user)
        else:
            invitations.withdraw(obj, row, actor=request.user)
        return Response(status=204)


def _person(obj: Any, username: str) -> Any:
    """Return an account's collaboration or open invitation."""
    row = obj.collaborations.select_related("user").filter(user__username=username).first()
    return row or get_or_404(invited_to(obj), invited__username=username)


# --- invitations to you ---


class InvitationSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.CharField(source="noun", help_text="kind of object: suite, corpus, model …")
    title = serializers.CharField(source="thing")
    role = serializers.ChoiceField(Offer.choices)
    invited_by = serializers.CharField(source="inviter.username")
    created = serializers.DateTimeField()


class AcceptedSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    slug = serializers.CharField(help_text="slug of the object")
    title = serializers.CharField()
    role = serializers.ChoiceField(Offer.choices)


class InvitationList(ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("List invitations to you", response=InvitationSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List open invitations to you, newest first. They give no rights until you accept them."""
        return self.page(invitations_of(request.user))


class InvitationAccept(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Accept an invitation", response=AcceptedSerializer)
    def post(self, request: SignedInApiRequest, pk: int) -> Response:
        """Accept the invitation. 404 if it was withdrawn or declined; 409 if the owner of the object has changed or the
        inviter may no longer share it."""
        row = _mine(request, pk)
        obj = invitations.accept(row, actor=request.user)
        data = {"kind": row.noun, "slug": obj.slug, "title": str(obj), "role": row.role}
        return self.respond(data)


class InvitationDetail(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Decline an invitation", status=204)
    def delete(self, request: SignedInApiRequest, pk: int) -> Response:
        """Decline the invitation. You cannot be invited to the same object again for a day."""
        invitations.decline(_mine(request, pk), actor=request.user)
        return Response(status=204)


def _mine(request: SignedInApiRequest, pk: int) -> Invitation:
    return get_or_404(Invitation.objects.filter(invited=request.user, declined=None), pk=pk)


urlpatterns = [
    path("invitations/", InvitationList.as_view(), name="api-invitations"),
    path("invitations/<int:pk>/", InvitationDetail.as_view(), name="api-invitation"),
    path("invitations/<int:pk>/accept/", InvitationAccept.as_view(), name="api-invitation-accept"),
]
