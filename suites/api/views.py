"""API for suites (list, create, read, change, delete) and their revisions (read, compare)."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Count, Prefetch, QuerySet
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ListView, ObjectView, get_or_404
from gym.api.errors import ApiProblem
from gym.api.operations import operation
from gym.api.parsers import JSONParser
from gym.sharing.api import DeletionQuery
from lmgym.suites.diff import diff
from lmgym.suites.formats import SuiteDocument
from suites import permissions, services
from suites.api.request_bodies import ChangedCard, NewSuite, NewSuiteFile, document_in
from suites.api.serializers import (
    DiffSerializer,
    RevisionDetailSerializer,
    SuiteDetailSerializer,
    SuiteSerializer,
)
from suites.imports import identical_revision
from suites.models import Suite, SuiteRevision
from suites.options import SuiteOptions
from suites.presenters import document_for
from suites.selectors import SuiteFilter, listed_for, revisions_for, visible_to, with_shape

BODIES = {"application/json": NewSuite, "multipart/form-data": NewSuiteFile}


class SuiteView(ObjectView[Suite]):
    denied_message = "you may not edit this suite"

    def visible_rows(self, address: str) -> QuerySet[Suite]:
        return visible_to(self.request.user).filter(slug=address).select_related("owner")

    def detail_rows(self, address: str) -> QuerySet[Suite]:
        revisions = Prefetch("revisions", queryset=revisions_for(self.request.user))
        return with_shape(self.visible_rows(address), self.request.user).prefetch_related(revisions)

    def can_change(self, suite: Suite) -> bool:
        return permissions.can_edit(self.request.user, suite)

    def revision_of(self, suite: Suite, number: int) -> SuiteRevision:
        """Return the revision; 404 also for a draft that the user may not see."""
        revision = get_or_404(revisions_for(self.request.user, suite), number=number)
        revision.suite = suite
        return revision


class SuiteList(SuiteView, ListView):
    filterset_class = SuiteFilter
    parser_classes = [JSONParser, MultiPartParser]

    @operation("List suites", response=SuiteSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List public suites, your own, and suites shared with you; for staff also private ones."""
        suites = with_shape(listed_for(request.user), request.user).select_related("owner")
        return self.page(suites.prefetch_related("collaborations"))

    @operation("Create a suite", body=BODIES, response=SuiteDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Create a suite with a draft of the document: JSON as `document`, a file of any supported format as `text` or
        as a multipart `file`, or a `template`. 409 if an identical suite is listed for you, named in `suite` and
        `revision`; `again` creates a copy."""
        body = self.body()
        document = document_in(body)
        if not body["again"] and any(name in body for name in ("document", "text", "file")):
            _refuse_identical(request, document)
        names = (*services.CARD[1:], "slug", "without_modifier")
        card = {name: body[name] for name in names if name in body}
        with transaction.atomic():
            suite = services.import_suite(document, SuiteOptions.of(body), actor=request.user)
            if card:
                services.edit_card(suite, actor=request.user, **card)
        return self.refreshed(suite, "api-suite")


def _refuse_identical(request: SignedInApiRequest, document: SuiteDocument) -> None:
    identical = identical_revision(document, request.user)
    if identical is not None:
        more = {"suite": identical.suite.slug, "revision": identical.number}
        detail = (
            f"An identical suite exists: “{identical.suite.slug}”, revision {identical.number}. "
            "Set `again: true` to create a copy."
        )
        raise ApiProblem(409, detail, "exists", more=more)


class SuiteDetail(SuiteView):
    @operation("Read a suite", response=SuiteDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the suite's card and its revisions."""
        return self.read()

    @operation("Change a suite's card", body=ChangedCard, response=SuiteDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Change only the fields that are sent. Changing to or from unlisted changes the suite's address."""
        return self.change(services.edit_card)

    @operation("Delete a suite", status=204, query=DeletionQuery)
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """Delete the suite. Only its owner and staff may do this. A suite that has runs or is in a collection cannot be
        deleted."""
        services.delete_suite(self.get_object(), actor=request.user, note=self.query["note"])
        return Response(status=204)


# ---- revisions ----


def detailed(request: Request, suite: Suite, number: int) -> SuiteRevision:
    rows = revisions_for(request.user, suite).select_related("suite")
    return get_or_404(rows.annotate(n_sentences=Count("sentences")), number=number)


class Revision(SuiteView):
    @operation("Read a revision", response=RevisionDetailSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return a revision without its sentences, which the export contains."""
        suite = self.get_object()
        return self.respond(detailed(request, suite, number))


def sentence_page(view: ListView, revision: SuiteRevision) -> Response:
    """Return a page of sentences in the format of SentenceSerializer, but serialised five times as fast: the
    editor waits for it."""
    names = ("item", "condition", "contents")

    def serialize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: row[name] for name in names} for row in rows]

    return view.page(revision.sentences.order_by("position").values("pk", "position", *names), serialize)


class Diff(SuiteView):
    @operation("Compare two revisions", response=DiffSerializer)
    def get(self, request: Request, slug: str, a: int, b: int) -> Response:
        """Return the changes from revision `a` to revision `b`."""
        suite = self.get_object()
        revisions = [self.revision_of(suite, number) for number in (a, b)]
        old, new = (document_for(revision, request.user) for revision in revisions)
        return self.respond(diff(old, new, (revisions[0].join_policy, revisions[1].join_policy)))
