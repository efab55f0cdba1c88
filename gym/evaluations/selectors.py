"""Reads of runs and the tables made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from gym.evaluations.models import PredictionResult, SuiteRun
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models
from suites.models import Suite, SuiteRevision
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


def latest_done(runs: QuerySet[SuiteRun]) -> list[SuiteRun]:
    """The newest finished run of each (revision, model), with its prediction results (less their lists of items)."""
    return list(_with_results(runs.filter(_is_newest())).defer("region_summary", "provenance"))


def newest_and_active(
    runs: QuerySet[SuiteRun], *, results: bool = True
) -> tuple[list[SuiteRun], list[SuiteRun]]:
    """What `latest_done` gives, with region summaries, and the newest unfinished runs (newest first), in one query.
    Without `results` the finished runs have none."""
    unfinished = runs.filter(completed_at=None).order_by("-pk").values("pk")[:UNFINISHED]
    rows = _with_results(runs.filter(Q(pk__in=unfinished) | _is_newest()), results=results)
    found = list(rows.defer("provenance"))
    return [run for run in found if run.is_done], [run for run in reversed(found) if not run.is_done]


def _is_newest() -> Q:
    """Finished, and no run of the same revision and model finished later. (Asked as an anti-join, because databases
    guess the size of `pk = (SELECT …)` badly, and then join a thousand suites in nested loops.)"""
    later = Q(completed_at__gt=OuterRef("completed_at")) | Q(
        completed_at=OuterRef("completed_at"), pk__gt=OuterRef("pk")
    )
    same = SuiteRun.objects.filter(later, revision=OuterRef("revision"), model=OuterRef("model"))
    return Q(~Exists(same), completed_at__isnull=False)


def _with_results(runs: QuerySet[SuiteRun], *, results: bool = True) -> QuerySet[SuiteRun]:
    kept = PredictionResult.objects.defer("items", "outcomes", "margins", "close")
    rows = kept.select_related("prediction")
    wanted = rows if results else rows.none()
    return runs.order_by("pk").prefetch_related(Prefetch("prediction_results", queryset=wanted))


@dataclass(frozen=True)
class SuiteScore:
    """Pass rate of one model on one suite: the mean over its predictions' rates; n = items judged per prediction."""

    run: SuiteRun
    results: list[PredictionResult]

    @property
    def rate(self) -> float | None:
        rates = [result.rate for result in self.results if result.rate is not None]
        return sum(rates) / len(rates) if rates else None

    @property
    def single(self) -> PredictionResult | None:
        """The one result when the suite has one prediction: then its interval is the suite's."""
        return self.results[0] if len(self.results) == 1 else None

    @property
    def low(self) -> float | None:
        return self.single.ci_low if self.single else None

    @property
    def high(self) -> float | None:
        return self.single.ci_high if self.single else None

    @property
    def chance(self) -> float | None:
        known = [result.chance for result in self.results if result.chance is not None]
        return sum(known) / len(known) if known else None

    @property
    def n(self) -> int:
        return max((result.total for result in self.results), default=0)

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def judged(self) -> int:
        return sum(result.total for result in self.results)

    @property
    def ties(self) -> int:
        return sum(result.ties for result in self.results)

    @property
    def too_close(self) -> int:
        return sum(result.too_close for result in self.results)

    @property
    def not_evaluable(self) -> int:
        return sum(result.not_evaluable for result in self.results)


@dataclass
class Matrix:
    """Models x suites. `cells[suite.pk][model.pk]` is a SuiteScore or missing. Cut to a page's size, the figures
    `n_suites` and `n_models` say how many there are."""

    suites: list[Suite]
    models: list[RegisteredModel]
    cells: dict[int, dict[int, SuiteScore]] = field(default_factory=dict)
    revisions: dict[int, SuiteRevision] = field(default_factory=dict)
    n_suites: int = 0
    n_models: int = 0

    @property
    def is_cut(self) -> bool:
        return len(self.suites) < self.n_suites or len(self.models) < self.n_models

    def mean_of_model(self, model: RegisteredModel) -> float | None:
        """Unweighted mean over the suites this model has run (the SG score when no cell is missing)."""
        rates = [row[model.pk].rate for row in self.cells.values() if model.pk in row]
        known = [rate for rate in rates if rate is not None]
        return sum(known) / len(known) if known else None

    def rows(self) -> list[tuple[Suite, SuiteRevision, list[SuiteScore | None]]]:
        return [
            (
                suite,
                self.revisions[suite.pk],
                [self.cells.get(suite.pk, {}).get(model.pk) for model in self.models],
            )
            for suite in self.suites
        ]

    def totals(self) -> list[tuple[float | None, int]]:
        """Per model: mean pass rate over the suites it has run, and their number."""
        return [
            (
                self.mean_of_model(model),
                sum(model.pk in row and row[model.pk].rate is not None for row in self.cells.values()),
            )
            for model in self.models
        ]


@dataclass(frozen=True)
class FieldScores:
    """How the models that have run a suite fare: the best one, the mean of their rates, and how many they are."""

    best: SuiteScore
    mean: float
    n: int


def field_scores(user: User | AnonymousUser, suite_ids: Iterable[int]) -> dict[int, FieldScores]:
    """By suite id, over the newest frozen revision; suites without a finished run are missing."""
    newest = _newest_frozen(Suite.objects.filter(pk__in=suite_ids))
    by_suite: dict[int, list[SuiteScore]] = {}
    for run in latest_done(visible_to(user).filter(revision__in=newest.values())):
        by_suite.setdefault(run.revision.suite_id, []).append(score_of(run))
    found = {}
    for suite_id, scores in by_suite.items():
        known = [(score.rate, score) for score in scores if score.rate is not None]
        if known:
            best = max(known, key=lambda pair: pair[0])[1]
            found[suite_id] = FieldScores(best, sum(rate for rate, _ in known) / len(known), len(known))
    return found


def _newest_frozen(suites: QuerySet[Suite]) -> dict[int, SuiteRevision]:
    frozen = SuiteRevision.objects.filter(suite__in=suites, state=SuiteRevision.State.FROZEN)
    return {revision.suite_id: revision for revision in frozen.order_by("number")}


def matrix(
    user: User | AnonymousUser,
    tag: str = "",
    *,
    most_suites: int | None = None,
    most_models: int | None = None,
) -> Matrix:
    """The newest frozen revision of every suite this user lists, against every model with a finished run on one. Cut
    to a page's size: the suites changed last, and the models that ran on most of those."""
    frozen = SuiteRevision.objects.filter(suite=OuterRef("pk"), state=SuiteRevision.State.FROZEN)
    suites = listed_for(user).filter(Exists(frozen))
    if tag:
        suites = suites.filter(tags__name=tag)
    chosen = list(suites.order_by("-updated", "-pk")[:most_suites])
    n_suites = suites.count() if len(chosen) == most_suites else len(chosen)
    chosen.sort(key=lambda suite: suite.title)
    newest = _newest_frozen(Suite.objects.filter(pk__in=[suite.pk for suite in chosen]))
    runs = latest_done(visible_to(user).filter(revision__in=newest.values()))
    seen = {run.model_id: run.model for run in runs}
    often = Counter(run.model_id for run in runs)
    kept = {pk for pk, _ in often.most_common(most_models)}
    cells: dict[int, dict[int, SuiteScore]] = {}
    for run in runs:
        if run.model_id in kept:
            cells.setdefault(run.revision.suite_id, {})[run.model_id] = score_of(run)
    models = sorted((seen[pk] for pk in kept), key=lambda model: model.name.lower())
    return Matrix(chosen, models, cells, newest, n_suites, len(seen))


def score_of(run: SuiteRun) -> SuiteScore:
    return SuiteScore(run, list(run.prediction_results.all()))


def suite_scores(runs: Iterable[SuiteRun]) -> list[SuiteScore]:
    """Scores of these runs, best first; runs without predictions last."""
    scores = [score_of(run) for run in runs]
    return sorted(scores, key=lambda score: (score.rate is None, -(score.rate or 0.0), score.run.model.name))
