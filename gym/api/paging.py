"""Cursor pagination.

The cursor of a queryset contains the last row's values of the sort columns, so rows added or deleted between requests
neither repeat nor hide others, and page 1000 costs as much as page 1. The cursor of a sequence is an offset. A cursor
is signed and bound to its list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.core import signing
from django.db.models import Q, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from gym.api.errors import FieldError, invalid

SALT = "gym.api.cursor"
LIMIT = 50
MAX_LIMIT = 500
MAX_BYTES = 5_000_000
"""Maximum size of a page; a single row may be larger."""


class Pages(BasePagination):
    """Pagination by ?limit= and ?cursor=. A response is `{"next": address or null, "results": [...]}`.

    A queryset must be ordered by columns without nulls; the primary key is appended to its order.
    """

    display_page_controls = False
    mark: list[Any] | None
    mark_after: Callable[[int], list[Any]]

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.request = request
        limit = limit_of(request)
        if not isinstance(queryset, QuerySet):
            return self._slice(queryset, limit)
        order = _order(queryset)
        after = self._read(order)
        rows = queryset.order_by(*order)
        if after is not None:
            rows = rows.filter(_beyond(order, after))
        page = list(rows[: limit + 1])
        self.mark_after = lambda n: [order, [_value(page[n - 1], name) for name in order]]
        self.mark = self.mark_after(limit) if len(page) > limit else None
        return page[:limit]

    def _slice(self, rows: Sequence[Any], limit: int) -> list[Any]:
        """Paginate a sequence; the cursor is an offset."""
        after = self._read(["place"])
        start = after[0] if after is not None else 0
        self.mark_after = lambda n: [["place"], [start + n]]
        self.mark = self.mark_after(limit) if len(rows) > start + limit else None
        return list(rows[start : start + limit])

    def fitting(self, shown: list[Any]) -> list[Any]:
        """Cut the rows to MAX_BYTES, keeping at least one; `next` continues after them."""
        if len(JSONRenderer().render(shown)) <= MAX_BYTES:
            return shown
        size = 0
        for n, row in enumerate(shown):
            size += len(JSONRenderer().render(row))
            if n and size > MAX_BYTES:
                self.mark = self.mark_after(n)
                return shown[:n]
        return shown

    def _read(self, order: list[str]) -> list[Any] | None:
        cursor = self.request.query_params.get("cursor")
        if not cursor:
            return None
        try:
            path, cursor_order, values = signing.loads(cursor, salt=SALT)
        except (signing.BadSignature, ValueError, TypeError) as error:
            raise invalid(
                FieldError("?cursor", "This cursor is not valid.", "Follow the address in `next`.")
            ) from error
        if path != self.request.path:
            raise invalid(
                FieldError("?cursor", "This cursor belongs to another list.", "Start without a cursor.")
            )
        if cursor_order != order:
            raise invalid(
                FieldError("?cursor", "This cursor is for a different sort order.", "Start without a cursor.")
            )
        return list(values)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self._next(), "results": data})

    def _next(self) -> str | None:
        if self.mark is None:
            return None
        cursor = signing.dumps([self.request.path, *self.mark], salt=SALT, compress=True)
        return replace_query_param(self.request.build_absolute_uri(), "cursor", cursor)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["next", "results"],
            "additionalProperties": False,
            "properties": {
                "next": {
                    "type": ["string", "null"],
                    "format": "uri",
                    "description": "Address of the next page; null on the last one.",
                    "example": None,
                },
                "results": schema,
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return [
            {
                "name": "cursor",
                "in": "query",
                "description": "Start of the page: part of the address in `next`.",
                "schema": {"type": "string"},
            },
            {
                "name": "limit",
                "in": "query",
                "description": "Maximum number of rows on a page; pages of large rows have fewer.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": LIMIT},
            },
        ]


def limit_of(request: Request) -> int:
    limit = request.query_params.get("limit")
    if limit is None:
        return LIMIT
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:9]) <= MAX_LIMIT or len(limit) > 9:
        raise invalid(FieldError("?limit", f"This must be a whole number from 1 to {MAX_LIMIT}."))
    return int(limit)


def _order(queryset: QuerySet[Any]) -> list[str]:
    order = [str(name) for name in queryset.query.order_by or queryset.model._meta.ordering]
    if not any(name.lstrip("-") in {"pk", "id"} for name in order):
        descending = bool(order) and order[-1].startswith("-")
        order.append("-pk" if descending else "pk")
    return order


def _beyond(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Build the filter for rows after these values: a > x, or a = x and b > y."""
    beyond, same = Q(pk__in=[]), Q()
    for name, value in zip(order, values, strict=True):
        column = name.lstrip("-")
        beyond |= same & Q(**{f"{column}__{'lt' if name.startswith('-') else 'gt'}": value})
        same &= Q(**{column: value})
    return beyond


def _value(row: Any, name: str) -> Any:
    value = row
    for step in name.lstrip("-").split("__"):
        value = value[step] if isinstance(value, dict) else getattr(value, step)
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int | float | str) else str(value)
