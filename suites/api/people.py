"""Who works on a suite."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.api.base import ApiView, ListView, one
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from suites import permissions, sharing
from suites.api.sent import PersonBody, RoleBody
from suites.api.shown import PersonSerializer
from suites.api.views import suite_of
from suites.models import Suite, SuiteCollaborator

BOB = {"username": "bob", "role": "edit"}


class People(ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("List collaborators", answers=PersonSerializer, many=True, example=BOB)
    def get(self, request: Request, slug: str) -> Response:
        """For the people of the suite."""
        suite = suite_of(request, slug)
        if not permissions.can_see_people(request.user, suite):
            raise PermissionDenied("only the people of a suite know each other")
        people = suite.collaborations.select_related("user").order_by("user__username")
        return self.page(people, PersonSerializer)

    @operation(
        "Add a collaborator", takes=PersonBody, sends=BOB, answers=PersonSerializer, status=201, example=BOB
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let somebody edit or view the suite. For its owner."""
        suite = _shared(request, slug)
        given = self.given()
        added = sharing.add_collaborator(suite, given["username"], given["role"], actor=request.user)
        place = reverse("api-person", args=[slug, added.user.username], request=request)
        return Response(PersonSerializer(added).data, status=201, headers={"Location": place})


class Person(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation(
        "Change what a collaborator may do",
        takes=RoleBody,
        sends={"role": "view"},
        answers=PersonSerializer,
        example=BOB,
    )
    def patch(self, request: Request, slug: str, username: str) -> Response:
        """edit, view, or owner: that hands the suite over, and the owner of before may edit from then on."""
        suite = _shared(request, slug)
        row = _person(suite, username)
        role = self.given()["role"]
        if role == "owner":
            sharing.hand_over(row, actor=request.user)
            return Response({"username": username, "role": "owner"})
        sharing.set_role(row, role, actor=request.user)
        return Response(PersonSerializer(row).data)

    @operation("Remove a collaborator", status=204)
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """The owner removes anybody, everybody themselves."""
        suite = suite_of(request, slug)
        if username != request.user.username and not permissions.can_share(request.user, suite):
            raise PermissionDenied("only its owner decides who works on a suite")
        sharing.remove_collaborator(_person(suite, username), actor=request.user)
        return Response(status=204)


def _shared(request: Request, slug: str) -> Suite:
    suite = suite_of(request, slug)
    if not permissions.can_share(request.user, suite):
        raise PermissionDenied("only its owner decides who works on a suite")
    return suite


def _person(suite: Suite, username: str) -> SuiteCollaborator:
    row = one(suite.collaborations.select_related("user"), user__username=username)
    row.suite = suite
    return row
