"""Revisions of a suite: list, read, export, compare, errata."""

from __future__ import annotations

from dataclasses import asdict

from django.db.models import Count
from django.http import Http404
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import AddressDecides, ApiView, ListView, get_or_404
from gym.api.operations import BINARY, TEXT, operation
from gym.runs.pages.export_views import suite_file
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
from suites.views import DOWNLOADS, export_text

OTHER_PROGRAMS = {"blimp": "blimp.jsonl", "lm-eval": "lm-eval.zip", "bib": "bib"}


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


class Export(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Export a revision",
        answers={"type": "object", "description": "a suite in JSON"},
        media={
            "text/csv": TEXT,
            "text/tab-separated-values": TEXT,
            "application/jsonl": TEXT,
            "application/x-bibtex": TEXT,
            "application/zip": BINARY,
        },
    )
    def get(self, request: Request, slug: str, number: int, form: str) -> HttpResponseBase:
        """`form` is json (as imported), json-trimmed, json-early (the dialect of the first SyntaxGym), csv (long) or
        tsv (wide); of frozen revisions also blimp (minimal pairs, JSONL), lm-eval (a zipped task folder) and bib. It
        decides the media type. 409 where a format cannot say what the suite says."""
        revision = revision_of(request, suite_of(request, slug), number)
        if form in DOWNLOADS:
            return export_text(revision, form, request.user)
        if form not in OTHER_PROGRAMS or not revision.is_frozen:
            raise Http404
        address = request.build_absolute_uri(revision.get_absolute_url())
        return suite_file(revision, OTHER_PROGRAMS[form], address, request.user)


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
