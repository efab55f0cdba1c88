"""The draft of a suite: its document, its cells, freezing, the linter."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ListView, check_match, get_or_404
from gym.api.errors import ApiProblem
from gym.api.operations import operation
from gym.api.parsers import JSONParser
from gym.api.permissions import TokenScope
from lmgym.suites.formats import inherit
from suites import drafts, services
from suites.api.request_bodies import (
    DocumentBody,
    DocumentFile,
    EditsBody,
    IgnoreBody,
    NoteBody,
    RevisionQuery,
    document_in,
)
from suites.api.serializers import (
    DraftSerializer,
    EditedSerializer,
    LintSerializer,
    RevisionSerializer,
    SentenceSerializer,
)
from suites.api.views import SuiteView, sentence_page
from suites.models import Suite, SuiteRevision
from suites.selectors import document_of, findings_of, revisions_for


def draft_of(suite: Suite) -> SuiteRevision:
    draft = get_or_404(suite.revisions.all(), state=SuiteRevision.State.DRAFT)
    draft.suite = suite
    return draft


def tag(draft: SuiteRevision, version: int | None = None) -> str:
    """The ETag of a draft, at this version (default: its own). The number of the revision is in it because the draft
    that follows a frozen one begins with the version of the frozen one."""
    return f'"r{draft.number}v{draft.edits if version is None else version}"'


def shown(draft: SuiteRevision) -> Response:
    return Response(drafts.card(draft), headers={"ETag": tag(draft)})


def check_draft(request: Request, suite: Suite, *, needed: bool = False) -> SuiteRevision | None:
    """The suite's draft, if it is the one that If-Match names; a draft that was frozen or discarded is 412. Lock the
    suite first."""
    draft = suite.draft
    check_match(request, tag(draft) if draft else None, needed=needed)
    return draft


class Draft(SuiteView):
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [JSONParser, MultiPartParser]

    @operation("Read the draft", answers=DraftSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Everything but the cells, which come in pages. For the people who may edit; 404 when there is no draft."""
        return shown(draft_of(self.changeable()))

    @operation("Open a draft", answers=DraftSerializer, status=201)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """The draft there is, or a copy of the newest frozen revision."""
        suite = self.changeable()
        draft = services.open_draft(suite, actor=request.user)
        draft.suite = suite
        response = shown(draft)
        response.status_code = 201
        response["Location"] = reverse("api-draft", args=[slug], request=request)
        return response

    @operation(
        "Put a document into the draft",
        takes={"application/json": DocumentBody, "multipart/form-data": DocumentFile},
        answers=DraftSerializer,
        also=[412, 428],
    )
    def put(self, request: SignedInApiRequest, slug: str) -> Response:
        """Replaces the draft, or opens one; frozen revisions stay. Where there is a draft, If-Match must name its
        ETag. A table keeps the suite's name, metric and predictions, which tables cannot say."""
        suite = self.changeable()
        body = self.body()
        document = document_in(body)
        with transaction.atomic():
            services.lock(suite)
            check_draft(request, suite, needed=True)
            newest = suite.revisions.order_by("-number").first()
            if document.is_table and newest is not None:
                document = inherit(document, document_of(newest))
            draft = services.replace_draft(
                suite,
                document,
                actor=request.user,
                join_policy=body.get("join_policy"),
                metric=body.get("metric", ""),
            )
        draft.suite = suite
        return shown(draft)

    @operation("Discard the draft", status=204, also=[412])
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """The frozen revisions stay. The only revision of a suite is not discarded: delete the suite instead."""
        suite = self.changeable()
        with transaction.atomic():
            services.lock(suite)
            check_draft(request, suite)
            services.discard_draft(suite, actor=request.user)
        return Response(status=204)


class DraftCells(SuiteView, ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read the draft's cells", answers=SentenceSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """One row per sentence, in the document's order. Pages with the same `ETag`, the draft's, belong together."""
        draft = draft_of(self.changeable())
        response = sentence_page(self, draft)
        response["ETag"] = tag(draft)
        return response

    @operation("Edit the draft", takes=EditsBody, answers=EditedSerializer, also=[409, 412])
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """Edits as in docs/grid.md, made on `version`. They are done if items, conditions and regions have not changed
        since; a cell is written if it holds its `old` text, else it is answered as 409 with both texts. With If-Match
        nothing is done unless the draft is that very one. An edit whose `id` was done before is not done again."""
        suite = self.changeable()
        body = self.body()
        with transaction.atomic():
            services.lock(suite)
            draft = check_draft(request, suite)
            edits = [dict(edit) for edit in body["edits"]]
            outcome = drafts.apply_edits(suite, body["version"], edits, actor=request.user)
        headers = {"ETag": tag(draft, outcome.version)} if draft else {}
        if outcome.conflicts:
            more = {
                "version": outcome.version,
                "applied": outcome.applied,
                "conflicts": outcome.conflicts,
            }
            detail = "Some edits were not done: `conflicts` says which, and why."
            return ApiProblem(409, detail, "edit-conflict", headers=headers, more=more).response()
        return Response({"version": outcome.version}, headers=headers)


class Freeze(SuiteView):
    @operation("Freeze the draft", takes=NoteBody, answers=RevisionSerializer, status=201, also=[412])
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """The draft becomes a revision that never changes, with its sha256; models run on such revisions alone."""
        suite = self.changeable()
        body = self.body()
        with transaction.atomic():
            services.lock(suite)
            check_draft(request, suite)
            revision = services.freeze(suite, actor=request.user, note=body["note"])
        return self.answer(revision, "api-revision", slug, revision.number)


def findings(revision: SuiteRevision) -> dict[str, Any]:
    return {"revision": revision.number, "findings": findings_of(revision)}


class Lint(SuiteView):
    @operation("Read what the linter finds", answers=LintSerializer, query=RevisionQuery)
    def get(self, request: Request, slug: str) -> Response:
        """Of the draft, else of the newest revision, else of the one asked for."""
        suite = self.get_object()
        newest = revisions_for(request.user, suite).order_by("-number").first()
        number = self.query.get("revision", newest.number if newest else 0)
        return Response(findings(self.revision_of(suite, number)))

    @operation("Put a finding aside", takes=IgnoreBody, answers=LintSerializer)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Keep the reason why a finding is accepted; an empty one takes it back."""
        suite = self.changeable()
        services.ignore_finding(suite, actor=request.user, **self.body())
        newest = get_or_404(suite.revisions.order_by("-number"))
        newest.suite = suite
        return Response(findings(newest))
