"""Search, filter and sort of the suite list, for the page and the API."""

from __future__ import annotations

import django_filters
from django.db.models import Q, QuerySet

from suites.models import Suite


class SuiteFilter(django_filters.FilterSet):
    q = django_filters.CharFilter(method="search", label="Search")
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

    def search(self, queryset: QuerySet[Suite], name: str, value: str) -> QuerySet[Suite]:
        for word in value.split()[:8]:
            queryset = queryset.filter(
                Q(title__icontains=word)
                | Q(slug__icontains=word)
                | Q(description__icontains=word)
                | Q(reference__icontains=word)
                | Q(tags__name__icontains=word)
            )
        return queryset.distinct()
