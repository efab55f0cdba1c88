"""API operations: the decorator that describes a view's method.

    class SuiteFreeze(ApiView):
        @operation("Freeze the draft", body=NoteBody, response=RevisionSerializer, status=201)
        def post(self, request, slug): ...

The description feeds openapi.json and is enforced: unknown parameters are refused, `self.body()` validates against
`body`, and a POST with an Idempotency-Key runs once.
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

from gym.api.idempotency import run_once
from gym.api.requests import read_query

JSON = "application/json"
FILE = {"type": "string", "format": "binary"}
"""Schema of a response that clients save to a file: a table, an archive, a document."""


@dataclass(frozen=True)
class Operation:
    """The arguments of `operation`."""

    summary: str
    response: Any = None
    status: int = 200
    body: Any = None
    query: type[Serializer[Any]] | None = None
    also: Sequence[int] = ()
    media: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    waits: bool = False
    many: bool = False


def operation(
    summary: str,
    *,
    response: Any = None,
    status: int = 200,
    body: Any = None,
    query: type[Serializer[Any]] | None = None,
    also: Sequence[int] = (),
    media: Mapping[str, dict[str, Any]] | None = None,
    waits: bool = False,
    many: bool = False,
    name: str = "",
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Describe a method of an ApiView. The method's docstring becomes the description in openapi.json.

    Args:
        summary: imperative, without a full stop.
        response: serializer class or JSON schema of a successful response; None: no body.
        status: HTTP status on success.
        body: a `Body` class, or {media type: `Body` class}.
        query: a `Query` class for parameters that are not filters of the list.
        also: further statuses, such as 412 and 428. 202: not finished yet; 200: the object already existed.
        media: further media types of a successful response, {media type: FILE or another schema}.
        waits: the method waits for a worker or reads a large file, so it must not run in one transaction.
        many: the response is a paginated list, and `response` describes one row.
        name: operation id, if the generated one is unclear.
    """
    described = Operation(summary, response, status, body, query, also, media or {}, waits, many)

    def decorate(method: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(method)
        def run(self: Any, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
            self.operation = described
            self.query = read_query(query, request.query_params, self.list_parameters(described))
            if request.method != "POST" or not request.user.is_authenticated:
                return method(self, request, *args, **kwargs)
            return run_once(request, lambda: method(self, request, *args, **kwargs), atomic=not waits)

        run.operation = described  # type: ignore[attr-defined]
        return extend_schema(
            operation_id=name or None,
            summary=summary,
            description=" ".join((method.__doc__ or "").split()) or None,
            request=body,
            parameters=[query] if query else [],
            responses=_responses(described),
        )(run)

    return decorate


def _responses(described: Operation) -> dict[Any, Any]:
    """Return the success responses; gym.api.schema adds the errors."""
    if described.response is None and not described.media:
        return {described.status: OpenApiResponse(description="Done.")}
    responses: dict[Any, Any] = {}
    if described.response is not None:
        schema = described.response(many=True) if described.many else described.response
        responses[described.status, JSON] = OpenApiResponse(schema, description=described.summary)
        if 200 in described.also:
            responses[200, JSON] = OpenApiResponse(
                schema, description="The object already exists; nothing was created."
            )
    if 202 in described.also:
        progress = described.response or {"type": "object"}
        responses[202, JSON] = OpenApiResponse(progress, description="Not finished yet; poll Location.")
    for media, schema in described.media.items():
        responses[described.status, media] = OpenApiResponse(schema, description=described.summary)
    return responses
