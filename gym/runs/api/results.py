"""Results of a finished run: predictions, items, regions, tokens."""

from __future__ import annotations

from typing import Any

from django.db.models import prefetch_related_objects
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, ListView, get_or_404, renderers
from gym.api.errors import FieldError, invalid
from gym.api.formats import CSV, NDJSON, CsvRenderer, FormatQuery, NdjsonRenderer, Table, is_table
from gym.api.operations import FILE, operation
from gym.jobs.api import results_unavailable
from gym.runs.api.serializers import (
    ItemSerializer,
    PredictionRateSerializer,
    SentenceRegionsSerializer,
    SentenceTokensSerializer,
)
from gym.runs.models import SuiteRun
from gym.runs.read.presenters import FILTERS, filtered, in_order, item_orders, item_rows
from gym.runs.read.report import result_of, run_head
from gym.runs.read.selectors import rates_alone, run_at
from gym.runs.tables.registry import frame_for, rows_of
from lmgym.runs import report
from suites.selectors import document_of

TABLES = {CSV: FILE, NDJSON: FILE}
"""Media types of tables, which are not paginated."""


def finished_run(request: Request, key: str) -> SuiteRun:
    """Return the run; raise 409 until it has results."""
    run = get_or_404(run_at(request.user, key))
    if run.completed_at is None:
        raise results_unavailable("This run", run.job)
    return run


def _table(what: str, run: SuiteRun) -> Response:
    frame = frame_for(what, [run.revision])
    return Response(Table(frame.header, rows_of(frame, [run])))


class TableView(ListView):
    """List view with three formats, chosen by Accept or ?format=: pages of JSON, or the whole list as CSV or
    NDJSON."""

    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)


class Results(ApiView):
    @operation("Read all results of a run", response={"type": "object"})
    def get(self, request: Request, key: str) -> Response:
        """Return predictions, items, regions and tokens in one document."""
        run = finished_run(request, key)
        return Response(report.as_dict(document_of(run.revision), result_of(run), run_head(run)))


class Predictions(ListView):
    @operation("Read pass rates", response=PredictionRateSerializer, many=True)
    def get(self, request: Request, key: str) -> Response:
        """Return one row per prediction, with interval, chance level and margins."""
        run = finished_run(request, key)
        prefetch_related_objects([run], rates_alone())
        return self.page(run.rates())


class ItemsQuery(FormatQuery):
    only = serializers.ChoiceField(
        list(FILTERS),
        required=False,
        help_text="held: every prediction held; failed: all have a value and some failed; missing: some have no value; "
        "ties, close: some are ties, or too close to call",
    )
    sort = serializers.RegexField(
        r"^-?(item|p[1-9][0-9]{0,3})$",
        required=False,
        help_text="item, or p2 for the margin of the second prediction; a leading - reverses the order",
    )


class Items(TableView):
    @operation("Read results by item", response=ItemSerializer, many=True, query=ItemsQuery, media=TABLES)
    def get(self, request: Request, key: str) -> Response:
        """Return outcome and margin (bits) of each prediction for each item. Tables are not paginated and keep the
        suite's order."""
        run = finished_run(request, key)
        if is_table(request):
            if chosen := {"only", "sort"} & set(self.query):
                raise invalid(
                    *(
                        FieldError(f"?{name}", "Tables cannot be filtered or sorted.")
                        for name in sorted(chosen)
                    )
                )
            return _table("outcomes", run)
        results = list(run.prediction_results.select_related("prediction").order_by("position"))
        rows = item_rows(results, results[0].items if results else [])
        sort = self.query.get("sort", "")
        items, order = in_order(filtered(rows, self.query.get("only", "")), sort, item_orders(results, rows))
        if order != sort:
            raise invalid(FieldError("?sort", f"This run has no prediction {sort.removeprefix('-')[1:]}."))
        context = {"labels": [result.prediction.label for result in results]}
        return self.page(items, lambda page: ItemSerializer(page, many=True, context=context).data)


class Regions(TableView):
    @operation(
        "Read results by region",
        response=SentenceRegionsSerializer,
        many=True,
        query=FormatQuery,
        media=TABLES,
    )
    def get(self, request: Request, key: str) -> Response:
        """Return surprisals of the regions of each sentence, in bits. Empty for uploaded outcomes. With
        `tokens=needed`, regions that no prediction uses are `not_computed`."""
        run = finished_run(request, key)
        if is_table(request):
            return _table("regions", run)
        return _sentences(self, run, SentenceRegionsSerializer)


class Tokens(TableView):
    @operation(
        "Read results by token", response=SentenceTokensSerializer, many=True, query=FormatQuery, media=TABLES
    )
    def get(self, request: Request, key: str) -> Response:
        """Return surprisals of the tokens of each sentence, in bits, with their regions."""
        run = finished_run(request, key)
        if is_table(request):
            return _table("tokens", run)
        return _sentences(self, run, SentenceTokensSerializer)


def _sentences(view: TableView, run: SuiteRun, serializer: Any) -> Response:
    rows = run.sentence_scores.select_related("sentence").order_by("sentence__position")
    context = {"regions": run.revision.region_names}
    return view.page(rows, lambda page: serializer(page, many=True, context=context).data)
