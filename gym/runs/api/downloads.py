"""Exports of revisions and evaluated suites as files."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from rest_framework.request import Request

from gym.api.base import ApiView, FormatFromUrl
from gym.api.operations import FILE, JSON, operation
from gym.runs.pages import export_views
from gym.runs.pages.export_views import suite_file
from lmgym.suites.formats.files import FORMS, XLSX
from suites.api.views import SuiteView
from suites.views import export_text


class EvaluatedFile(ApiView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Export a run as an evaluated suite",
        response={
            "type": "object",
            "description": "the suite with metric_value in each region and meta.model",
        },
    )
    def get(self, request: Request, key: str) -> HttpResponse:
        """Return the run in the format of syntaxgym-core. 409 if the run lacks region values."""
        return export_views.evaluated_file(export_views.finished_run(request.user, key), request.user)


OTHER_PROGRAMS = {
    "blimp": "blimp.jsonl",
    "lm-eval": "lm-eval.zip",
    "inspect-ai": "inspect-ai.zip",
    "bib": "bib",
}


class Export(SuiteView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Export a revision",
        media={
            "text/csv": FILE,
            "text/tab-separated-values": FILE,
            XLSX: FILE,
            "application/jsonl": FILE,
            "application/x-bibtex": FILE,
            "application/zip": FILE,
            JSON: {"type": "object"},
        },
    )
    def get(self, request: Request, slug: str, number: int, form: str) -> HttpResponseBase:
        """Download the suite. `form` is json (as imported), json-trimmed, json-early (the dialect of the first
        SyntaxGym), csv (long), tsv (wide), xlsx or csv-excel (wide, for Excel); for frozen revisions also blimp
        (minimal pairs, JSONL), lm-eval and inspect-ai (zipped folders of tasks for lm-evaluation-harness and
        inspect_ai) and bib. 409 if the format cannot express the suite."""
        revision = self.revision_of(self.get_object(), number)
        if form in FORMS:
            return export_text(revision, form, request.user)
        if form not in OTHER_PROGRAMS or not revision.is_frozen:
            raise Http404
        address = request.build_absolute_uri(revision.get_absolute_url())
        return suite_file(revision, OTHER_PROGRAMS[form], address, request.user)


urlpatterns = [
    path("runs/<slug:key>/evaluated/", EvaluatedFile.as_view(), name="api-run-evaluated"),
]
