"""Lists that say on each page what holds for all their rows: rule, note, suites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from gym.api.base import ListView
from gym.api.paging import LIMIT, MAX_LIMIT, Pages, limit_of
from gym.api.requests import Query


class PagesQuery(Query):
    cursor = serializers.CharField(required=False, help_text="where to go on: part of the address in `next`")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_LIMIT, help_text=f"rows on a page, {LIMIT} if not said"
    )


class PageSerializer(serializers.Serializer):
    """A subclass adds the head's fields and `results`."""

    next = serializers.URLField(allow_null=True, help_text="address of the next page; null on the last one")


class HeadedPages(Pages):
    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.most = MAX_LIMIT

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.request = request
        return self._slice(queryset, min(limit_of(request), self.most))

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self._next(), **self.head, "results": data})


class HeadedList(ListView):
    """The operation's `answers` is a PageSerializer, its `query` a PagesQuery."""

    pagination_class = HeadedPages

    def headed(
        self,
        head: dict[str, Any],
        rows: Sequence[Any],
        shown: type[BaseSerializer] | Callable[[list[Any]], Any],
        most: int = MAX_LIMIT,
    ) -> Response:
        """`most`: rows of a page, whatever ?limit= says."""
        pages: Any = self.paginator
        pages.head, pages.most = head, most
        return self.page(rows, shown)
