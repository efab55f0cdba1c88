"""Compare two to five runs item by item: several models, or two revisions of a suite.

Pass rates of any two runs are compared; margins only if the bits of both are the same quantity (`run_differences`).
The site and `lmgym.Result.compare` both use `compare_rates`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.rules import EACH, Rule, counted, item_margins, item_shares
from lmgym.runs.run_differences import ScoredAs, same_bits
from lmgym.runs.shared_material import Groups, groups_by_suite
from lmgym.stats import (
    MCNEMAR,
    SIGN,
    TESTS,
    Comparison,
    Correction,
    Difference,
    corrected,
    equivalence_p,
    is_skewed_for_its_size,
    paired_difference,
    paired_rates,
    shared_factor,
    sign_test,
)
from lmgym.suites.formulas import OUTCOME_NAMES
from lmgym.text.columns import described

MAX_SIDES = 5
FAVOURING = {
    MCNEMAR.key: "Items that only this run passes",
    SIGN.key: "Items of which this run passes a greater share of the predictions",
}
"""Meaning of `only_first` and `only_second`, by test."""


@dataclass(frozen=True)
class RateComparison(Comparison):
    """Pass rates of two runs over their common items. The interval is Newcombe's for paired rates."""

    effect_size_g: float | None = described(
        "Hedges’ g: mean of the items’ differences over their standard deviation, corrected for few items",
        default=None,
    )


def compare_rates(
    names: tuple[str, str],
    shares: tuple[NDArray[np.float64], NDArray[np.float64]],
    *,
    per_item: tuple[int, int] = (1, 1),
    in_shares: bool = False,
) -> RateComparison:
    """Compare two pass rates over the same items; p is exact, two-sided and not yet corrected.

    Args:
        names: labels of the two sides.
        shares: float64[n] each, pass share of each item (0 or 1, or a share of several predictions).
        per_item: outcomes per item on each side.
        in_shares: items count with shares, so the sign test replaces McNemar's.
    """
    first, second = shares
    rate = paired_rates([first], [second], [per_item])
    pairs = sign_test(first.tolist(), second.tolist())
    values = [float(side.mean()) if side.size else None for side in shares]
    return RateComparison(
        first=names[0],
        second=names[1],
        measure="rate",
        n=rate.n,
        first_value=values[0],
        second_value=values[1],
        difference=rate.mean,
        low=rate.low,
        high=rate.high,
        only_first=pairs.only_first,
        only_second=pairs.only_second,
        test=(SIGN if in_shares else MCNEMAR).key,
        p=pairs.p,
        effect_size_g=rate.effect_size_g,
    )


class ItemOutcomes(NamedTuple):
    """Outcomes of one prediction with the numbers of their items."""

    items: Sequence[int]
    outcome: PredictionOutcome


@dataclass(frozen=True)
class ItemCounts:
    """Pass share and margin of each item of a run under a rule, over some of its predictions.

    Empty if the run lacks one of these predictions.

    Attributes:
        shares: item -> 0..1.
        margins: item -> bits; None without a value.
        in_shares: items have several predictions, and each counts as the share of them that passes.
        per_item: outcomes per item.
    """

    results: tuple[ItemOutcomes, ...]
    shares: dict[int, float]
    margins: dict[int, float | None]
    in_shares: bool
    per_item: int = 1

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        return [{number: place for place, number in enumerate(row.items)} for row in self.results]

    def codes(self, item: int) -> list[int]:
        """Return the outcome codes of the item, one per prediction."""
        rows = zip(self.results, self._places, strict=True)
        return [row.outcome.outcomes[places[item]] for row, places in rows if item in places]


def item_counts(results: Sequence[ItemOutcomes], rule: Rule, expected: int) -> ItemCounts:
    """Apply the rule to the predictions of a run.

    `expected`: number of predictions of the suite. The counts are empty if the run lacks a prediction that the rule
    needs.
    """
    in_shares = rule.key == EACH.key and expected > 1
    rows = counted([row.outcome for row in results], rule, expected)
    if rows is None:
        return ItemCounts(tuple(results), {}, {}, in_shares)
    items = results[0].items
    shares = dict(zip(items, (float(share) for share in item_shares(rows, rule)), strict=True))
    margins = dict(zip(items, item_margins(rows, rule), strict=True))
    per_item = len(rows) if rule.key == EACH.key else 1
    return ItemCounts(tuple(results), shares, margins, in_shares, per_item)


def item_counts_among(
    results: Sequence[ItemOutcomes], rule: Rule, among: Sequence[tuple[int, bool]]
) -> ItemCounts:
    """Apply the rule to the predictions that two revisions have in common.

    `among`: their positions, in an order common to both revisions, and whether the rule counts them.
    """
    by_position = {row.outcome.position: row for row in results}
    shown = [by_position[position] for position, _ in among if position in by_position]
    judged = [position for position, is_judged in among if is_judged]
    known = [by_position[position] for position in judged if position in by_position]
    return replace(item_counts(known, rule, len(judged)), results=tuple(shown))


@dataclass(frozen=True)
class Side:
    """One run of a comparison.

    Attributes:
        scored_as: how the run was scored.
        overall: counts over all predictions.
        compared: counts over the predictions that both revisions have; equal to `overall` if there is one revision.
    """

    label: str
    model: Hashable
    revision: int
    scored_as: ScoredAs
    overall: ItemCounts
    compared: ItemCounts


S = TypeVar("S", bound=Side)


@dataclass(frozen=True)
class Equivalence:
    """Equivalence of two pass rates within `bound` (0..1): Tango's score test at both bounds (TOST)."""

    bound: float
    p: float = described("p of the test: small if the rates differ by less than the bound")
    p_corrected: float = described("p, corrected for all pairs")

    @property
    def bound_points(self) -> float:
        return round(self.bound * 100, 6)


@dataclass(frozen=True)
class Pair(Generic[S]):
    """The second run compared with the first, over their common items.

    Attributes:
        counts: item counts of each side; for two revisions, over their common predictions.
        rate: their pass rates.
        equivalence: None without a bound or if items count with shares.
    """

    first: S
    second: S
    counts: tuple[ItemCounts, ItemCounts]
    rate: RateComparison
    equivalence: Equivalence | None = None

    @property
    def favouring(self) -> str:
        """Meaning of `rate.only_first` and `rate.only_second`, for headings."""
        return FAVOURING[self.rate.test]

    @cached_property
    def items(self) -> list[int]:
        return _common_items(*self.counts)

    @property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pass share of each common item on either side: float64[n] each."""
        return _shares(self.counts, self.items)

    @property
    def per_item(self) -> tuple[int, int]:
        """Outcomes per item on either side."""
        first, second = self.counts
        return first.per_item, second.per_item

    @cached_property
    def margin(self) -> Difference | None:
        """Difference in bits, from 9,999 resamples; None if the bits of the two runs are different quantities."""
        if not same_bits(self.first.scored_as, self.second.scored_as):
            return None
        return paired_difference(*self._margins)

    @cached_property
    def margin_is_skewed(self) -> bool:
        """Whether the margins' differences are too skewed for a reliable interval at this n."""
        if not same_bits(self.first.scored_as, self.second.scored_as):
            return False
        known = ((a, b) for a, b in zip(*self._margins, strict=True) if a is not None and b is not None)
        return is_skewed_for_its_size([b - a for a, b in known])

    @property
    def _margins(self) -> tuple[list[float | None], list[float | None]]:
        first, second = self.counts
        return [first.margins[item] for item in self.items], [second.margins[item] for item in self.items]


def _common_items(first: ItemCounts, second: ItemCounts) -> list[int]:
    return [item for item in first.shares if item in second.shares]


def _shares(
    counts: tuple[ItemCounts, ItemCounts], items: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = (np.array([side.shares[item] for item in items], dtype=np.float64) for side in counts)
    return first, second


def pairs_of(
    sides: Sequence[S], correction: Correction, baseline: Hashable | None, bound: float | None = None
) -> list[Pair[S]]:
    """Pair runs of different models on one revision, and of one model on two revisions.

    Runs that differ in both are not paired. Pairs without a common item are dropped and not counted in the correction.

    Args:
        baseline: a model; if set, the others are paired only with it, on the same revision.
        bound: 0..1; if set, test whether pass rates differ by less than this.
    """
    models = {side.model for side in sides}
    chosen = [
        (first, second)
        for first, second in combinations(sides, 2)
        if (
            _differ_in_one(first, second)
            if baseline is None or len(models) == 1
            else _is_against(first, second, baseline)
        )
    ]
    rows = [row for first, second in chosen if (row := pair(first, second)).items]
    rates = corrected([row.rate for row in rows], correction)
    rows = [replace(row, rate=rate) for row, rate in zip(rows, rates, strict=True)]
    return rows if bound is None else _with_equivalence(rows, bound, correction)


def _with_equivalence(rows: Sequence[Pair[S]], bound: float, correction: Correction) -> list[Pair[S]]:
    def p_of(rate: RateComparison) -> float:
        return equivalence_p(rate.only_first or 0, rate.only_second or 0, rate.n or 0, bound)

    known = {k: p_of(row.rate) for k, row in enumerate(rows) if row.rate.test == MCNEMAR.key}
    adjusted = dict(zip(known, correction.adjust(list(known.values())), strict=True))
    return [
        replace(row, equivalence=Equivalence(bound, known[k], adjusted[k]) if k in known else None)
        for k, row in enumerate(rows)
    ]


def _differ_in_one(first: Side, second: Side) -> bool:
    return first.model == second.model or first.revision == second.revision


def _is_against(first: Side, second: Side, baseline: Hashable) -> bool:
    """Return whether `first` is the baseline's run on the second's revision. Sides of the baseline come first."""
    return first.revision == second.revision and first.model == baseline != second.model


def pair(first: S, second: S) -> Pair[S]:
    """Compare two runs; p is not corrected."""
    is_same_revision = first.revision == second.revision
    counts = (first.overall, second.overall) if is_same_revision else (first.compared, second.compared)
    rate = compare_rates(
        (first.label, second.label),
        _shares(counts, _common_items(*counts)),
        per_item=(counts[0].per_item, counts[1].per_item),
        in_shares=any(side.in_shares for side in counts),
    )
    return Pair(first, second, counts, rate)


def tests_in_words(pairs: Sequence[Pair[S]]) -> str:
    """Name the tests behind the p values of a table."""
    tests = {row.rate.test for row in pairs}
    if len(tests) > 1:
        return f"{MCNEMAR.label} where one prediction is compared, {SIGN.label} where several are"
    return TESTS[next(iter(tests), MCNEMAR.key)].label


@dataclass(frozen=True)
class ItemSide:
    """One item of one run. For two revisions, only their common predictions are used; without any, counts and margin
    are None."""

    codes: list[int]
    counts: float | None = described("value of the item under the rule", "0 to 1")
    margin: float | None = described("by how much the prediction holds (+) or fails (−)", "bits")

    @property
    def outcomes(self) -> list[str]:
        """Names of the outcomes, one per prediction."""
        return [OUTCOME_NAMES[code] for code in self.codes]


@dataclass(frozen=True)
class ItemRow:
    """One item on all sides."""

    item: int = described("number of the item in its suite")
    sides: list[ItemSide | None] = described("in the order of the runs; null: the revision has no such item")
    differs: bool = described("true if the runs disagree on the item")


def item_rows(sides: Sequence[Side]) -> list[ItemRow]:
    """Return a row for each item that any side has, in the order of the sides."""
    items_of_sides = [side.compared.shares or side.overall.shares for side in sides]
    rows = []
    for item in dict.fromkeys(item for items in items_of_sides for item in items):
        row = [
            ItemSide(counts.codes(item), counts.shares.get(item), counts.margins.get(item))
            if item in items
            else None
            for counts, items in zip((side.compared for side in sides), items_of_sides, strict=True)
        ]
        known = {round(side.counts, 9) for side in row if side is not None and side.counts is not None}
        rows.append(ItemRow(item, row, len(known) > 1))
    return rows


# --- over many suites ---


def against_baseline(
    suites: Sequence[Sequence[S | None]], correction: Correction
) -> list[list[Pair[S] | None]]:
    """Compare every model with the baseline on each suite; None unless both have run it.

    Args:
        suites: one side per model, the baseline's first; None: not run.
        correction: applied to the p values of all suites and models together.
    """
    rows = [[_pair_if_both(base, other) for other in others] for base, *others in suites]
    rates = iter(corrected([entry.rate for row in rows for entry in row if entry], correction))
    return [[replace(entry, rate=next(rates)) if entry else None for entry in row] for row in rows]


def _pair_if_both(first: S | None, second: S | None) -> Pair[S] | None:
    return (
        pair(first, second) if first and second and first.overall.shares and second.overall.shares else None
    )


@dataclass(frozen=True)
class TotalDifference:
    """SG score of a model minus the baseline's, over the suites that both have run."""

    difference: Difference = described("difference of the SG scores")
    suites_both: int = described("suites that both have run", "suites")
    shared_items_factor: float = described(
        "factor by which the standard error of the difference is larger because suites share material; the interval "
        "includes it"
    )


def total_difference(pairs: Sequence[Pair[S]], material: Groups) -> TotalDifference:
    """Average one model's difference from the baseline over suites, from one pair per suite. `material`: items that
    suites share."""
    shares = [entry.shares for entry in pairs]
    groups = groups_by_suite([(entry.first.revision, entry.items) for entry in pairs], material)
    difference = paired_rates(
        [first for first, _ in shares],
        [second for _, second in shares],
        [entry.per_item for entry in pairs],
        groups=groups,
    )
    changes = [second - first for first, second in shares]
    factor = shared_factor(changes, [1 / len(pairs)] * len(pairs), groups) if groups else 1.0
    return TotalDifference(difference, len(pairs), factor)
