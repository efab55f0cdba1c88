"""Search, filter and sort of the suite list, for the page and the API."""

from __future__ import annotations

import django_filters

from gym.api.filters import Filters, WordsFilter
from suites.models import Suite


class SuiteFilter(Filters):
    q = WordsFilter("title", "slug", "description", "author", "reference", "tags__name", label="Search")
    tag = django_filters.CharFilter(field_name="tags__name", label="Tag")
    language = django_filters.CharFilter(field_name="language", lookup_expr="iexact", label="Language")
    sort = django_filters.OrderingFilter(
        fields=[
            ("title", "title"),
            ("updated", "updated"),
            ("created", "created"),
            ("n_items", "items"),
            ("n_predictions", "predictions"),
        ],
        label="Sort",
    )

    class Meta:
        model = Suite
        fields: list[str] = []
