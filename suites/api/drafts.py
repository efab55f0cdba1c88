"""API for drafts: document, cells, freezing, the linter."""

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
from lmgym.suites.formats import next_version
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
    """Return the ETag of a draft at a version (default: the current one). It includes the number of the
    revision, since a new draft starts with the version of the frozen revision."""
    return f'"r{draft.number}v{draft.edits if version is None else version}"'


def shown(draft: SuiteRevision) -> Response:
    return Response(drafts.card(draft), headers={"ETag": tag(draft)})


def check_draft(request: Request, suite: Suite, *, needed: bool = False) -> SuiteRevision | None:
    """Return the suite's draft, or None. Raises 412 if If-Match does not match, e.g. because the draft was
    frozen or discarded. Lock the suite first."""
    draft = suite.draft
    check_match(request, tag(draft) if draft else None, needed=needed)
    return draft


class Draft(SuiteView):
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [JSONParser, MultiPartParser]

    @operation("Read the draft", response=DraftSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the draft without its cells, for editors of the suite. 404 if there is no draft."""
        return shown(draft_of(self.get_for_change()))

    @operation("Open a draft", response=DraftSerializer, status=201)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Return the existing draft, or open a copy of the newest frozen revision."""
        suite = self.get_for_change()
        draft = services.open_draft(suite, actor=request.user)
        draft.suite = suite
        response = shown(draft)
        response.status_code = 201
        response["Location"] = reverse("api-draft", args=[slug], request=request)
        return response

    @operation(
        "Put a document into the draft",
        body={"application/json": DocumentBody, "multipart/form-data": DocumentFile},
        response=DraftSerializer,
        also=[412, 428],
    )
    def put(self, request: SignedInApiRequest, slug: str) -> Response:
        """Replace the draft, or open one; frozen revisions are kept. To replace an existing draft, send its
        ETag in If-Match. The suite keeps what the document does not mention: factors, names and descriptions
        of predictions, item data; and its name, metric and predictions if the document is a table. Empty values
        (`"factors": []`, `"data": {}`) remove them."""
        suite = self.get_for_change()
        body = self.body()
        document = document_in(body)
        with transaction.atomic():
            services.lock(suite)
            check_draft(request, suite, needed=True)
            newest = suite.revisions.order_by("-number").first()
            if newest is not None:
                document = next_version(document, document_of(newest))
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
        """Discard the draft; frozen revisions are kept. The only revision of a suite cannot be discarded: delete the
        suite instead."""
        suite = self.get_for_change()
        with transaction.atomic():
            services.lock(suite)
            check_draft(request, suite)
            services.discard_draft(suite, actor=request.user)
        return Response(status=204)


class DraftCells(SuiteView, ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read the draft's cells", response=SentenceSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """Return one row per sentence, in document order. Pages with the same `ETag` show the same state."""
        draft = draft_of(self.get_for_change())
        response = sentence_page(self, draft)
        response["ETag"] = tag(draft)
        return response

    @operation("Edit the draft", body=EditsBody, response=EditedSerializer, also=[409, 412])
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """Apply edits (docs/grid.md) made on `version`, if items, conditions and regions have not changed
        since. A cell is written if it still has its `old` text; otherwise, the response is 409 with both
        texts. With If-Match, nothing is applied unless the ETag matches. An edit whose `id` was applied
        before is skipped."""
        suite = self.get_for_change()
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
            detail = "Some edits were not applied; `conflicts` lists them with reasons."
            return ApiProblem(409, detail, "edit-conflict", headers=headers, more=more).response()
        return Response({"version": outcome.version}, headers=headers)


class Freeze(SuiteView):
    @operation("Freeze the draft", body=NoteBody, response=RevisionSerializer, status=201, also=[412])
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Turn the draft into an immutable revision with a sha256. Models run only on frozen revisions."""
        suite = self.get_for_change()
        body = self.body()
        with transaction.atomic():
            services.lock(suite)
            check_draft(request, suite)
            revision = services.freeze(suite, actor=request.user, note=body["note"])
        return self.respond(revision, "api-revision", slug, revision.number)


def findings(revision: SuiteRevision) -> dict[str, Any]:
    return {"revision": revision.number, "findings": findings_of(revision)}


class Lint(SuiteView):
    @operation("Read the linter's findings", response=LintSerializer, query=RevisionQuery)
    def get(self, request: Request, slug: str) -> Response:
        """Return the findings for one revision. Default: the draft, or the newest revision if there is no
        draft."""
        suite = self.get_object()
        newest = revisions_for(request.user, suite).order_by("-number").first()
        number = self.query.get("revision", newest.number if newest else 0)
        return Response(findings(self.revision_of(suite, number)))

    @operation("Dismiss a finding", body=IgnoreBody, response=LintSerializer)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Store the reason for dismissing a finding; an empty reason restores it."""
        suite = self.get_for_change()
        services.ignore_finding(suite, actor=request.user, **self.body())
        newest = get_or_404(suite.revisions.order_by("-number"))
        newest.suite = suite
        return Response(findings(newest))
