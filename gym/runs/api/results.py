"""Results of a finished run, from aggregates down to tokens."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, prefetch_related_objects
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, ListView, get_or_404, renderers
from gym.api.errors import FieldError, invalid
from gym.api.formats import CSV, NDJSON, CsvRenderer, FormatQuery, NdjsonRenderer, Table, is_table
from gym.api.operations import TEXT, operation
from gym.jobs.api import no_results
from gym.runs.api.serializers import (
    ItemSerializer,
    PredictionResultSerializer,
    SentenceRegionsSerializer,
    SentenceTokensSerializer,
)
from gym.runs.models import PredictionResult, SuiteRun
from gym.runs.read.presenters import FILTERS, filtered, in_order, item_orders, item_rows
from gym.runs.read.report import result_of, run_head
from gym.runs.read.selectors import run_at
from gym.runs.tables.registry import frame_for, rows_of
from lmgym.runs import report
from suites.selectors import document_of

TABLES = {CSV: TEXT, NDJSON: TEXT}
"""The same as CSV and NDJSON, in one piece."""


def done(request: Request, key: str) -> SuiteRun:
    """409 until there are results."""
    run = get_or_404(run_at(request.user, key))
    if run.completed_at is None:
        raise no_results("This run", run.job)
    return run


def _table(what: str, run: SuiteRun) -> Response:
    frame = frame_for(what, [run.revision])
    return Response(Table(frame.header, rows_of(frame, [run])))


class TableView(ListView):
    """JSON in pages, or a whole table as CSV or NDJSON, by Accept or ?format=."""

    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)


class Results(ApiView):
    @operation("Read everything a run found", answers={"type": "object"})
    def get(self, request: Request, key: str) -> Response:
        """Predictions, items, regions and tokens in one document: what the page offers for download."""
        run = done(request, key)
        return Response(report.as_dict(document_of(run.revision), result_of(run), run_head(run)))


class Predictions(ListView):
    @operation("Read pass rates", answers=PredictionResultSerializer, many=True)
    def get(self, request: Request, key: str) -> Response:
        """One row per prediction, with its interval and chance level."""
        run = done(request, key)
        rows = run.prediction_results.defer(*PredictionResult.PER_ITEM).select_related("prediction")
        prefetch_related_objects([run], Prefetch("prediction_results", queryset=rows))
        return self.page(run.tested_predictions(), PredictionResultSerializer)


class ItemsQuery(FormatQuery):
    only = serializers.ChoiceField(list(FILTERS), required=False, help_text="items with such an outcome")
    sort = serializers.RegexField(
        r"^-?(item|p[1-9][0-9]{0,3})$",
        required=False,
        help_text="item, or p2 by the margin of the second prediction; - in front turns it round",
    )


class Items(TableView):
    @operation("Read results by item", answers=ItemSerializer, many=True, query=ItemsQuery, media=TABLES)
    def get(self, request: Request, key: str) -> Response:
        """Whether each prediction held for each item, and by how many bits. Tables come whole, in the suite's order."""
        run = done(request, key)
        if is_table(request):
            if chosen := {"only", "sort"} & set(self.query):
                raise invalid(*(FieldError(f"?{name}", "Tables come whole.") for name in sorted(chosen)))
            return _table("outcomes", run)
        results = list(run.prediction_results.select_related("prediction").order_by("position"))
        rows = item_rows(results, results[0].items if results else [])
        sort = self.query.get("sort", "")
        found, order = in_order(filtered(rows, self.query.get("only", "")), sort, item_orders(results, rows))
        if order != sort:
            raise invalid(FieldError("?sort", f"This run has no prediction {sort.removeprefix('-')[1:]}."))
        context = {"labels": [result.prediction.label for result in results]}
        return self.page(found, lambda page: ItemSerializer(page, many=True, context=context).data)


class Regions(TableView):
    @operation(
        "Read results by region",
        answers=SentenceRegionsSerializer,
        many=True,
        query=FormatQuery,
        media=TABLES,
    )
    def get(self, request: Request, key: str) -> Response:
        """Surprisals of the regions of each sentence, in bits. Empty for uploaded outcomes.

        Of a run with `tokens=needed`, regions that no prediction looks at are `not_computed`."""
        run = done(request, key)
        if is_table(request):
            return _table("regions", run)
        return _sentences(self, run, SentenceRegionsSerializer)


class Tokens(TableView):
    @operation(
        "Read results by token", answers=SentenceTokensSerializer, many=True, query=FormatQuery, media=TABLES
    )
    def get(self, request: Request, key: str) -> Response:
        """Surprisals of the tokens of each sentence, in bits, and the region each belongs to."""
        run = done(request, key)
        if is_table(request):
            return _table("tokens", run)
        return _sentences(self, run, SentenceTokensSerializer)


def _sentences(view: TableView, run: SuiteRun, shown: Any) -> Response:
    rows = run.sentence_scores.select_related("sentence").order_by("sentence__position")
    context = {"regions": run.revision.region_names}
    return view.page(rows, lambda page: shown(page, many=True, context=context).data)
