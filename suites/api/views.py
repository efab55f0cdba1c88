"""Suites: list, create, read, change, delete, copy; tags. Their revisions: list, read, compare, errata."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Count, Prefetch, QuerySet
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ListView, ObjectView, get_or_404
from gym.api.errors import ApiProblem, FieldError, invalid
from gym.api.operations import operation
from gym.api.parsers import JSONParser
from gym.api.permissions import TokenScope
from gym.sharing.api import DeletionQuery
from lmgym.suites.diff import diff
from lmgym.suites.formats import SuiteDocument
from suites import permissions, services
from suites.api.request_bodies import ChangedCard, CopyBody, ErrataBody, NewSuite, NewSuiteFile, document_in
from suites.api.serializers import (
    DiffSerializer,
    RevisionDetailSerializer,
    RevisionSerializer,
    SentenceSerializer,
    SuiteDetailSerializer,
    SuiteSerializer,
    TagSerializer,
)
from suites.imports import identical_revision
from suites.models import Suite, SuiteRevision, Tag
from suites.options import SuiteOptions
from suites.presenters import document_for
from suites.selectors import SuiteFilter, listed_for, revisions_for, visible_to, with_shape

BODIES = {"application/json": NewSuite, "multipart/form-data": NewSuiteFile}


class SuiteView(ObjectView[Suite]):
    not_yours = "you may not edit this suite"

    def rows_at(self, address: str) -> QuerySet[Suite]:
        return visible_to(self.request.user).filter(slug=address).select_related("owner")

    def shown_at(self, address: str) -> QuerySet[Suite]:
        revisions = Prefetch("revisions", queryset=revisions_for(self.request.user))
        return with_shape(self.rows_at(address), self.request.user).prefetch_related(revisions)

    def may_change(self, suite: Suite) -> bool:
        return permissions.can_edit(self.request.user, suite)

    def revision_of(self, suite: Suite, number: int) -> SuiteRevision:
        """404 for a draft that is not for this person, as for one that is not there."""
        revision = get_or_404(revisions_for(self.request.user, suite), number=number)
        revision.suite = suite
        return revision


class SuiteList(SuiteView, ListView):
    filterset_class = SuiteFilter
    parser_classes = [JSONParser, MultiPartParser]

    @operation("List suites", answers=SuiteSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Suites that are listed for you: public ones, your own, and those you work on."""
        suites = with_shape(listed_for(request.user), request.user).select_related("owner")
        return self.page(suites.prefetch_related("collaborations"))

    @operation("Create a suite", takes=BODIES, answers=SuiteDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """A new suite of yours with a draft that holds the document. Any format of the import page will do: JSON as
        `document`, other files as `text` or as a multipart `file`; or a `template` to begin with. 409 names an
        identical suite in your lists in `suite` and `revision`; `again` creates a copy."""
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
        return self.again(suite, "api-suite")


def _refuse_identical(request: SignedInApiRequest, document: SuiteDocument) -> None:
    twin = identical_revision(document, request.user)
    if twin is not None:
        more = {"suite": twin.suite.slug, "revision": twin.number}
        text = f"An identical suite exists: {twin.suite.slug}, revision {twin.number}. "
        text += "Set `again: true` to create a copy."
        raise ApiProblem(409, text, "there", more=more)


class SuiteDetail(SuiteView):
    @operation("Read a suite", answers=SuiteDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The card of a suite and its revisions."""
        return self.read()

    @operation("Change a suite's card", takes=ChangedCard, answers=SuiteDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Only the fields sent are changed. Making a suite unlisted, or no longer so, changes its address."""
        return self.change(services.edit_card)

    @operation("Delete a suite", status=204, query=DeletionQuery)
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """A suite that models were run on stays, because results point to it."""
        services.delete_suite(self.get_object(), actor=request.user, note=self.query["note"])
        return Response(status=204)


class SuiteCopy(SuiteView):
    @operation("Copy a suite", takes=CopyBody, answers=SuiteDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """A suite of your own that begins as a copy of a revision."""
        suite = self.get_object()
        body = self.body()
        if "revision" in body:
            revision = self.revision_of(suite, body["revision"])
        else:
            found = suite.latest_frozen or suite.draft
            if found is None:
                raise invalid(FieldError("$.revision", "This suite has no revision to copy."))
            revision, revision.suite = found, suite
        copy = services.copy_suite(
            revision, actor=request.user, title=body["title"], visibility=body["visibility"]
        )
        return self.again(copy, "api-suite")


class SuiteAddress(SuiteView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Give an unlisted suite a new address", answers=SuiteDetailSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """Its runs get new ids, too. The old address stops working, and the old ids for everybody but its people."""
        return self.act(services.new_secret_address, "api-suite")


class TagList(ListView):
    @operation("List tags", answers=TagSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Tags of the suites that are listed for you."""
        tags = Tag.objects.filter(suites__in=listed_for(request.user))
        return self.page(tags.annotate(n=Count("suites", distinct=True)).order_by("name"))


# ---- revisions ----


def detailed(request: Request, suite: Suite, number: int) -> SuiteRevision:
    rows = revisions_for(request.user, suite).select_related("suite")
    return get_or_404(rows.annotate(n_sentences=Count("sentences")), number=number)


class RevisionList(SuiteView, ListView):
    @operation("List revisions", answers=RevisionSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """Newest first."""
        revisions = revisions_for(request.user, self.get_object())
        return self.page(revisions.order_by("-number"))


class Revision(SuiteView):
    @operation("Read a revision", answers=RevisionDetailSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """What a revision is made of, less its sentences."""
        suite = self.get_object()
        return self.answer(detailed(request, suite, number))

    @operation("Say what is wrong with a revision", takes=ErrataBody, answers=RevisionDetailSerializer)
    def patch(self, request: SignedInApiRequest, slug: str, number: int) -> Response:
        """Readers see it with the revision, whose sentences stay as they are."""
        suite = self.changeable()
        services.set_errata(self.revision_of(suite, number), self.body()["errata"], actor=request.user)
        return self.answer(detailed(request, suite, number))


def sentence_page(view: ListView, revision: SuiteRevision) -> Response:
    """As SentenceSerializer has them, in a fifth of the time: the sheet waits for them."""
    names = ("item", "condition", "contents")

    def rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: row[name] for name in names} for row in found]

    return view.page(revision.sentences.order_by("position").values("pk", "position", *names), rows)


class RevisionSentences(SuiteView, ListView):
    @operation("Read a revision's sentences", answers=SentenceSerializer, many=True)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """One row per item and condition, in the document's order."""
        return sentence_page(self, self.revision_of(self.get_object(), number))


class Diff(SuiteView):
    @operation("Compare two revisions", answers=DiffSerializer)
    def get(self, request: Request, slug: str, a: int, b: int) -> Response:
        """What changed from revision `a` to revision `b`."""
        suite = self.get_object()
        revisions = [self.revision_of(suite, number) for number in (a, b)]
        old, new = (document_for(revision, request.user) for revision in revisions)
        return self.answer(diff(old, new, (revisions[0].join_policy, revisions[1].join_policy)))
