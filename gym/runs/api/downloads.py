"""The long tables, a revision of a suite as a file, and files for other programs, in the REST API."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request

from gym.api.base import AddressDecides, ApiView
from gym.api.errors import ApiProblem, FieldError, answers
from gym.api.operations import BINARY, TEXT, operation
from gym.api.requests import Query
from gym.runs.pages import export_views
from gym.runs.pages.export_views import suite_file
from gym.runs.tables.registry import FRAMES, TooMuch
from lmgym.suites.formats.files import FORMS, XLSX
from suites.api.views import SuiteView
from suites.views import export_text


@answers(TooMuch)
def _too_much(error: TooMuch) -> ApiProblem:
    return ApiProblem(413, str(error), "too-large", [FieldError("?", str(error), error.hint)])


MAX_REVISION = 2**31 - 1


class TableQuery(Query):
    run = serializers.SlugField(required=False, max_length=24, help_text="this run alone")
    suite = serializers.SlugField(required=False, max_length=80)
    r = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_REVISION, help_text="number of a revision of the suite"
    )
    model = serializers.SlugField(required=False, max_length=80)
    all = serializers.BooleanField(
        required=False, help_text="every run; else the newest one of each model on each revision"
    )


class TableFile(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Export results of many runs",
        query=TableQuery,
        media={
            "text/csv": TEXT,
            "application/vnd.apache.parquet": BINARY,
        },
        also=[413],
    )
    def get(self, request: Request, what: str, form: str) -> HttpResponseBase:
        """`what` is scores, predictions, outcomes, regions or tokens; `form` is csv or parquet. Without a choice of
        runs: all that are listed for you. 404 where no finished run fits, 413 for Parquet of too many rows; CSV has no
        limit."""
        if what not in FRAMES or form not in {"csv", "parquet"}:
            raise Http404
        query = {name: str(value) for name, value in self.query.items() if name != "all"}
        return export_views.table_file(request.user, what, form, query, every=self.query.get("all", False))


class EvaluatedFile(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Export a run as an evaluated suite",
        answers={
            "type": "object",
            "description": "the suite with metric_value in each region and meta.model",
        },
    )
    def get(self, request: Request, key: str) -> HttpResponse:
        """As syntaxgym-core writes it; 409 when the run does not hold what that takes."""
        return export_views.evaluated_file(export_views.finished_run(request.user, key), request.user)


OTHER_PROGRAMS = {"blimp": "blimp.jsonl", "lm-eval": "lm-eval.zip", "bib": "bib"}


class Export(SuiteView):
    content_negotiation_class = AddressDecides

    @operation(
        "Export a revision",
        answers={"type": "object", "description": "a suite in JSON"},
        media={
            "text/csv": TEXT,
            "text/tab-separated-values": TEXT,
            XLSX: BINARY,
            "application/jsonl": TEXT,
            "application/x-bibtex": TEXT,
            "application/zip": BINARY,
        },
    )
    def get(self, request: Request, slug: str, number: int, form: str) -> HttpResponseBase:
        """`form` is json (as imported), json-trimmed, json-early (the dialect of the first SyntaxGym), csv (long), tsv
        (wide), xlsx or csv-excel (wide, for Excel); of frozen revisions also blimp (minimal pairs, JSONL), lm-eval (a
        zipped task folder) and bib. It decides the media type. 409 where a format cannot say what the suite says."""
        revision = self.revision_of(self.get_object(), number)
        if form in FORMS:
            return export_text(revision, form, request.user)
        if form not in OTHER_PROGRAMS or not revision.is_frozen:
            raise Http404
        address = request.build_absolute_uri(revision.get_absolute_url())
        return suite_file(revision, OTHER_PROGRAMS[form], address, request.user)


urlpatterns = [
    path("exports/<slug:what>/<slug:form>/", TableFile.as_view(), name="api-table"),
    path("runs/<slug:key>/evaluated/", EvaluatedFile.as_view(), name="api-run-evaluated"),
]
