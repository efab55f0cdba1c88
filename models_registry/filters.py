"""Search, filter and sort of models."""

from __future__ import annotations

import django_filters
from django.db.models import Q, QuerySet

from models_registry.models import RegisteredModel


class ModelFilter(django_filters.FilterSet):
    q = django_filters.CharFilter(
        method="search", label="Words in name, slug, description, authors or corpus"
    )
    backend = django_filters.CharFilter(field_name="backend", label="Kind of backend")
    status = django_filters.ChoiceFilter(choices=RegisteredModel.Status.choices, label="Status")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of the owner")
    sort = django_filters.OrderingFilter(
        fields=[("name", "name"), ("slug", "slug"), ("created", "created"), ("status", "status")],
        label="Sort",
    )

    class Meta:
        model = RegisteredModel
        fields: list[str] = []

    def search(self, queryset: QuerySet[RegisteredModel], name: str, value: str) -> QuerySet[RegisteredModel]:
        for word in value.split()[:8]:
            queryset = queryset.filter(
                Q(name__icontains=word)
                | Q(slug__icontains=word)
                | Q(description__icontains=word)
                | Q(authorship__icontains=word)
                | Q(corpus__icontains=word)
            )
        return queryset
