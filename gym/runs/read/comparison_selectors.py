"""Comparisons for pages and API, limited to runs that the reader may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet, prefetch_related_objects

from gym.accounts.models import AnyUser
from gym.runs.models import PredictionResult, SuiteRun
from gym.runs.read.comparison import RunSide, SuiteRow, Total, side_of, suite_rows, totals_of
from gym.runs.read.leaderboard.build import newest_revisions
from gym.runs.read.scores import scored
from gym.runs.read.selectors import newest_done
from gym.runs.read.selectors import visible_to as visible_runs
from gym.runs.read.shared_items import groups_of
from lmgym.runs.comparison import MAX_SIDES, ItemRow, Pair, item_rows, pairs_of
from lmgym.runs.missing_rates import MissingRate, by_model
from lmgym.runs.paired_predictions import (
    PairedPredictions,
    RevisionPredictions,
    UnpairedPrediction,
    left_out_in_words,
    pair_predictions,
)
from lmgym.runs.rules import Rule
from lmgym.runs.run_differences import BITS, RunDifference, run_differences
from lmgym.stats import Correction
from models_registry.models import RegisteredModel
from models_registry.names import disambiguate
from models_registry.selectors import visible_to as visible_models
from suites.models import Prediction, Suite, SuiteRevision
from suites.selectors import listed_for
from suites.selectors import visible_to as visible_suites


@dataclass(frozen=True)
class OnAllSuites:
    """Comparison on several suites. `models`: the baseline first. `totals`: each other model compared with it.
    `unknown`: requested suites that the user may not see, or whose newest frozen revision is missing or has no
    predictions. `gaps`: missing rates on suites that one of the models has run."""

    models: list[RegisteredModel]
    rows: list[SuiteRow]
    totals: list[Total]
    unknown: list[str]
    gaps: list[MissingRate]

    @cached_property
    def missing(self) -> Mapping[str, str]:
        """Missing rates in words, by the model's label."""
        return by_model(self.gaps)

    @cached_property
    def pairs(self) -> list[Pair[RunSide]]:
        return [pair for row in self.rows for pair in row.pairs if pair]


@dataclass(frozen=True)
class OnASuite:
    """Comparison on one suite. `not_run`: requested models without a finished run; `left_out`: runs beyond MAX_SIDES;
    `gaps`: runs without a rate under the rule; `predictions`: pairing of two revisions."""

    revisions: list[SuiteRevision]
    sides: list[RunSide]
    not_run: list[str]
    left_out: list[str]
    pairs: list[Pair[RunSide]]
    items: list[ItemRow]
    gaps: list[MissingRate]
    predictions: PairedPredictions | None = None

    @property
    def not_compared(self) -> Sequence[UnpairedPrediction]:
        """Predictions of either revision whose formula the other lacks."""
        return self.predictions.left_out if self.predictions else ()

    @property
    def not_compared_in_words(self) -> str:
        """`not_compared` as a sentence; empty if every prediction is compared."""
        return left_out_in_words(self.predictions) if self.predictions else ""

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_differ(self) -> int:
        return sum(row.differs for row in self.items)

    @cached_property
    def unlike(self) -> list[RunDifference]:
        return run_differences([side.scored_as for side in self.sides])

    @property
    def has_margins(self) -> bool:
        """Whether any pair has margins that measure the same quantity on both sides."""
        return any(pair.margin is not None and pair.margin.n for pair in self.pairs)

    @property
    def same_bits(self) -> bool:
        """Whether the values of all sides are the same quantity."""
        return not any(row.fact in BITS for row in self.unlike)


def models_named(user: AnyUser, slugs: Sequence[str]) -> list[RegisteredModel]:
    """Return the models with these slugs that are visible to the user, at most MAX_SIDES, in order, with
    unique labels."""
    requested = slugs[:MAX_SIDES]
    by_slug = {model.slug: model for model in visible_models(user).filter(slug__in=requested)}
    models = [by_slug[slug] for slug in requested if slug in by_slug]
    disambiguate(models)
    return models


def models_to_compare(user: AnyUser) -> list[RegisteredModel]:
    """Return the models with results that are visible to the user, by name, with unique labels."""
    results = SuiteRun.objects.filter(model=OuterRef("pk"), completed_at__isnull=False)
    models = list(visible_models(user).filter(Exists(results)).order_by("name"))
    disambiguate(models)
    return models


MOST_OFFERED = 400
"""Maximum number of suites offered as check boxes; more can be selected by tag."""


def suites_to_compare(user: AnyUser, named: Sequence[str]) -> QuerySet[Suite]:
    """Return suites with results that are listed for this user, plus visible suites in `named`, with owner, ordered by
    title; at most MOST_OFFERED."""
    results = SuiteRun.objects.filter(revision__suite=OuterRef("pk"), completed_at__isnull=False)
    offered = Q(pk__in=listed_for(user).filter(Exists(results))) | Q(slug__in=named)
    rows = visible_suites(user).filter(offered).select_related("owner")
    return rows.order_by("title", "pk")[:MOST_OFFERED]


def on_all_suites(
    user: AnyUser,
    models: Sequence[RegisteredModel],
    rule: Rule,
    correction: Correction,
    *,
    tag: str = "",
    suites: Sequence[str] = (),
) -> OnAllSuites:
    """Compare models on the newest frozen revisions of suites: all suites listed for the user, only those
    with a tag, or the named suites. The first model is the baseline."""
    offered = visible_suites(user).filter(slug__in=suites) if suites else listed_for(user)
    revisions = newest_revisions(offered)
    unknown = [slug for slug in suites if slug not in {row.suite.slug for row in revisions}]
    if tag:
        revisions = [
            row for row in revisions if tag in {suite_tag.name for suite_tag in row.suite.tags.all()}
        ]
    by_cell = _with_results(user, revisions, models)
    expected = _predictions(revisions)
    rows = suite_rows(revisions, models, by_cell, rule, expected, correction)
    gaps = _gaps(revisions, models, by_cell, rule, expected)
    material = groups_of([row.revision for row in rows])
    return OnAllSuites(list(models), rows, totals_of(rows, models[1:], material), unknown, gaps)


def _gaps(
    revisions: Sequence[SuiteRevision],
    models: Sequence[RegisteredModel],
    runs: dict[tuple[int, int], SuiteRun],
    rule: Rule,
    expected: dict[int, int],
) -> list[MissingRate]:
    """Find missing rates of models on revisions that one of the models has run."""
    ran = {revision for revision, _ in runs}
    gaps = []
    for revision, model in [(row, model) for row in revisions if row.pk in ran for model in models]:
        run = runs.get((revision.pk, model.pk))
        if run is None:
            gaps.append(MissingRate(model.slug, model.label, revision.suite.slug, rule))
        elif scored(run, rule).rate is None:
            held = len(run.prediction_results.all())
            n_predictions = expected.get(revision.pk, 0)
            key = revision.suite.slug
            gaps.append(
                MissingRate(model.slug, model.label, key, rule, run.key, run.is_uploaded, held, n_predictions)
            )
    return gaps


def chosen_revisions(suite: Suite, numbers: Sequence[int]) -> list[SuiteRevision]:
    """Return frozen revisions with these numbers, oldest first; the newest revision if none matches; an empty
    list if there is only a draft."""
    frozen = frozen_of(suite)
    return [row for row in reversed(frozen) if row.number in numbers] or frozen[:1]


def frozen_of(suite: Suite) -> list[SuiteRevision]:
    """Return the frozen revisions of a suite, newest first, with `n_predictions`; cached on this suite object."""
    rows = SuiteRevision.objects.filter(state=SuiteRevision.State.FROZEN).order_by("-number")
    counted = rows.annotate(n_predictions=Count("predictions"))
    prefetch_related_objects([suite], Prefetch("revisions", counted, to_attr="frozen"))
    frozen_revisions: list[SuiteRevision] = suite.frozen  # type: ignore[attr-defined]  # by the prefetch
    return frozen_revisions


def on_a_suite(
    user: AnyUser,
    revisions: list[SuiteRevision],
    models: Sequence[RegisteredModel],
    rule: Rule,
    correction: Correction,
    *,
    baseline: RegisteredModel | None = None,
    bound: float | None = None,
) -> OnASuite:
    """Compare every model on every one of these revisions (from `chosen_revisions`), at most MAX_SIDES runs.

    Args:
        revisions: revisions of a suite that is visible to the user.
        baseline: the first of `models`, with which the others are compared; None: all pairs that differ in either model
            or revision.
        bound: 0..1, equivalence bound on the difference of pass rates.
    """
    by_cell = _with_results(user, revisions, models)
    expected = {row.pk: row.n_predictions for row in revisions}  # type: ignore[attr-defined]  # by frozen_of
    paired = _paired_predictions(revisions, rule)
    among = _among(revisions, paired)
    cells = [(revision, model) for model in models for revision in revisions]
    all_sides = [
        side_of(
            run,
            model.label if len(revisions) == 1 else f"{model.label}, r{revision.number}",
            rule,
            expected.get(revision.pk, 0),
            among.get(revision.pk),
        )
        for revision, model in cells
        if (run := by_cell.get((revision.pk, model.pk)))
    ]
    sides, left_out = all_sides[:MAX_SIDES], [side.label for side in all_sides[MAX_SIDES:]]
    not_run = [
        f"{model.label} on r{revision.number}"
        for revision, model in cells
        if (revision.pk, model.pk) not in by_cell
    ]
    pairs = pairs_of(sides, correction, baseline and baseline.pk, bound)
    gaps = [gap for gap in _gaps(revisions, models, by_cell, rule, expected) if gap.run]
    return OnASuite(revisions, sides, not_run, left_out, pairs, item_rows(sides), gaps, paired)


def _paired_predictions(revisions: Sequence[SuiteRevision], rule: Rule) -> PairedPredictions | None:
    """Pair the predictions of two revisions; return None for a single revision."""
    if len(revisions) != 2:
        return None
    by_revision: dict[int, list[tuple[str, str]]] = {row.pk: [] for row in revisions}
    rows = Prediction.objects.filter(revision__in=revisions).order_by("position")
    for pk, name, formula in rows.values_list("revision", "name", "formula"):
        by_revision[pk].append((name, formula))
    older, newer = (
        RevisionPredictions(row.number, row.region_names, row.condition_names, by_revision[row.pk])
        for row in revisions
    )
    return pair_predictions(older, newer, rule)


def _among(
    revisions: Sequence[SuiteRevision], paired: PairedPredictions | None
) -> dict[int, list[tuple[int, bool]]]:
    """Map each revision id to its paired predictions, as (position, whether the rule counts it)."""
    if paired is None:
        return {}
    return {
        revision.pk: [(positions[k], positions in paired.judged) for positions in paired.positions]
        for k, revision in enumerate(revisions)
    }


def others_on(user: AnyUser, run: SuiteRun, most: int = MAX_SIDES - 1) -> list[RegisteredModel]:
    """Return other models with results on the run's revision, by name, at most `most`, with unique labels."""
    done = visible_runs(user).filter(revision=run.revision_id, completed_at__isnull=False)
    models = RegisteredModel.objects.filter(pk__in=done.values("model")).exclude(pk=run.model_id)
    others = list(models.order_by("name")[:most])
    disambiguate([*others, run.model])
    return others


@dataclass(frozen=True)
class OnBoth:
    """Two revisions of a suite, and the models with results on both, limited to the number that one
    comparison can show."""

    older: int
    newer: int
    models: list[str]


def on_both(user: AnyUser, suite: Suite, first: int, second: int) -> OnBoth | None:
    """Return the two revisions and the models with results on both; None without such a model."""
    return _on_both(_ran(user, suite), first, second)


def on_another(user: AnyUser, suite: Suite, number: int) -> OnBoth | None:
    """Return this revision and the nearest older one, else the nearest newer one, with results of a common model."""
    ran = _ran(user, suite)
    older = sorted((other for other in ran if other < number), reverse=True)
    newer = sorted(other for other in ran if other > number)
    pairs = (_on_both(ran, number, other) for other in (*older, *newer))
    return next((pair for pair in pairs if pair), None)


def _ran(user: AnyUser, suite: Suite) -> dict[int, set[str]]:
    """Map each revision number to slugs of the models with results on it."""
    done = visible_runs(user).filter(revision__suite=suite, completed_at__isnull=False)
    ran: dict[int, set[str]] = {}
    for number, slug in done.order_by().values_list("revision__number", "model__slug").distinct():
        ran.setdefault(number, set()).add(slug)
    return ran


def _on_both(ran: dict[int, set[str]], first: int, second: int) -> OnBoth | None:
    models = sorted(ran.get(first, set()) & ran.get(second, set()))
    older, newer = sorted((first, second))
    return OnBoth(older, newer, models[: MAX_SIDES // 2]) if models and older != newer else None


def _with_results(
    user: AnyUser, revisions: Sequence[SuiteRevision], models: Sequence[RegisteredModel]
) -> dict[tuple[int, int], SuiteRun]:
    """Map (revision, model) to the run that counts, with outcomes and stored scores. The runs share the revisions and
    models."""
    by_pk = {model.pk: model for model in models}
    revision_of = {revision.pk: revision for revision in revisions}
    rows = PredictionResult.objects.select_related("prediction").order_by("position")
    runs = newest_done(visible_runs(user).filter(revision__in=revision_of, model__in=by_pk))
    light = runs.select_related(None).defer("region_summary")
    newest = list(light.prefetch_related("scores", Prefetch("prediction_results", queryset=rows)))
    for run in newest:
        run.model, run.revision = by_pk[run.model_id], revision_of[run.revision_id]
    return {(run.revision_id, run.model_id): run for run in newest}


def _predictions(revisions: Sequence[SuiteRevision]) -> dict[int, int]:
    """Count the predictions of each revision."""
    rows = Prediction.objects.filter(revision__in=revisions).values_list("revision")
    return dict(rows.annotate(n=Count("pk")))
