"""Stored runs as sides of a comparison (lmgym.runs.comparison), and tables over many suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from gym.runs.models import SuiteRun
from gym.runs.read.scores import Scored, scored
from lmgym.runs.comparison import (
    ItemOutcomes,
    Pair,
    Side,
    TotalDifference,
    against_baseline,
    item_counts,
    item_counts_among,
    total_difference,
)
from lmgym.runs.rules import Rule
from lmgym.runs.run_differences import RunDifference, ScoredAs, run_differences
from lmgym.runs.shared_material import Groups
from lmgym.stats import Correction
from lmgym.text.columns import described
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision


def scored_as(run: SuiteRun) -> ScoredAs:
    return ScoredAs(run.score_kind, run.policy, run.has_surprisals)


@dataclass(frozen=True)
class RunSide(Side):
    """A stored run with its stored score."""

    run: SuiteRun
    scored: Scored

    @property
    def rate(self) -> float | None:
        return self.scored.rate


def side_of(
    run: SuiteRun, label: str, rule: Rule, expected: int, among: Sequence[tuple[int, bool]] | None = None
) -> RunSide:
    """Build a side. `expected`: number of predictions of the revision; `among`: for two revisions, see
    `item_counts_among`."""
    results = [ItemOutcomes(row.items, row.outcome()) for row in run.prediction_results.all()]
    own_counts = item_counts(results, rule, expected)
    compared = own_counts if among is None else item_counts_among(results, rule, among)
    return RunSide(
        label, run.model_id, run.revision_id, scored_as(run), own_counts, compared, run, scored(run, rule)
    )


@dataclass(frozen=True)
class SuiteRow:
    """One suite: a side per model, the baseline's first (None: not run), and the pairs of the other models with the
    baseline (None unless both have run it)."""

    revision: SuiteRevision
    sides: list[RunSide | None]
    pairs: list[Pair[RunSide] | None]

    @property
    def against(self) -> list[Pair[RunSide] | None]:
        """`pairs` aligned with `sides`: None for the baseline."""
        return [None, *self.pairs]

    @cached_property
    def unlike(self) -> list[RunDifference]:
        return run_differences([side.scored_as if side else None for side in self.sides])


def suite_rows(
    revisions: Sequence[SuiteRevision],
    models: Sequence[RegisteredModel],
    runs: dict[tuple[int, int], SuiteRun],
    rule: Rule,
    expected: dict[int, int],
    correction: Correction,
) -> list[SuiteRow]:
    """Compare each model with the first one (the baseline), suite by suite; revisions on which no model has a rate are
    left out. `runs`: by (revision, model). p values are corrected over all suites and models."""
    sides_by_revision = [
        (
            revision,
            [
                side_of(run, model.label, rule, expected.get(revision.pk, 0))
                if (run := runs.get((revision.pk, model.pk)))
                else None
                for model in models
            ],
        )
        for revision in revisions
    ]
    rated = [
        (revision, sides)
        for revision, sides in sides_by_revision
        if any(side is not None and side.rate is not None for side in sides)
    ]
    pairs = against_baseline([sides for _, sides in rated], correction)
    return [SuiteRow(revision, sides, row) for (revision, sides), row in zip(rated, pairs, strict=True)]


@dataclass(frozen=True)
class Total(TotalDifference):
    model: RegisteredModel = described("the model that is compared with the baseline")


def totals_of(rows: Sequence[SuiteRow], others: Sequence[RegisteredModel], material: Groups) -> list[Total]:
    """Compute the total difference of each other model. `material`: items that suites share."""
    totals = []
    for k, model in enumerate(others):
        total = total_difference([pair for row in rows if (pair := row.pairs[k])], material)
        totals.append(Total(total.difference, total.suites_both, total.shared_items_factor, model))
    return totals
