"""What every operation of the API has: a summary, what it takes and what it answers.

    class SuiteFreeze(ApiView):
        @operation("Freeze the draft", takes=Freeze, answers=RevisionSerializer, status=201)
        def post(self, request, slug): ...

It feeds the OpenAPI description, and it holds the method to it: unknown parameters are refused, `self.body()` is the
body as `takes` says, and a POST with an Idempotency-Key is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from gym.api.idempotency import answer_once
from gym.api.requests import read_query

JSON = "application/json"
TEXT = {"type": "string"}
BINARY = TEXT | {"format": "binary"}


@dataclass(frozen=True)
class Operation:
    """See `operation`. `status` is that of success; `also` are other statuses it may answer, errors included."""

    summary: str
    answers: Any = None
    status: int = 200
    takes: Any = None
    query: type[Serializer[Any]] | None = None
    also: Sequence[int] = ()
    media: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    waits: bool = False
    many: bool = False


def operation(
    summary: str,
    *,
    answers: Any = None,
    status: int = 200,
    takes: Any = None,
    query: type[Serializer[Any]] | None = None,
    also: Sequence[int] = (),
    media: Mapping[str, dict[str, Any]] | None = None,
    waits: bool = False,
    many: bool = False,
    description: str = "",
    name: str = "",
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Describe a method of an ApiView.

    answers   serializer class (or JSON schema) of the success; None = no body. many: a page of them
    takes     a `Body` class, or {media type: Body class}; query: a `Query` class for parameters beside filters
    also      statuses beside those that every operation may answer, e.g. [412, 428]; 202: not done; 200: it is there
              already, or there is nothing to do
    media     further media types of the success, {media type: TEXT, BINARY or another schema}
    waits     the method waits for a worker, so its work and its answer cannot be one transaction
    """
    known = Operation(summary, answers, status, takes, query, also, media or {}, waits, many)

    def describe(method: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(method)
        def answer(self: Any, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
            self.operation = known
            self.query = read_query(query, request.query_params, self.list_parameters(known))
            if request.method != "POST" or not request.user.is_authenticated:
                return method(self, request, *args, **kwargs)
            return answer_once(request, lambda: method(self, request, *args, **kwargs), atomic=not waits)

        answer.operation = known  # type: ignore[attr-defined]
        return extend_schema(
            operation_id=name or None,
            summary=summary,
            description=description or _first(method.__doc__),
            request=takes,
            parameters=[query] if query else [],
            responses=_responses(known),
        )(answer)

    return describe


def _first(text: str | None) -> str | None:
    return " ".join(text.split()) if text else None


def _responses(known: Operation) -> dict[Any, Any]:
    """Responses of success; those of errors are added by gym.api.schema."""
    if known.answers is None and not known.media:
        return {known.status: OpenApiResponse(description="Done.")}
    found: dict[Any, Any] = {}
    if known.answers is not None:
        kind = known.answers(many=True) if known.many else known.answers
        found[known.status, JSON] = OpenApiResponse(kind, description=known.summary)
        if 200 in known.also:
            found[200, JSON] = OpenApiResponse(
                kind, description="It is there already, or there is nothing to do."
            )
        if 202 in known.also:
            found[202, JSON] = OpenApiResponse(kind, description="Not done yet; ask at Location.")
    for media, schema in known.media.items():
        found[known.status, media] = OpenApiResponse(schema, description=known.summary)
    return found
