"""The draft of a suite: its document, its cells, freezing, the linter."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.api.base import ApiView, ListView, check_match, one
from gym.api.errors import Refusal
from gym.api.operations import operation
from gym.api.parsers import JSONParser
from gym.api.permissions import TokenScope
from suites import drafts, services
from suites.api import examples
from suites.api.sent import (
    DocumentBody,
    DocumentFile,
    EditsBody,
    IgnoreBody,
    NoteBody,
    RevisionQuery,
    document_in,
)
from suites.api.shown import (
    DraftSerializer,
    EditedSerializer,
    LintSerializer,
    RevisionSerializer,
    SentenceSerializer,
)
from suites.api.views import editable, revision_of, suite_of
from suites.formats import inherit
from suites.models import Suite, SuiteRevision
from suites.selectors import document_of, findings_of, revisions_for


def draft_of(suite: Suite) -> SuiteRevision:
    draft = one(suite.revisions.all(), state=SuiteRevision.State.DRAFT)
    draft.suite = suite
    return draft


def tag(draft: SuiteRevision) -> str:
    """The ETag of a draft: its version, which never comes back within a suite."""
    return f'"v{draft.edits}"'


def shown(draft: SuiteRevision) -> Response:
    page = drafts.page(draft, 0, 0)
    del page["rows"]
    page["suite"], page["revision"] = page["suite"]["slug"], page["suite"]["revision"]
    return Response(page, headers={"ETag": tag(draft)})


class Draft(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [JSONParser, MultiPartParser]

    @operation("Read the draft", answers=DraftSerializer, example=examples.DRAFT)
    def get(self, request: Request, slug: str) -> Response:
        """Everything but the cells, which come in pages. For the people who may edit; 404 when there is no draft."""
        return shown(draft_of(editable(request, slug)))

    @operation("Open a draft", answers=DraftSerializer, status=201, example=examples.DRAFT)
    def post(self, request: Request, slug: str) -> Response:
        """The draft there is, or a copy of the newest frozen revision."""
        suite = editable(request, slug)
        draft = services.open_draft(suite, actor=request.user)
        draft.suite = suite
        response = shown(draft)
        response.status_code = 201
        response["Location"] = reverse("api-draft", args=[slug], request=request)
        return response

    @operation(
        "Put a document into the draft",
        takes={"application/json": DocumentBody, "multipart/form-data": DocumentFile},
        sends={
            "application/json": {"document": examples.DOCUMENT},
            "multipart/form-data": {"file": "agreement.csv"},
        },
        answers=DraftSerializer,
        example=examples.DRAFT,
        also=[412, 428],
    )
    def put(self, request: Request, slug: str) -> Response:
        """Replaces the draft, or opens one; frozen revisions stay. Where there is a draft, If-Match must name its
        ETag. A table keeps the suite's name, metric and predictions, which tables cannot say."""
        suite = editable(request, slug)
        given = self.given()
        document = document_in(given)
        with transaction.atomic():
            services.lock(suite)
            if before := suite.draft:
                check_match(request, tag(before), needed=True)
            newest = suite.revisions.order_by("-number").first()
            if document.is_table and newest is not None:
                document = inherit(document, document_of(newest))
            draft = services.replace_draft(
                suite, document, actor=request.user, join_policy=given.get("join_policy")
            )
        draft.suite = suite
        return shown(draft)

    @operation("Discard the draft", status=204, also=[412])
    def delete(self, request: Request, slug: str) -> Response:
        """The frozen revisions stay. The only revision of a suite is not discarded: delete the suite instead."""
        suite = editable(request, slug)
        with transaction.atomic():
            services.lock(suite)
            if draft := suite.draft:
                check_match(request, tag(draft))
            services.discard_draft(suite, actor=request.user)
        return Response(status=204)


class DraftCells(ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read the draft's cells", answers=SentenceSerializer, many=True, example=examples.SENTENCE)
    def get(self, request: Request, slug: str) -> Response:
        """One row per sentence, in the document's order."""
        draft = draft_of(editable(request, slug))
        response = self.page(draft.sentences.order_by("position"), SentenceSerializer)
        return response

    @operation(
        "Edit the draft",
        takes=EditsBody,
        sends=examples.EDITS,
        answers=EditedSerializer,
        example={"version": 18},
        also=[409, 412],
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Edits as in docs/grid.md, made on `version`. What others did meanwhile stays, and what of yours does not
        fit any more is answered as 409 with both values. With If-Match nothing is done unless the draft is that
        very one. An edit whose `id` was done before is not done again."""
        suite = editable(request, slug)
        given = self.given()
        with transaction.atomic():
            services.lock(suite)
            if (draft := suite.draft) is not None:
                check_match(request, tag(draft))
            edits = [dict(edit) for edit in given["edits"]]
            outcome = drafts.apply_edits(suite, given["version"], edits, actor=request.user)
        headers = {"ETag": f'"v{outcome.version}"'}
        if outcome.conflicts:
            more = {
                "version": outcome.version,
                "applied": outcome.applied,
                "conflicts": outcome.conflicts,
            }
            detail = "Others changed the same places. Both values are in `conflicts`."
            return Refusal(409, detail, "edit-conflict", headers=headers, more=more).response()
        return Response({"version": outcome.version}, headers=headers)


class Freeze(ApiView):
    @operation(
        "Freeze the draft",
        takes=NoteBody,
        sends={"note": "first version"},
        answers=RevisionSerializer,
        status=201,
        example=examples.REVISION,
        also=[412],
    )
    def post(self, request: Request, slug: str) -> Response:
        """The draft becomes a revision that never changes, with its sha256; models run on such revisions alone."""
        suite = editable(request, slug)
        given = self.given()
        with transaction.atomic():
            services.lock(suite)
            if draft := suite.draft:
                check_match(request, tag(draft))
            revision = services.freeze(suite, actor=request.user, note=given["note"])
        place = reverse("api-revision", args=[slug, revision.number], request=request)
        return Response(RevisionSerializer(revision).data, status=201, headers={"Location": place})


def findings(revision: SuiteRevision) -> dict[str, Any]:
    return {"revision": revision.number, "findings": findings_of(revision)}


LINT = {"revision": 2, "findings": [examples.FINDING]}


class Lint(ApiView):
    @operation("Read what the linter finds", answers=LintSerializer, query=RevisionQuery, example=LINT)
    def get(self, request: Request, slug: str) -> Response:
        """Of the draft, else of the newest revision, else of the one asked for."""
        suite = suite_of(request, slug)
        newest = revisions_for(request.user, suite).order_by("-number").first()
        number = self.query.get("revision", newest.number if newest else 0)
        return Response(findings(revision_of(request, suite, number)))

    @operation(
        "Put a finding aside",
        takes=IgnoreBody,
        sends={"code": "few-items", "where": "suite", "reason": "a pilot"},
        answers=LintSerializer,
        example=LINT,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Keep the reason why a finding is accepted; an empty one takes it back."""
        suite = editable(request, slug)
        services.ignore_finding(suite, actor=request.user, **self.given())
        newest = one(suite.revisions.order_by("-number"))
        newest.suite = suite
        return Response(findings(newest))
