"""A revision of a suite as a file: its own formats, and those of other programs."""

from __future__ import annotations

from django.http import Http404
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from gym.api.base import AddressDecides, ApiView
from gym.api.operations import BINARY, TEXT, operation
from gym.runs.pages.export_views import suite_file
from suites.api.views import revision_of, suite_of
from suites.views import DOWNLOADS, export_text

OTHER_PROGRAMS = {"blimp": "blimp.jsonl", "lm-eval": "lm-eval.zip", "bib": "bib"}


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
