"""API operation that exports the results of many runs as one table."""

from __future__ import annotations

from django.http import Http404
from django.http.response import HttpResponseBase
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request

from gym.api.base import ApiView, FormatFromUrl
from gym.api.errors import ApiProblem, FieldError, not_there, problem_for
from gym.api.operations import FILE, operation
from gym.api.requests import Query
from gym.collections.services import listed_revisions, visible_collections
from gym.runs.api.query_parameters import names_of
from gym.runs.pages import export_views
from gym.runs.tables.registry import FRAMES, TooMuch


@problem_for(TooMuch)
def _too_much(error: TooMuch) -> ApiProblem:
    return ApiProblem(413, str(error), "too-large", [FieldError("?", str(error), error.hint)])


@problem_for(export_views.NoRuns)
def _no_runs(error: export_views.NoRuns) -> ApiProblem:
    return ApiProblem(404, str(error), "not-found")


MAX_REVISION = 2**31 - 1


class TableQuery(Query):
    run = serializers.SlugField(required=False, max_length=24, help_text="only this run")
    suite = serializers.CharField(required=False, help_text="only these suites: names joined by commas")
    r = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_REVISION, help_text="number of a revision of the suites"
    )
    model = serializers.CharField(required=False, help_text="only these models: names joined by commas")
    tag = serializers.CharField(required=False, max_length=60, help_text="only suites with this tag")
    collection = serializers.SlugField(
        required=False, max_length=80, help_text="only the revisions of this collection"
    )
    all = serializers.BooleanField(
        required=False, help_text="true: all runs; false: only the newest run of each model on each revision"
    )


class TableFile(ApiView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Export results of many runs",
        query=TableQuery,
        media={
            "text/csv": FILE,
            "application/vnd.apache.parquet": FILE,
        },
        also=[413],
    )
    def get(self, request: Request, what: str, form: str) -> HttpResponseBase:
        """Export a table. `what` is scores, predictions, outcomes, regions or tokens; `form` is csv or parquet. By
        default, the newest run of each model on each revision is exported, among the runs listed for you. 404 if no
        finished run matches or a named suite or model has none; 413 if a Parquet file would have too many rows. CSV has
        no limit."""
        if what not in FRAMES or form not in {"csv", "parquet"}:
            raise Http404
        query = {name: str(value) for name, value in self.query.items() if name not in ("all", "collection")}
        query |= {name: ",".join(names_of(self.query, name)) for name in ("suite", "model")}
        revisions = None
        if slug := self.query.get("collection"):
            collection = visible_collections(request.user).filter(slug=slug).first()
            if collection is None:
                raise not_there([("collection", slug)])
            revisions = listed_revisions(collection, request.user)
        every = self.query.get("all", False)
        return export_views.table_file(request.user, what, form, query, every=every, revisions=revisions)


urlpatterns = [path("exports/<slug:what>/<slug:form>/", TableFile.as_view(), name="api-table")]
