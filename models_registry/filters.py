"""Search, filter and sort of models."""

from __future__ import annotations

import django_filters

from gym.api.filters import Filters, WordsFilter
from models_registry.models import RegisteredModel


class ModelFilter(Filters):
    q = WordsFilter(
        *("name", "slug", "description", "authorship", "corpus"),
        label="Words in name, slug, description, authors or corpus",
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
