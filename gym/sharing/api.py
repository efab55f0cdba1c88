"""Collaborators of every kind of shareable thing (apps add `people_api(SHAREABLE, …)` to their URLs), and the
invitations that a user received."""

from __future__ import annotations

from typing import Any

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
from gym.sharing.shareable import Shareable


def people_api(shareable: Shareable, before: str) -> list[URLPattern]:
    """Two addresses below that of a thing, e.g. `before="suites/<slug:slug>/"`."""
    return [
        path(f"{before}people/", People.as_view(shareable=shareable), name=f"{shareable.api}-people"),
        path(
            f"{before}people/<user:username>/",
            Person.as_view(shareable=shareable),
            name=f"{shareable.api}-person",
        ),
    ]


class FormerNoteBody(Body):
    """Changes of a thing with an address."""

    former_address_note = serializers.CharField(
        max_length=NOTE,
        required=False,
        allow_blank=True,
        help_text="what everybody reads at the public address that this change leaves, or that was left before",
    )


class DeletionQuery(Query):
    note = serializers.CharField(
        max_length=NOTE,
        default="",
        allow_blank=True,
        help_text="what everybody reads at its address from now on, if it was public",
    )


class PersonBody(Body):
    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(Role.choices)


class RoleBody(Body):
    role = serializers.ChoiceField(
        Offer.choices,
        help_text="owner: offer it to an editor; when they accept, its secrets are forgotten",
    )


class PersonSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Offer.values)
    accepted = serializers.BooleanField(help_text="false: invited, and without any right until they accept")


class ThingView(ObjectView[Any]):
    permission_classes = [IsAuthenticated, TokenScope]
    shareable: Shareable = None  # type: ignore[assignment]

    def rows_at(self, address: str) -> QuerySet[Any]:
        return self.shareable.visible_to(self.request.user).filter(slug=address)


class People(ThingView, ListView):
    @operation("List collaborators", answers=PersonSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """For the people of the thing. Its owner also sees who is invited."""
        thing = self.get_object()
        if not permissions.may_read(request.user, thing):
            raise PermissionDenied(f"only the people of a {services.noun_of(thing)} know each other")
        people = list(thing.collaborations.select_related("user").order_by("user__username"))
        asked = list(invited_to(thing)) if permissions.owns(request.user, thing) else []
        return self.page([*people, *asked])

    @operation("Invite a collaborator", takes=PersonBody, answers=PersonSerializer, status=201)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Ask somebody to edit or view it. For its owner. They have no right until they accept."""
        thing = self.get_object()
        services.require_owner(request.user, thing)
        body = self.body()
        asked = invitations.invite(thing, body["username"], body["role"], actor=request.user)
        return self.answer(asked, f"{self.shareable.api}-person", slug, asked.user.username)


class Person(ThingView):
    @operation("Change what a collaborator may do", takes=RoleBody, answers=PersonSerializer)
    def patch(self, request: SignedInApiRequest, slug: str, username: str) -> Response:
        """edit or view, also of an invitation. owner offers it to an editor: it changes hands when they accept, and
        the owner of before may edit from then on. Another role takes that offer back."""
        thing = self.get_object()
        services.require_owner(request.user, thing)
        row = _person(thing, username)
        role = self.body()["role"]
        if role == Offer.OWNER and row.accepted:
            row = invitations.offer_ownership(thing, row, actor=request.user)
        elif row.accepted:
            services.set_role(thing, row, role, actor=request.user)
        else:
            invitations.change_offer(thing, row, role, actor=request.user)
        return self.answer(row)

    @operation("Remove a collaborator or withdraw an invitation", status=204)
    def delete(self, request: SignedInApiRequest, slug: str, username: str) -> Response:
        """The owner removes anybody, everybody themselves. Who is invited declines in this way."""
        thing = self.get_object()
        if username != request.user.username:
            services.require_owner(request.user, thing)
        row = _person(thing, username)
        if row.accepted:
            services.remove_collaborator(thing, row, actor=request.user)
        elif row.user == request.user:
            invitations.decline(row, actor=request.user)
        else:
            invitations.withdraw(thing, row, actor=request.user)
        return Response(status=204)


def _person(thing: Any, username: str) -> Any:
    """A collaborator, or somebody who is invited to be one."""
    row = thing.collaborations.select_related("user").filter(user__username=username).first()
    return row or get_or_404(invited_to(thing), invited__username=username)


# --- invitations to you ---


class InvitationSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.CharField(source="noun", help_text="of thing, e.g. suite, corpus, model")
    title = serializers.CharField(source="thing")
    role = serializers.ChoiceField(Offer.choices)
    invited_by = serializers.CharField(source="inviter.username")
    created = serializers.DateTimeField()


class AcceptedSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    slug = serializers.CharField(help_text="short name of the thing in addresses")
    title = serializers.CharField()
    role = serializers.ChoiceField(Offer.choices)


class InvitationList(ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("List invitations to you", answers=InvitationSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Open ones, newest first. They give no right until you accept."""
        return self.page(invitations_of(request.user))


class InvitationAccept(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Accept an invitation", answers=AcceptedSerializer)
    def post(self, request: SignedInApiRequest, pk: int) -> Response:
        """409 when it is no longer open: whoever sent it withdrew it or does not own the thing any more."""
        row = _mine(request, pk)
        thing = invitations.accept(row, actor=request.user)
        data = {"kind": row.noun, "slug": thing.slug, "title": str(thing), "role": row.role}
        return self.answer(data)


class InvitationDetail(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Decline an invitation", status=204)
    def delete(self, request: SignedInApiRequest, pk: int) -> Response:
        """The same person cannot ask you again about this thing for a day."""
        invitations.decline(_mine(request, pk), actor=request.user)
        return Response(status=204)


def _mine(request: SignedInApiRequest, pk: int) -> Invitation:
    return get_or_404(Invitation.objects.filter(invited=request.user, declined=None), pk=pk)


urlpatterns = [
    path("invitations/", InvitationList.as_view(), name="api-invitations"),
    path("invitations/<int:pk>/", InvitationDetail.as_view(), name="api-invitation"),
    path("invitations/<int:pk>/accept/", InvitationAccept.as_view(), name="api-invitation-accept"),
]
