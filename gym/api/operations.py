"""What every operation of the API has: a summary, what it takes and answers, and examples of both.

    class SuiteFreeze(ApiView):
        @operation("Freeze the draft", takes=Freeze, answers=RevisionSerializer, status=201,
                   sends={"note": "first version"}, example=REVISION)
        def post(self, request, slug): ...

It feeds the OpenAPI description, and it holds the method to it: unknown parameters are refused, `self.given()` is the
body as `takes` says, and a POST with an Idempotency-Key is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from gym.api.idempotency import answer_once
from gym.api.requests import read_query

JSON = "application/json"
TEXT = {"type": "string"}


@dataclass(frozen=True)
class Operation:
    """See `operation`. `status` is that of success; `also` are other statuses it may answer, errors included."""

    summary: str
    answers: Any = None
    status: int = 200
    takes: Any = None
    query: type[Serializer] | None = None
    example: Any = None
    sends: Any = None
    also: Sequence[int] = ()
    media: Mapping[str, Any] = field(default_factory=dict)
    waits: bool = False
    many: bool = False
    later: Any = None


def operation(
    summary: str,
    *,
    answers: Any = None,
    status: int = 200,
    takes: Any = None,
    query: type[Serializer] | None = None,
    example: Any = None,
    sends: Any = None,
    also: Sequence[int] = (),
    media: Mapping[str, Any] | None = None,
    waits: bool = False,
    many: bool = False,
    later: Any = None,
    description: str = "",
    name: str = "",
) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """Describe a method of an ApiView.

    answers   serializer class (or JSON schema) of the success; None = no body. many: a page of them
    takes     a `Body` class, or {media type: Body class}; query: a `Query` class for parameters beside filters
    example   a success as it looks (a row of the list when `many`)
    sends     a body as it looks, or {media type: body} when `takes` has several
    also      statuses beside those that every operation may answer, e.g. [202, 412, 428]
    media     further media types of the success, {media type: (schema, example)}
    waits     the method waits for a worker, so its work and its answer cannot be one transaction
    later     a 202 as it looks, for work that may not be done yet
    """
    known = Operation(
        summary, answers, status, takes, query, example, sends, also, media or {}, waits, many, later
    )

    def describe(method: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(method)
        def answer(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
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
            examples=_sent(known),
        )(answer)

    return describe


def _first(text: str | None) -> str | None:
    return " ".join(text.split()) if text else None


def _sent(known: Operation) -> list[OpenApiExample]:
    if known.sends is None:
        return []
    sent = known.sends if isinstance(known.takes, Mapping) else {JSON: known.sends}
    return [
        OpenApiExample("a request", value=value, request_only=True, media_type=kind)
        for kind, value in sent.items()
    ]


def _responses(known: Operation) -> dict[Any, Any]:
    """Responses of success; those of errors are added by gym.api.schema."""
    if known.answers is None and not known.media:
        return {known.status: OpenApiResponse(description="Done.")}
    found: dict[Any, Any] = {}
    if known.answers is not None:
        examples = (
            []
            if known.example is None
            else [OpenApiExample("an answer", value=known.example, response_only=True)]
        )
        kind = known.answers(many=True) if known.many else known.answers
        found[known.status, JSON] = OpenApiResponse(kind, description=known.summary, examples=examples)
    if known.later is not None:
        examples = [OpenApiExample("not yet", value=known.later, response_only=True, status_codes=["202"])]
        found[202, JSON] = OpenApiResponse(
            known.answers, description="Not done yet; ask at Location.", examples=examples
        )
    for media, (schema, example) in known.media.items():
        found[known.status, media] = OpenApiResponse(
            schema,
            description=known.summary,
            examples=[OpenApiExample("an answer", value=example, response_only=True, media_type=media)],
        )
    return found
