"""Who works on something: the same operations in every room. Rooms put `people_api(ROOM, …)` among their addresses."""

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
from gym.sharing import permissions, services
from gym.sharing.models import Role
from gym.sharing.rooms import Room


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
        [*Role.choices, ("owner", "owns it")], help_text="owner: hand it over; its secrets are forgotten"
    )


class PersonSerializer(serializers.Serializer):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField([*Role.values, "owner"])


class People(ListView):
    permission_classes = [IsAuthenticated, TokenScope]
    room: Room = None  # type: ignore[assignment]

    @operation("List collaborators", answers=PersonSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """For the people of the thing."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        if not permissions.may_read(request.user, thing):
            raise PermissionDenied(f"only the people of a {services.noun_of(thing)} know each other")
        people = thing.collaborations.select_related("user").order_by("user__username")
        return self.page(people, PersonSerializer)

    @operation("Add a collaborator", takes=PersonBody, answers=PersonSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """Let somebody edit or view it. For its owner."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        services.require_owner(request.user, thing)
        body = self.body()
        added = services.add_collaborator(thing, body["username"], body["role"], actor=request.user)
        place = reverse(f"{self.room.api}-person", args=[slug, added.user.username], request=request)
        return Response(PersonSerializer(added).data, status=201, headers={"Location": place})


class Person(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    room: Room = None  # type: ignore[assignment]

    @operation("Change what a collaborator may do", takes=RoleBody, answers=PersonSerializer)
    def patch(self, request: Request, slug: str, username: str) -> Response:
        """edit, view, or owner: that hands it over, and the owner of before may edit from then on."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        services.require_owner(request.user, thing)
        row = _person(thing, username)
        role = self.body()["role"]
        if role == "owner":
            services.hand_over(thing, row, actor=request.user)
            return Response({"username": username, "role": "owner"})
        services.set_role(thing, row, role, actor=request.user)
        return Response(PersonSerializer(row).data)

    @operation("Remove a collaborator", status=204)
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """The owner removes anybody, everybody themselves."""
        thing = get_or_404(self.room.visible_to(request.user), slug=slug)
        if username != request.user.username:
            services.require_owner(request.user, thing)
        services.remove_collaborator(thing, _person(thing, username), actor=request.user)
        return Response(status=204)


def _person(thing: Any, username: str) -> Any:
    return get_or_404(thing.collaborations.select_related("user"), user__username=username)
