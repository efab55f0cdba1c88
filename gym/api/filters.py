"""Filters that several rooms use."""

from __future__ import annotations

import django_filters
from django import forms


class WholeNumberFilter(django_filters.NumberFilter):
    """1.5 is refused, not rounded."""

    field_class = forms.IntegerField
