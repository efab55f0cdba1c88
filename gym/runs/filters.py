"""Filters and sort orders for runs and uploads."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import Case, CharField, F, QuerySet, Value, When

from gym.api.filters import Filters, NameFilter, WholeNumberFilter, WordsFilter
from gym.jobs.models import Job
from gym.runs.models import ResultUpload, SuiteRun
from lmgym.runs.uploaded import KINDS
from models_registry.selectors import visible_to as visible_models
from suites.selectors import visible_to as visible_suites

STATE = Case(
    When(completed_at__isnull=False, then=Value(Job.State.DONE.value)),
    When(job=None, then=Value(Job.State.FAILED.value)),
    default=F("job__state"),
    output_field=CharField(),
)
"""SuiteRun.state as a column: done if there are results; failed if there are neither results nor a job."""


class RunOrder(django_filters.OrderingFilter):
    def filter(self, qs: QuerySet[SuiteRun], value: Any) -> QuerySet[SuiteRun]:
        return super().filter(qs.annotate(state_now=STATE) if value else qs, value)


class RunFilter(Filters):
    q = WordsFilter(
        "revision__suite__title",
        "revision__suite__slug",
        "model__name",
        "model__slug",
        label="Words in the titles and names of suite and model",
    )
    tag = django_filters.CharFilter(field_name="revision__suite__tags__name", label="Tag of the suite")
    suite = NameFilter("revision__suite__slug", visible_suites, label="Slug of the suite")
    revision = WholeNumberFilter(
        field_name="revision__number", min_value=1, max_value=2**31 - 1, label="Number of the revision"
    )
    model = NameFilter("model__slug", visible_models, label="Slug of the model")
    owner = django_filters.CharFilter(
        field_name="owner__username", label="User name of the account that queued it"
    )
    source = django_filters.ChoiceFilter(choices=SuiteRun.Source.choices, label="Computed here or uploaded")
    state = django_filters.ChoiceFilter(choices=Job.State.choices, method="in_state", label="State")
    sort = RunOrder(
        fields=[
            ("created", "created"),
            ("model__slug", "model"),
            ("revision__suite__slug", "suite"),
            ("state_now", "state"),
        ],
        label="Sort",
    )

    class Meta:
        model = SuiteRun
        fields: list[str] = []

    def in_state(self, queryset: QuerySet[SuiteRun], name: str, value: str) -> QuerySet[SuiteRun]:
        """Filter by SuiteRun.state, with conditions that can use indexes."""
        if value == Job.State.DONE:
            return queryset.filter(completed_at__isnull=False)
        open_runs = queryset.filter(completed_at=None)
        if value == Job.State.FAILED:
            return open_runs.filter(job=None) | open_runs.filter(job__state=value)
        return open_runs.filter(job__state=value)


class UploadFilter(Filters):
    kind = django_filters.ChoiceFilter(choices=list(KINDS.items()), label="Kind of file")
    sort = django_filters.OrderingFilter(fields=[("created", "created"), ("kind", "kind")], label="Sort")

    class Meta:
        model = ResultUpload
        fields: list[str] = []
