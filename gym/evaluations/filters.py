"""Filter and sort of runs."""

from __future__ import annotations

import django_filters
from django.db.models import QuerySet

from gym.evaluations.models import SuiteRun
from gym.jobs.models import Job


class RunFilter(django_filters.FilterSet):
    suite = django_filters.CharFilter(field_name="revision__suite__slug", label="Slug of the suite")
    revision = django_filters.NumberFilter(
        field_name="revision__number", min_value=1, max_value=2**31 - 1, label="Number of the revision"
    )
    model = django_filters.CharFilter(field_name="model__slug", label="Slug of the model")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of who queued it")
    source = django_filters.ChoiceFilter(choices=SuiteRun.Source.choices, label="Computed here or uploaded")
    state = django_filters.ChoiceFilter(choices=Job.State.choices, method="in_state", label="State")
    sort = django_filters.OrderingFilter(fields=[("created", "created")], label="Sort")

    class Meta:
        model = SuiteRun
        fields: list[str] = []

    def in_state(self, queryset: QuerySet[SuiteRun], name: str, value: str) -> QuerySet[SuiteRun]:
        """As SuiteRun.state says: what has results is done; without them and without a job it has failed."""
        if value == Job.State.DONE:
            return queryset.filter(completed_at__isnull=False)
        open_runs = queryset.filter(completed_at=None)
        if value == Job.State.FAILED:
            return open_runs.filter(job=None) | open_runs.filter(job__state=value)
        return open_runs.filter(job__state=value)
