"""What is kept of a submission in the REST API: report, processes, files."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import AddressDecides, ApiView, ListView, renderers
from gym.api.formats import CSV, NDJSON, CsvRenderer, NdjsonRenderer, Table, is_table
from gym.api.operations import TEXT, operation
from gym.api.requests import Query
from gym.propara.site import exports
from gym.propara.site.api import examples
from gym.propara.site.api.shown import ProParaProcessSerializer, process_detail, report_of
from gym.propara.site.api.submissions import KEY, OBJECT, scored, seen
from gym.propara.site.process_views import process_of


class Report(ApiView):
    path_examples = KEY

    @operation("Read a report", answers=OBJECT, example=examples.REPORT)
    def get(self, request: Request, key: str) -> Response:
        """Everything that is kept of it: both metrics, intervals, warnings, mistakes, samples, history, provenance."""
        return Response(report_of(scored(request, key)))


class ProParaTable(Query):
    format = serializers.ChoiceField(
        ["json", "csv", "ndjson"], required=False, help_text="default: as Accept says"
    )


class Processes(ListView):
    path_examples = KEY
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation(
        "List scores by process",
        query=ProParaTable,
        answers=ProParaProcessSerializer,
        many=True,
        example=examples.PROCESS,
        media={CSV: (TEXT, "process,precision,recall,f1\n"), NDJSON: (TEXT, '{"process": 1, "f1": 0.91}\n')},
    )
    def get(self, request: Request, key: str) -> Response:
        """In the order of the answers; CSV and NDJSON in one piece."""
        submission = scored(request, key)
        if is_table(request):
            return Response(Table(*exports.process_table(submission)))
        return self.page(submission.report["processes"], lambda rows: rows)


class Process(ApiView):
    path_examples = {**KEY, "process_id": 1}

    @operation("Read one process", answers=OBJECT, example=examples.DETAIL)
    def get(self, request: Request, key: str, process_id: int) -> Response:
        """Both grids, both summaries, each pair with its parts and the reason, what is missed and spurious."""
        return Response(process_detail(process_of(scored(request, key), process_id)))


class SubmissionFile(ApiView):
    path_examples = {**KEY, "form": "report.txt"}
    content_negotiation_class = AddressDecides

    @operation(
        "Download a file of a submission",
        answers=OBJECT,
        example={"precision": 0.943, "recall": 0.879, "f1": 0.91},
        media={
            "text/plain": (TEXT, "=====\n"),
            "text/tab-separated-values": (TEXT, "1\t1\twater\tMOVE\ttap\tpot\n"),
            "text/csv": (TEXT, "process,precision\r\n"),
            "application/octet-stream": ({"type": "string", "format": "binary"}, ""),
        },
    )
    def get(self, request: Request, key: str, form: str) -> HttpResponse:
        """`form` is file (as it came), actions.tsv (as scored), json, processes.csv, and the reference's report.txt,
        metrics.json and diagnostics.txt."""
        response = exports.response_of(seen(request, key), form)
        if response is None:
            raise Http404
        return response
