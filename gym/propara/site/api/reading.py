"""What is kept of a submission in the REST API: report, processes, files."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import AddressDecides, ApiView, ListView, renderers
from gym.api.formats import CSV, NDJSON, CsvRenderer, NdjsonRenderer, Table, is_table
from gym.api.operations import BINARY, TEXT, operation
from gym.api.requests import Query
from gym.propara.site import exports
from gym.propara.site.api.serializers import ProParaProcessSerializer, process_detail, report_of
from gym.propara.site.api.submissions import OBJECT, scored, seen
from gym.propara.site.process_views import process_of


class Report(ApiView):
    @operation("Read a report", answers=OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """Everything that is kept of it: both metrics, intervals, warnings, mistakes, samples, history, provenance."""
        return Response(report_of(scored(request, key)))


class ProParaTable(Query):
    format = serializers.ChoiceField(
        ["json", "csv", "ndjson"], required=False, help_text="default: as Accept says"
    )


class Processes(ListView):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation(
        "List scores by process",
        query=ProParaTable,
        answers=ProParaProcessSerializer,
        many=True,
        media={CSV: TEXT, NDJSON: TEXT},
    )
    def get(self, request: Request, key: str) -> Response:
        """In the order of the answers; CSV and NDJSON in one piece."""
        submission = scored(request, key)
        if is_table(request):
            return Response(Table(*exports.process_table(submission)))
        return self.page(submission.report["processes"], lambda rows: rows)


class Process(ApiView):
    @operation("Read one process", answers=OBJECT)
    def get(self, request: Request, key: str, process_id: int) -> Response:
        """Both grids, both summaries, each pair with its parts and the reason, what is missed and spurious."""
        return Response(process_detail(process_of(scored(request, key), process_id)))


class SubmissionFile(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Download a file of a submission",
        answers=OBJECT,
        media={
            "text/plain": TEXT,
            "text/tab-separated-values": TEXT,
            "text/csv": TEXT,
            "application/octet-stream": BINARY,
        },
    )
    def get(self, request: Request, key: str, form: str) -> HttpResponse:
        """`form` is file (as it came), actions.tsv (as scored), json, processes.csv, and the reference's report.txt,
        metrics.json and diagnostics.txt."""
        response = exports.response_of(seen(request, key), form)
        if response is None:
            raise Http404
        return response
