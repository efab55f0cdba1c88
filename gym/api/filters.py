"""Filters for lists, shared by pages and the REST API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import django_filters
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from gym.accounts.models import AnyUser
from lmgym.text import MOST_CHARACTERS

MOST_WORDS = 10


class WholeNumberFilter(django_filters.NumberFilter):
    """Filter for whole numbers: 1.5 is an error and is not rounded."""

    field_class = forms.IntegerField  # type: ignore[assignment]  # the stubs expect a decimal field


class _Words(forms.CharField):
    def clean(self, value: Any) -> str:
        text = str(super().clean(value))
        if len(text.split()) > MOST_WORDS:
            raise ValidationError(f"Search for at most {MOST_WORDS} words.")
        return text


class WordsFilter(django_filters.CharFilter):
    """Filter for rows in which every word occurs in one of `fields`."""

    field_class = _Words

    def __init__(self, *fields: str, **more: Any) -> None:
        super().__init__(**more)
        self.fields = fields

    def filter(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return with_words(rows, value, self.fields)


class NameFilter(django_filters.CharFilter):
    """Filter by the name of a related object. In the API, the name of an object that does not exist or is hidden is a
    404.

    Args:
        field_name: path from a row of the list to the name.
        visible: function from a user to the objects that may be named.
        name: path from these objects to the name.
    """

    def __init__(
        self, field_name: str, visible: Callable[[AnyUser], QuerySet[Any]], *, name: str = "slug", **more: Any
    ) -> None:
        super().__init__(field_name, **more)
        self.visible, self.name = visible, name

    def is_known(self, value: str, user: AnyUser) -> bool:
        return self.visible(user).filter(**{self.name: value}).exists()


def with_words(rows: QuerySet[Any], text: str, fields: Sequence[str]) -> QuerySet[Any]:
    """Filter rows in which each of the first MOST_WORDS words occurs in one of `fields`. Related rows are searched by a
    subquery, since a join per word would multiply the rows."""
    for word in text[:MOST_CHARACTERS].split()[:MOST_WORDS]:
        matches = Q()
        for field in fields:
            matches |= _contains(rows.model, field, word)
        rows = rows.filter(matches)
    return rows


def _contains(model: type[Model], field: str, word: str) -> Q:
    is_contained = {f"{field}__icontains": word}
    if "__" not in field:
        return Q(**is_contained)
    return Q(pk__in=model._default_manager.filter(**is_contained).values("pk"))


class Filters(django_filters.FilterSet):
    """Filter set that accepts texts of at most MOST_CHARACTERS characters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for filter_field in self.filters.values():
            if isinstance(filter_field, django_filters.CharFilter):
                filter_field.extra.setdefault("max_length", MOST_CHARACTERS)
