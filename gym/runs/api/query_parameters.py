"""Query parameters for leaderboards and comparisons, and lists whose pages repeat a head (rule, note,
suites)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from gym.api.base import ListView
from gym.api.errors import FieldError, invalid
from gym.api.formats import FormatQuery
from gym.api.paging import LIMIT, MAX_LIMIT, Pages, limit_of
from gym.api.requests import Query
from lmgym.runs.comparison import MAX_SIDES
from lmgym.runs.leaderboard.options import MAX_NAMES, MAX_WEIGHT, Options
from lmgym.runs.rules import EACH, RULES
from lmgym.stats import CORRECTIONS, HOLM


class PagesQuery(Query):
    cursor = serializers.CharField(required=False, help_text="start of the page, as in the URL in `next`")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_LIMIT, help_text=f"rows on a page; default: {LIMIT}"
    )


class PageSerializer(serializers.Serializer[Any]):
    """The base of a page; a subclass adds the head's fields and `results`."""

    next = serializers.URLField(allow_null=True, help_text="URL of the next page; null on the last page")


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
    """A list with a head. The operation's `response` is a PageSerializer, its `query` a PagesQuery."""

    pagination_class = HeadedPages

    def headed(
        self,
        head: dict[str, Any],
        rows: Sequence[Any],
        serialize: type[BaseSerializer[Any]] | Callable[[list[Any]], Any],
        most: int = MAX_LIMIT,
    ) -> Response:
        """Respond with a page under `head`. `most`: maximum number of rows on a page, regardless of ?limit=."""
        pages: Any = self.paginator
        pages.head, pages.most = head, most
        return self.page(rows, serialize)


SORTS = ("sg", "name", "parameters", "missing")


class RuleQuery(Query):
    rule = serializers.ChoiceField(
        list(RULES),
        default=EACH.key,
        help_text="scoring rule: each prediction, all predictions, or the first prediction",
    )


class BoardQuery(FormatQuery, PagesQuery, RuleQuery):
    tag = serializers.CharField(required=False, max_length=60, help_text="only suites with this tag")
    suite = serializers.CharField(required=False, help_text="only these suites: names joined by commas")
    model = serializers.CharField(required=False, help_text="only these models: names joined by commas")
    collection = serializers.SlugField(
        required=False,
        help_text="the revisions of this collection instead of the newest revisions of all suites",
    )
    q = serializers.CharField(required=False, max_length=200, help_text="words in a model's name or tags")
    source = serializers.ChoiceField(["computed", "uploaded"], required=False)  # type: ignore[assignment]  # a declared field
    weights = serializers.CharField(
        required=False, help_text="weights of suites in the SG score, such as a:2,b:0.5; default: 1"
    )
    common = serializers.BooleanField(default=False, help_text="only suites that all shown models have run")
    group = serializers.BooleanField(default=False, help_text="group the seeds of a model in one row")
    sort = serializers.CharField(
        default="-sg",
        max_length=200,
        help_text=f"{', '.join(SORTS)}, suite:NAME or tag:NAME; a leading - reverses the order",
    )


class CompareQuery(RuleQuery):
    first = serializers.SlugField(required=False, max_length=80, help_text="the baseline model")
    second = serializers.ListField(
        child=serializers.SlugField(max_length=80),
        required=False,
        help_text="model that is compared with the first; repeat the parameter for more",
    )
    model = serializers.CharField(
        required=False,
        help_text=f"instead of first and second: at most {MAX_SIDES} models, names joined by commas, in the order of "
        "the response",
    )
    base = serializers.SlugField(
        required=False, max_length=80, help_text="one of the models: every other is compared with it"
    )
    correction = serializers.ChoiceField(
        list(CORRECTIONS), default=HOLM.key, help_text="correction of p for multiple comparisons"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Turn `first` and `second` into `model` and `base`."""
        first, second = attrs.pop("first", None), attrs.pop("second", [])
        if (first is None) == ("model" not in attrs) or (second and first is None):
            raise serializers.ValidationError({"first": ["Send first and second, or model."]})
        if first is None:
            return attrs
        if "base" in attrs:
            raise serializers.ValidationError({"base": ["`first` is the baseline. Leave `base` out."]})
        return {**attrs, "model": ",".join([first, *second]), "base": first}


class CompareModelsQuery(PagesQuery, CompareQuery):
    suite = serializers.CharField(required=False, help_text="only these suites: names joined by commas")
    tag = serializers.CharField(required=False, max_length=60, help_text="only suites with this tag")


class CompareSuiteQuery(CompareQuery):
    r = serializers.CharField(
        required=False, help_text="a revision, or two joined by a comma; default: the newest revision"
    )


class CompareOnSuiteQuery(CompareSuiteQuery):
    bound = serializers.FloatField(
        required=False,
        min_value=0.01,
        max_value=99.99,
        help_text="percentage points: test that the pass rates of a pair differ by less than this",
    )


class CompareItemsQuery(PagesQuery, CompareSuiteQuery):
    only = serializers.ChoiceField(
        ["differ"], required=False, help_text="only items on which the runs differ"
    )


def options_of(query: dict[str, Any]) -> Options:
    """Convert a BoardQuery to options."""
    key = query["sort"].removeprefix("-")
    if key not in SORTS and not key.startswith(("suite:", "tag:")):
        raise invalid(
            FieldError(
                "?sort", f"“{key[:60]}” is not a sort order.", f"{', '.join(SORTS)}, suite:NAME or tag:NAME."
            )
        )
    return Options(
        rule=RULES[query["rule"]],
        tag=query.get("tag", ""),
        suites=names_of(query, "suite"),
        models=names_of(query, "model"),
        q=query.get("q", ""),
        sort=query["sort"],
        weights=_weights(query.get("weights", "")),
        common=query["common"],
        group=query["group"],
        source=query.get("source", ""),
    )


def names_of(query: dict[str, Any], name: str) -> tuple[str, ...]:
    """Split `a,b` into unique names."""
    names = [part.strip() for part in query.get(name, "").split(",")]
    if name in query and not all(names):
        raise invalid(FieldError(f"?{name}", "This list has an empty name.", "Write a,b"))
    unique = tuple(dict.fromkeys(filter(None, names)))
    if len(unique) > MAX_NAMES:
        raise invalid(FieldError(f"?{name}", f"{len(unique)} names; at most {MAX_NAMES}."))
    return unique


def numbers_of(query: dict[str, Any]) -> list[int]:
    """Parse ?r= into at most two revision numbers."""
    names = names_of(query, "r")
    if any(not name.isascii() or not name.isdecimal() or len(name) > 9 for name in names) or len(names) > 2:
        raise invalid(FieldError("?r", "This must be one or two revision numbers.", "Write 1,2"))
    return [int(name) for name in names]


def _weights(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.rpartition(":")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not name or not 0 <= number <= MAX_WEIGHT:
            hint = f"Write name:number, from 0 to {MAX_WEIGHT:g}."
            raise invalid(FieldError("?weights", f"“{part[:60]}” is not a weight.", hint))
        weights[name] = number
    return {name: number for name, number in weights.items() if number != 1}
