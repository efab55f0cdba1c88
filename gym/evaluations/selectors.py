"""Reads of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from gym.evaluations.models import PredictionResult, SuiteRun
from models_registry.selectors import visible_to as visible_models
from suites.selectors import listed_for
from suites.selectors import visible_to as visible_suites

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


UNFINISHED = 20
"""Runs that are not done which a suite's page lists."""


def visible_to(user: User | AnonymousUser) -> QuerySet[SuiteRun]:
    """Runs whose suite and model this user may see."""
    return SuiteRun.objects.filter(
        revision__suite__in=visible_suites(user), model__in=visible_models(user)
    ).select_related("revision__suite", "model", "job", "owner")


def listed_runs(user: User | AnonymousUser) -> QuerySet[SuiteRun]:
    """Runs for lists: visible ones, less those of other people's unlisted suites."""
    return visible_to(user).filter(revision__suite__in=listed_for(user))


def newest_done(runs: QuerySet[SuiteRun]) -> QuerySet[SuiteRun]:
    """The run that counts of each (revision, model): finished, of the highest standing, and the newest of those."""
    return runs.filter(_counts())


def latest_done(runs: QuerySet[SuiteRun]) -> list[SuiteRun]:
    """The runs that count (newest_done) with their prediction results (less their lists of items)."""
    return list(_with_results(newest_done(runs)).defer("region_summary", "provenance"))


def newest_and_active(
    runs: QuerySet[SuiteRun], *, results: bool = True
) -> tuple[list[SuiteRun], list[SuiteRun]]:
    """What `latest_done` gives, with region summaries, and the newest unfinished runs (newest first), in one query.
    Without `results` the finished runs have none."""
    unfinished = runs.filter(completed_at=None).order_by("-pk").values("pk")[:UNFINISHED]
    rows = _with_results(runs.filter(Q(pk__in=unfinished) | _counts()), results=results)
    found = list(rows.defer("provenance"))
    return [run for run in found if run.is_done], [run for run in reversed(found) if not run.is_done]


def _counts() -> Q:
    """Finished, and no run of the same revision and model has a higher standing, or the same one and finished later.
    (Asked as an anti-join, because databases guess the size of `pk = (SELECT …)` badly, and then join a thousand suites
    in nested loops.)"""
    later = Q(completed_at__gt=OuterRef("completed_at")) | Q(
        completed_at=OuterRef("completed_at"), pk__gt=OuterRef("pk")
    )
    before = Q(standing__gt=OuterRef("standing")) | (Q(standing=OuterRef("standing")) & later)
    same = SuiteRun.objects.filter(
        before, revision=OuterRef("revision"), model=OuterRef("model"), completed_at__isnull=False
    )
    return Q(~Exists(same), completed_at__isnull=False)


def _with_results(runs: QuerySet[SuiteRun], *, results: bool = True) -> QuerySet[SuiteRun]:
    kept = PredictionResult.objects.defer("items", "outcomes", "margins", "close")
    rows = kept.select_related("prediction")
    wanted = rows if results else rows.none()
    return runs.order_by("pk").prefetch_related(Prefetch("prediction_results", queryset=wanted))
