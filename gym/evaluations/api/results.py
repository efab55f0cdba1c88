"""Results of a finished run, from aggregates down to tokens; the leaderboard."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, ListView, one, renderers
from gym.api.formats import CSV, NDJSON, CsvRenderer, NdjsonRenderer, Table, is_table
from gym.api.operations import TEXT, operation
from gym.api.requests import Query
from gym.evaluations import report
from gym.evaluations.api import examples
from gym.evaluations.api.shown import (
    BoardRowSerializer,
    ItemSerializer,
    PredictionResultSerializer,
    SentenceRegionsSerializer,
    SentenceTokensSerializer,
)
from gym.evaluations.models import SuiteRun
from gym.evaluations.selectors import Matrix, matrix, visible_to
from models_registry.models import RegisteredModel
from suites.selectors import document_of


def done(request: Request, key: str) -> SuiteRun:
    """404 until there are results."""
    return one(visible_to(request.user).filter(completed_at__isnull=False), key=key)


def tables(header: tuple[str, ...]) -> dict[str, Any]:
    """The same as CSV and NDJSON, in one piece."""
    return {CSV: (TEXT, ",".join(header) + "\r\n"), NDJSON: (TEXT, '{"suite": "agreement_orc"}\n')}


class FormatQuery(Query):
    format = serializers.ChoiceField(
        ["json", "csv", "ndjson"], required=False, help_text="instead of Accept; tables come whole"
    )


class TableView(ListView):
    """JSON in pages, or a whole table as CSV or NDJSON, by Accept or ?format=."""

    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)


class Results(ApiView):
    @operation("Read everything a run found", answers={"type": "object"}, example=examples.ALL)
    def get(self, request: Request, key: str) -> Response:
        """Predictions, items, regions and tokens in one document: what the page offers for download."""
        run = done(request, key)
        return Response(
            report.as_dict(document_of(run.revision), report.result_of(run), report.run_head(run))
        )


class Predictions(ListView):
    @operation("Read pass rates", answers=PredictionResultSerializer, many=True, example=examples.PREDICTION)
    def get(self, request: Request, key: str) -> Response:
        """One row per prediction, with its interval and chance level."""
        rows = done(request, key).prediction_results.defer("items", "outcomes", "margins", "close")
        return self.page(rows.select_related("prediction").order_by("position"), PredictionResultSerializer)


class Items(TableView):
    @operation(
        "Read results by item",
        answers=ItemSerializer,
        many=True,
        query=FormatQuery,
        example=examples.ITEM,
        media=tables(report.OUTCOME_HEADER),
    )
    def get(self, request: Request, key: str) -> Response:
        """Whether each prediction held for each item, and by how many bits."""
        run = done(request, key)
        if is_table(request):
            rows = report.outcome_rows(report.result_of(run), run.revision.suite.slug, run.model.slug)
            return Response(Table(report.OUTCOME_HEADER, rows))
        results = list(run.prediction_results.select_related("prediction").order_by("position"))
        items = results[0].items if results else []
        places = list(enumerate(items))
        return self.page(places, lambda page: [_item(place, item, results) for place, item in page])


def _item(place: int, item: int, results: list[Any]) -> dict[str, Any]:
    return {
        "item": item,
        "outcomes": [
            {
                "prediction": row.prediction.label,
                "outcome": report.OUTCOME_NAMES[row.outcomes[place]],
                "margin": row.margins[place],
                "too_close": row.is_close(place),
            }
            for row in results
        ],
    }


class Regions(TableView):
    @operation(
        "Read results by region",
        answers=SentenceRegionsSerializer,
        many=True,
        query=FormatQuery,
        example=examples.REGIONS,
        media=tables(report.REGION_HEADER),
    )
    def get(self, request: Request, key: str) -> Response:
        """Surprisals of the regions of each sentence, in bits. Empty for uploaded outcomes.

        While the run is `filling`, values that no prediction looks at are `pending`: their bits follow."""
        run = done(request, key)
        if is_table(request):
            document, result = document_of(run.revision), report.result_of(run)
            rows = report.region_rows(document, result, run.revision.suite.slug, run.model.slug)
            return Response(Table(report.region_header(result), rows))
        return _sentences(self, run, SentenceRegionsSerializer)


class Tokens(TableView):
    @operation(
        "Read results by token",
        answers=SentenceTokensSerializer,
        many=True,
        query=FormatQuery,
        example=examples.TOKENS,
        media=tables(report.TOKEN_HEADER),
    )
    def get(self, request: Request, key: str) -> Response:
        """Surprisals of the tokens of each sentence, in bits, and the region each belongs to."""
        run = done(request, key)
        if is_table(request):
            result = report.result_of(run)
            rows = report.token_rows(result, run.revision.suite.slug, run.model.slug)
            return Response(Table(report.token_header(result), rows))
        return _sentences(self, run, SentenceTokensSerializer)


def _sentences(view: TableView, run: SuiteRun, shown: Any) -> Response:
    rows = run.sentence_scores.select_related("sentence").order_by("sentence__position")
    context = {"regions": run.revision.region_names}
    return view.page(rows, lambda page: shown(page, many=True, context=context).data)


class BoardQuery(Query):
    tag = serializers.CharField(required=False, max_length=60, help_text="only suites with this tag")


class Leaderboard(ListView):
    @operation(
        "Read the leaderboard",
        answers=BoardRowSerializer,
        many=True,
        query=BoardQuery,
        example=examples.BOARD,
    )
    def get(self, request: Request) -> Response:
        """Models, best mean first, on the newest frozen revisions of the suites that are listed for you."""
        table = matrix(request.user, self.query.get("tag", ""))
        known = {model.pk: table.mean_of_model(model) for model in table.models}
        models = sorted(table.models, key=lambda model: (known[model.pk] is None, -(known[model.pk] or 0.0)))
        return self.page(models, lambda page: [_row(table, model, known[model.pk]) for model in page])


def _row(table: Matrix, model: RegisteredModel, mean: float | None) -> dict[str, Any]:
    cells = [
        {
            "suite": suite.slug,
            "revision": table.revisions[suite.pk].number,
            "run": score.run.key,
            "rate": score.rate,
            "low": score.low,
            "high": score.high,
            "chance": score.chance,
            "n": score.n,
            "ties": score.ties,
            "not_evaluable": score.not_evaluable,
        }
        for suite in table.suites
        if (score := table.cells.get(suite.pk, {}).get(model.pk)) is not None
    ]
    return {
        "model": model.slug,
        "name": model.name,
        "mean": mean,
        "n_suites": sum(cell["rate"] is not None for cell in cells),
        "of_suites": len(table.suites),
        "cells": cells,
    }
