"""Revisions of a suite: list, read, export, compare, errata."""

from __future__ import annotations

from dataclasses import asdict

from django.db.models import Count
from django.http import Http404, HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import AddressDecides, ApiView, ListView, one
from gym.api.operations import TEXT, operation
from suites import services
from suites.api import examples
from suites.api.sent import ErrataBody
from suites.api.shown import (
    DiffSerializer,
    RevisionDetailSerializer,
    RevisionSerializer,
    SentenceSerializer,
)
from suites.api.views import editable, revision_of, suite_of
from suites.diff import diff
from suites.models import SuiteRevision
from suites.selectors import document_of
from suites.views import DOWNLOADS, export_text


def detailed(suite_id: int, number: int) -> SuiteRevision:
    rows = SuiteRevision.objects.filter(suite=suite_id).select_related("suite")
    return one(rows.annotate(n_sentences=Count("sentences")), number=number)


class RevisionList(ListView):
    @operation("List revisions", answers=RevisionSerializer, many=True, example=examples.REVISION)
    def get(self, request: Request, slug: str) -> Response:
        """Newest first."""
        return self.page(suite_of(request, slug).revisions.order_by("-number"), RevisionSerializer)


class Revision(ApiView):
    @operation("Read a revision", answers=RevisionDetailSerializer, example=examples.REVISION_DETAIL)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """What a revision is made of, less its sentences."""
        suite = suite_of(request, slug)
        return Response(RevisionDetailSerializer(detailed(suite.pk, number)).data)

    @operation(
        "Say what is wrong with a revision",
        takes=ErrataBody,
        sends={"errata": "Item 12: the conditions are swapped."},
        answers=RevisionDetailSerializer,
        example=examples.REVISION_DETAIL,
    )
    def patch(self, request: Request, slug: str, number: int) -> Response:
        """Readers see it with the revision, whose sentences stay as they are."""
        suite = editable(request, slug)
        services.set_errata(revision_of(suite, number), self.given()["errata"], actor=request.user)
        return Response(RevisionDetailSerializer(detailed(suite.pk, number)).data)


class RevisionSentences(ListView):
    @operation(
        "Read a revision's sentences", answers=SentenceSerializer, many=True, example=examples.SENTENCE
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        """One row per item and condition, in the document's order."""
        revision = revision_of(suite_of(request, slug), number)
        return self.page(revision.sentences.order_by("position"), SentenceSerializer)


class Export(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Export a revision",
        answers={"type": "object", "description": "a suite in JSON"},
        example=examples.DOCUMENT,
        media={
            "text/csv": (TEXT, "item_number,condition_name,region_number,region_name,content\n"),
            "text/tab-separated-values": (TEXT, "item\tcondition\tSubject\tVerb\n"),
        },
    )
    def get(self, request: Request, slug: str, number: int, form: str) -> HttpResponse:
        """`form` is json (as imported), json-trimmed, json-early (the dialect of the first SyntaxGym), csv (long) or
        tsv (wide); it decides the media type."""
        if form not in DOWNLOADS:
            raise Http404
        revision = revision_of(suite_of(request, slug), number)
        return export_text(revision, form)


class Diff(ApiView):
    @operation("Compare two revisions", answers=DiffSerializer, example=examples.DIFF)
    def get(self, request: Request, slug: str, a: int, b: int) -> Response:
        """What changed from revision `a` to revision `b`."""
        suite = suite_of(request, slug)
        old, new = (document_of(revision_of(suite, number)) for number in (a, b))
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
