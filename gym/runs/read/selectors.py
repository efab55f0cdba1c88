"""Queries for runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db.models import (
    Case,
    Exists,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    When,
    prefetch_related_objects,
)

from gym.accounts.models import AnyUser
from gym.jobs.models import ACTIVE_STATES
from gym.runs.models import FormerRunKey, PredictionResult, SuiteRun
from models_registry.selectors import visible_to as visible_models
from suites.models import SuiteRevision
from suites.selectors import known_to, listed_for
from suites.selectors import visible_to as visible_suites

if TYPE_CHECKING:
    from models_registry.models import RegisteredModel
    from suites.models import Suite


UNFINISHED = 20
"""Maximum number of unfinished runs listed on a suite's page."""


def visible_to(user: AnyUser) -> QuerySet[SuiteRun]:
    """Return runs whose suite and model this user may see."""
    return _of_suites(visible_suites(user), user)


def _of_suites(suites: QuerySet[Suite], user: AnyUser) -> QuerySet[SuiteRun]:
    """Return runs of these suites with models visible to the user. Their revisions are a subquery, which SQLite reads
    once, where it would look up the revision of each of 50,000 runs."""
    revisions = SuiteRevision.objects.filter(suite__in=suites)
    runs = SuiteRun.objects.filter(revision__in=revisions, model__in=visible_models(user))
    return runs.select_related("revision__suite", "model", "job", "owner")


def listed_runs(user: AnyUser) -> QuerySet[SuiteRun]:
    """Return runs for lists: visible ones, except on unlisted suites that the user neither owns nor collaborates on."""
    return _of_suites(listed_for(user), user)


def rows_of(keys: QuerySet[SuiteRun, Any]) -> QuerySet[SuiteRun]:
    """Return the runs of a page of a list with what it shows. `keys`: the page as `values("pk")`, because the database
    sorts all runs of the list to find a page: keys in a third of the time of whole rows."""
    rows = SuiteRun.objects.filter(pk__in=keys).select_related("revision__suite", "model", "job", "owner")
    shown = rows.prefetch_related("scores", "revision__suite__collaborations")
    return shown.defer("region_summary", "provenance")


def known_runs(user: AnyUser) -> QuerySet[SuiteRun]:
    """Return visible runs whose address this user may know: runs of suites whose address they may know, and
    their own runs of an unlisted suite until its address changes."""
    known = Q(revision__suite__in=known_to(user))
    if user.is_authenticated:
        known |= Q(owner=user, former_keys=None)
    return visible_to(user).filter(known)


def run_at(user: AnyUser, key: str) -> QuerySet[SuiteRun]:
    """Return the visible run with this key, if any. A former key works only for users who may know of its suite."""
    key_now = FormerRunKey.objects.filter(key=key).values("run__key")[:1]
    runs = visible_to(user).filter(
        key__in=[key, Subquery(key_now)]
    )  # a separate query, as an OR would not use the index
    return runs.filter(Q(key=key) | Q(revision__suite__in=known_to(user)))


def rates_alone() -> Prefetch[Any]:
    """Return the prefetch for `SuiteRun.rates`: results of predictions without their per-item lists."""
    rows = PredictionResult.objects.defer(*PredictionResult.PER_ITEM).select_related("prediction")
    return Prefetch("prediction_results", queryset=rows)


def under_way(runs: QuerySet[SuiteRun]) -> QuerySet[SuiteRun]:
    """Return queued or running runs without results. Only a few of 50,000 runs match; SQLite uses an index for the
    subquery, PostgreSQL for the other condition."""
    active = SuiteRun.objects.filter(completed_at=None, job__state__in=ACTIVE_STATES)
    return runs.filter(pk__in=active.order_by().values("pk"), completed_at=None)


def newest_done(runs: QuerySet[SuiteRun]) -> QuerySet[SuiteRun]:
    """Return the run that counts for each (revision, model): finished, highest standing, newest."""
    return runs.filter(_counts())


_TEXTS_OF_A_RUN = [
    *("provenance", "unknown_words"),
    *(f"model__{name}" for name in ("config", "facts", "tags", "description", "bibtex")),
]
"""Fields that a list of runs does not show."""
_TEXTS_OF_THE_REVISION = [f"revision__{name}" for name in ("meta", "extra", "notices", "findings")]
"""Fields that take long to read once for each of a thousand runs."""


def latest_of_model(user: AnyUser, model: RegisteredModel) -> list[SuiteRun]:
    """Return `newest_done` of a model on the suites listed for the user, without prediction results. They share
    `model` as their model."""
    runs = newest_done(listed_runs(user).filter(model=model)).order_by("pk")
    light = runs.select_related(None).select_related("revision__suite")
    rows = list(light.defer("region_summary", "provenance", "unknown_words", *_TEXTS_OF_THE_REVISION))
    for run in rows:
        run.model = model
    return rows


def latest_done(runs: QuerySet[SuiteRun]) -> list[SuiteRun]:
    """Return `newest_done` with prediction results, without their per-item lists."""
    rows = newest_done(runs).order_by("pk").prefetch_related(rates_alone())
    return list(rows.defer("region_summary", "provenance"))


def newest_and_unfinished(
    user: AnyUser, revision: SuiteRevision, revisions: Sequence[SuiteRevision], *, results: bool = True
) -> tuple[list[SuiteRun], list[SuiteRun]]:
    """Return a suite's runs, read together: `latest_done` of the revision with region summaries, and the newest runs
    without results, newest first (under way on any revision, or stopped on this one). `revisions`: those of the suite
    that the user may read, shared by the runs. `results`: fetch the prediction results of finished runs."""
    runs = SuiteRun.objects.filter(revision__in=revisions, model__in=visible_models(user))
    waiting = Q(job__state__in=ACTIVE_STATES) | Q(revision=revision)
    unfinished = runs.filter(waiting, completed_at=None).order_by(
        Case(When(job__state__in=ACTIVE_STATES, then=0), default=1), "-pk"
    )
    counted = Q(revision=revision) & _counts()
    rows = runs.filter(Q(pk__in=unfinished.values("pk")[:UNFINISHED]) | counted).order_by("pk")
    if results:
        rows = rows.prefetch_related(rates_alone())
    fetched = list(rows.select_related("model").defer(*_TEXTS_OF_A_RUN))
    by_key = {row.pk: row for row in revisions}
    for run in fetched:
        run.revision = by_key[run.revision_id]
    without_results = [run for run in reversed(fetched) if not run.is_done]
    prefetch_related_objects(without_results, "job")
    return [run for run in fetched if run.is_done], without_results


def _counts() -> Q:
    """Match finished runs unless a run of the same revision and model has a higher standing, or the same
    standing and a later finish.

    An anti-join, because query planners misestimate `pk = (SELECT …)` and then join a thousand suites in
    nested loops.
    """
    later = Q(completed_at__gt=OuterRef("completed_at")) | Q(
        completed_at=OuterRef("completed_at"), pk__gt=OuterRef("pk")
    )
    before = Q(standing__gt=OuterRef("standing")) | (Q(standing=OuterRef("standing")) & later)
    same = SuiteRun.objects.filter(
        before, revision=OuterRef("revision"), model=OuterRef("model"), completed_at__isnull=False
    )
    return Q(~Exists(same), completed_at__isnull=False)
