"""The endpoint of the live preview; see docs/grid.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from gym.evaluations.compute import metric_of
from gym.evaluations.preview import PreviewFailed, Waiting, preview
from gym.jobs.errors import TooManyJobs
from gym.json_api import BadRequest, body_of, json_view
from models_registry.engine import ScoringPolicy
from models_registry.selectors import runnable_by
from suites.editing import EditError, clean_text
from suites.editor_views import editable
from suites.formats import (
    MAX_CONDITIONS,
    MAX_PREDICTIONS,
    MAX_REGIONS,
    PredictionDoc,
    SentenceDoc,
    SuiteDocument,
)

MAX_ROWS = 2_000


@json_view("POST")
def suite_preview(request: HttpRequest, slug: str) -> HttpResponseBase:
    """200 with bits and outcomes, 202 while they are being scored, 422 when the model cannot be used."""
    suite = editable(request, slug)
    body = body_of(request)
    revision = suite.draft or suite.latest_frozen
    metric = revision.metric if revision else "sum"
    document, items = _document(body, tuple(metric) if isinstance(metric, list) else metric)
    model = get_object_or_404(runnable_by(request.user), slug=_text(body.get("model")))
    policy = ScoringPolicy(join=revision.join_policy if revision else "space", metric=metric_of(document))
    try:
        answer = preview(suite.pk, document, items, model, policy, actor=request.user)
    except PreviewFailed as error:
        return JsonResponse({"message": str(error)}, status=422)
    except TooManyJobs as error:
        return JsonResponse({"message": str(error)}, status=429)
    if isinstance(answer, Waiting):
        return JsonResponse(asdict(answer), status=202)
    return JsonResponse(answer)


def _document(body: dict[str, Any], metric: Any) -> tuple[SuiteDocument, list[int]]:
    regions = _names(body, "regions", MAX_REGIONS)
    conditions = _names(body, "conditions", MAX_CONDITIONS)
    predictions = _names(body, "predictions", MAX_PREDICTIONS)
    rows = body.get("rows")
    if not isinstance(rows, list) or len(rows) > MAX_ROWS:
        raise BadRequest(f"“rows” must be a list of at most {MAX_ROWS:,} rows.")
    sentences = {(s.item, s.condition): s for s in (_sentence(row, conditions, len(regions)) for row in rows)}
    items = body.get("items", list(dict.fromkeys(item for item, _ in sentences)))
    if not isinstance(items, list) or len(items) > MAX_ROWS or not all(isinstance(i, int) for i in items):
        raise BadRequest("“items” must be a list of item numbers.")
    document = SuiteDocument(
        name="preview",
        metric=metric,
        meta={},
        region_names=tuple(regions),
        conditions=tuple(conditions),
        sentences=tuple(sentences.values()),
        predictions=tuple(PredictionDoc(formula) for formula in predictions),
    )
    return document, items


def _sentence(row: object, conditions: list[str], width: int) -> SentenceDoc:
    if not isinstance(row, dict):
        raise BadRequest("A row is written {item, condition, contents}.")
    item, condition, contents = row.get("item"), row.get("condition"), row.get("contents")
    if not isinstance(item, int) or condition not in conditions:
        raise BadRequest("A row names its item by number and one of the conditions.")
    if not isinstance(contents, list) or len(contents) != width:
        raise BadRequest(f"“contents” must have {width} texts, one per region.")
    try:
        return SentenceDoc(item, str(condition), tuple(clean_text(text) for text in contents))
    except EditError as error:
        raise BadRequest(error.message) from error


def _names(body: dict[str, Any], key: str, most: int) -> list[str]:
    value = body.get(key, [])
    if not isinstance(value, list) or len(value) > most or not all(isinstance(name, str) for name in value):
        raise BadRequest(f"“{key}” must be a list of at most {most} texts.")
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
