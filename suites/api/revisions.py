"""Revisions of a suite: list, read, export, compare, errata."""

from __future__ import annotations

from dataclasses import asdict

from django.db.models import Count
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, ListView, get_or_404
from gym.api.operations import operation
from suites import services
from suites.api.request_bodies import ErrataBody
from suites.api.serializers import (
    DiffSerializer,
    RevisionDetailSerializer,
    RevisionSerializer,
    SentenceSerializer,
)
from suites.api.views import editable, revision_of, suite_of
from suites.diff import diff
from suites.models import Suite, SuiteRevision
from suites.presenters import document_for
from suites.selectors import revisions_for


def detailed(request: Request, suite: Suite, number: int) -> SuiteRevision:
    rows = revisions_for(request.user, suite).select_related("suite")
    return get_or_404(rows.annotate(n_sentences=Count("sentences")), number=number)


class RevisionList(ListView):
    @operation("List revisions", answers=RevisionSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """Newest first."""
        revisions = revisions_for(request.user, suite_of(request, slug))
        return self.page(revisions.order_by("-number"), RevisionSerializer)


class Revision(ApiView):
    @operation("Read a revision", answers=RevisionDetailSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """What a revision is made of, less its sentences."""
        suite = suite_of(request, slug)
        return Response(RevisionDetailSerializer(detailed(request, suite, number)).data)

    @operation("Say what is wrong with a revision", takes=ErrataBody, answers=RevisionDetailSerializer)
    def patch(self, request: Request, slug: str, number: int) -> Response:
        """Readers see it with the revision, whose sentences stay as they are."""
        suite = editable(request, slug)
        services.set_errata(revision_of(request, suite, number), self.body()["errata"], actor=request.user)
        return Response(RevisionDetailSerializer(detailed(request, suite, number)).data)


class RevisionSentences(ListView):
    @operation("Read a revision's sentences", answers=SentenceSerializer, many=True)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """One row per item and condition, in the document's order."""
        revision = revision_of(request, suite_of(request, slug), number)
        return self.page(revision.sentences.order_by("position"), SentenceSerializer)


class Diff(ApiView):
    @operation("Compare two revisions", answers=DiffSerializer)
    def get(self, request: Request, slug: str, a: int, b: int) -> Response:
        """What changed from revision `a` to revision `b`."""
        suite = suite_of(request, slug)
        old, new = (document_for(revision_of(request, suite, number), request.user) for number in (a, b))
        found = diff(old, new)
        data = asdict(found)
        data["predictions"] = [
            {"number": row.number, "kind": row.kind, "old": _said(row.old), "new": _said(row.new)}
            for row in found.predictions
        ]
        return Response(data)


def _said(prediction: object) -> dict[str, str] | None:
    if prediction is None:
        return None
    return {name: getattr(prediction, name) for name in ("name", "description", "formula")}
