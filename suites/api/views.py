"""Suites: list, create, read, change, delete, copy; tags."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Count, Prefetch
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.api.base import ApiView, ListView, get_or_404, locked
from gym.api.errors import FieldError, invalid
from gym.api.operations import operation
from gym.api.parsers import JSONParser
from gym.api.permissions import TokenScope
from gym.sharing.models import Visibility
from suites import permissions, services
from suites.api.request_bodies import CardBody, CopyBody, NewSuite, NewSuiteFile, document_in
from suites.api.serializers import SuiteDetailSerializer, SuiteSerializer, TagSerializer
from suites.filters import SuiteFilter
from suites.models import Suite, SuiteRevision, Tag
from suites.selectors import listed_for, revisions_for, visible_to, with_shape

BODIES = {"application/json": NewSuite, "multipart/form-data": NewSuiteFile}


def suite_of(request: Request, slug: str) -> Suite:
    """404 for what this person may not see."""
    return get_or_404(visible_to(request.user).select_related("owner"), slug=slug)


def editable(request: Request, slug: str) -> Suite:
    """404 for what this person may not see, 403 for what they may only read."""
    suite = suite_of(request, slug)
    permissions.require_edit(request.user, suite)
    return suite


def revision_of(request: Request, suite: Suite, number: int) -> SuiteRevision:
    """404 for a draft that is not for this person, as for one that is not there."""
    revision = get_or_404(revisions_for(request.user, suite), number=number)
    revision.suite = suite
    return revision


def detail(request: Request, suite: Suite) -> dict[str, Any]:
    row = with_shape(Suite.objects.filter(pk=suite.pk), request.user).select_related("owner")
    revisions = Prefetch("revisions", queryset=revisions_for(request.user))
    found = row.prefetch_related(revisions).get()
    return dict(SuiteDetailSerializer(found, context={"request": request}).data)


def created(request: Request, suite: Suite) -> Response:
    place = reverse("api-suite", args=[suite.slug], request=request)
    return Response(detail(request, suite), status=201, headers={"Location": place})


class SuiteList(ListView):
    filterset_class = SuiteFilter
    parser_classes = [JSONParser, MultiPartParser]

    @operation("List suites", answers=SuiteSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Suites that are listed for you: public ones, your own, and those you work on."""
        suites = with_shape(listed_for(request.user), request.user).select_related("owner")
        return self.page(suites.prefetch_related("collaborations"), SuiteSerializer)

    @operation("Create a suite", takes=BODIES, answers=SuiteDetailSerializer, status=201)
    def post(self, request: Request) -> Response:
        """A new suite of yours with a draft that holds the document. Any format of the import page will do: JSON as
        `document`, other files as `text` or as a multipart `file`; or a `template` to begin with."""
        body = self.body()
        document = document_in(body)
        names = (*services.CARD[1:], "without_modifier")
        card = {name: body[name] for name in names if name in body}
        with transaction.atomic():
            suite = services.import_suite(
                document,
                actor=request.user,
                title=body.get("title", ""),
                visibility=body.get("visibility", Visibility.PRIVATE),
                tags=body.get("tags", ()),
                join_policy=body.get("join_policy", "space"),
            )
            if card:
                services.edit_card(suite, actor=request.user, **card)
        return created(request, suite)


class SuiteDetail(ApiView):
    @operation("Read a suite", answers=SuiteDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The card of a suite and its revisions."""
        return Response(detail(request, suite_of(request, slug)))

    @operation("Change a suite's card", takes=CardBody, answers=SuiteDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Only the fields sent are changed. Making a suite unlisted, or no longer so, changes its address."""
        suite = editable(request, slug)
        body = self.body()
        with locked(suite):
            services.edit_card(suite, actor=request.user, **body)
        return Response(detail(request, suite))

    @operation("Delete a suite", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """A suite that models were run on stays, because results point to it."""
        services.delete_suite(suite_of(request, slug), actor=request.user)
        return Response(status=204)


class SuiteCopy(ApiView):
    @operation("Copy a suite", takes=CopyBody, answers=SuiteDetailSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """A suite of your own that begins as a copy of a revision."""
        suite = suite_of(request, slug)
        body = self.body()
        if "revision" in body:
            revision = revision_of(request, suite, body["revision"])
        else:
            found = suite.latest_frozen or suite.draft
            if found is None:
                raise invalid(FieldError("$.revision", "This suite has no revision to copy."))
            revision, revision.suite = found, suite
        copy = services.copy_suite(
            revision, actor=request.user, title=body["title"], visibility=body["visibility"]
        )
        return created(request, copy)


class SuiteAddress(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Give an unlisted suite a new address", answers=SuiteDetailSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """Its runs get new ids, too. The old address stops working, and the old ids for everybody but its people."""
        suite = editable(request, slug)
        services.new_secret_address(suite, actor=request.user)
        return created(request, suite)


class TagList(ListView):
    @operation("List tags", answers=TagSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Tags of the suites that are listed for you."""
        tags = Tag.objects.filter(suites__in=listed_for(request.user))
        return self.page(tags.annotate(n=Count("suites", distinct=True)).order_by("name"), TagSerializer)
