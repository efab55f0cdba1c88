"""Who works on something and who is invited to: the same operations in every room.

Rooms put `people_api(ROOM, …)` among their addresses."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.api.base import ApiView, ListView, get_or_404
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body
from gym.sharing import invitations, permissions, services
from gym.sharing.models import Offer, Role
from gym.sharing.rooms import Room
from gym.sharing.selectors import invited_to


def people_api(room: Room, before: str) -> list[URLPattern]:
    """Two addresses below that of a thing, e.g. `before="suites/<slug:slug>/"`."""
    return [
        path(f"{before}people/", People.as_view(room=room), name=f"{room.api}-people"),
        path(f"{before}people/<user:username>/", Person.as_view(room=room), name=f"{room.api}-person"),
    ]


class PersonBody(Body):
    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(Role.choices)


class RoleBody(Body):
    role = serializers.ChoiceField(
        Offer.choices,
        help_text="owner: offer it to an editor; when they accept, its secrets are forgotten",
    )


class PersonSerializer(serializers.Serializer):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Offer.values)
    accepted = serializers.BooleanField(help_text="false: invited, and without any right until they accept")


class People(ListView):
    permission_classes = [IsAuthenticated, TokenScope]
    room: Room = None  # type: ignore[assignment]

    @operation("List collaborators", answers=PersonSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """For the people of the thing. Its owner also sees who is invited."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        if not permissions.may_read(request.user, thing):
            raise PermissionDenied(f"only the people of a {services.noun_of(thing)} know each other")
        people = list(thing.collaborations.select_related("user").order_by("user__username"))
        asked = list(invited_to(thing)) if permissions.owns(request.user, thing) else []
        return self.page([*people, *asked], PersonSerializer)

    @operation("Invite a collaborator", takes=PersonBody, answers=PersonSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """Ask somebody to edit or view it. For its owner. They have no right until they accept."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        services.require_owner(request.user, thing)
        body = self.body()
        asked = invitations.invite(thing, body["username"], body["role"], actor=request.user)
        place = reverse(f"{self.room.api}-person", args=[slug, asked.user.username], request=request)
        return Response(PersonSerializer(asked).data, status=201, headers={"Location": place})


class Person(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    room: Room = None  # type: ignore[assignment]

    @operation("Change what a collaborator may do", takes=RoleBody, answers=PersonSerializer)
    def patch(self, request: Request, slug: str, username: str) -> Response:
        """edit or view, also of an invitation. owner offers it to an editor: it changes hands when they accept, and
        the owner of before may edit from then on. Another role takes that offer back."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        services.require_owner(request.user, thing)
        row = _person(thing, username)
        role = self.body()["role"]
        if role == Offer.OWNER and row.accepted:
            row = invitations.offer_ownership(thing, row, actor=request.user)
        elif row.accepted:
            services.set_role(thing, row, role, actor=request.user)
        else:
            invitations.change_offer(thing, row, role, actor=request.user)
        return Response(PersonSerializer(row).data)

    @operation("Remove a collaborator or withdraw an invitation", status=204)
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """The owner removes anybody, everybody themselves."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        if username != request.user.username:
            services.require_owner(request.user, thing)
        row = _person(thing, username)
        if row.accepted:
            services.remove_collaborator(thing, row, actor=request.user)
        else:
            invitations.withdraw(thing, row, actor=request.user)
        return Response(status=204)


def _person(thing: Any, username: str) -> Any:
    """A collaborator, or somebody who is invited to be one."""
    row = thing.collaborations.select_related("user").filter(user__username=username).first()
    return row or get_or_404(invited_to(thing), invited__username=username)
