"""Runs compared item by item: two to five models, or two revisions, on the same items."""

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
    Correction,
    Difference,
    McNemar,
    equivalence_p,
    is_skewed_for_its_size,
    paired_difference,
    paired_rates,
    shared_factor,
    sign_test,
)

MAX_SIDES = 5


@dataclass(frozen=True)
class PairTest:
    """The exact test of a pair. `only` describes the items that speak for one side."""

    key: str
    label: str
    only: str


MCNEMAR = PairTest("mcnemar", "McNemar’s exact test", "Items that only this one gets right")
SIGN = PairTest(
    "sign", "the exact sign test on the items’ shares", "Items of which this one gets the greater share"
)


class ItemOutcomes(NamedTuple):
    """One prediction's result with the numbers of the items that it is over."""

    items: Sequence[int]
    outcome: PredictionOutcome


@dataclass(frozen=True)
class ItemCounts:
    """Per item what it counts under the rule and by how many bits, over some predictions of a run; empty where the run
    lacks one of them. `in_shares`: an item has several predictions and counts with the share that hold. `per_item`: how
    many outcomes an item has."""

    results: tuple[ItemOutcomes, ...]
    shares: dict[int, float]
    margins: dict[int, float | None]
    in_shares: bool
    per_item: int = 1

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        return [{number: place for place, number in enumerate(row.items)} for row in self.results]

    def codes(self, item: int) -> list[int]:
        """Outcome codes of the item, one per prediction."""
        found = zip(self.results, self._places, strict=True)
        return [row.outcome.outcomes[places[item]] for row, places in found if item in places]


def item_counts(results: Sequence[ItemOutcomes], rule: Rule, expected: int) -> ItemCounts:
    """`expected`: how many predictions the suite has; a run that lacks what the rule needs counts nothing."""
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
    """Over the predictions that two revisions have in common. `among`: their positions, in an order common to both
    revisions, and whether the rule counts them."""
    by_position = {row.outcome.position: row for row in results}
    shown = [by_position[position] for position, _ in among if position in by_position]
    judged = [position for position, is_judged in among if is_judged]
    known = [by_position[position] for position in judged if position in by_position]
    return replace(item_counts(known, rule, len(judged)), results=tuple(shown))


@dataclass(frozen=True)
class Side:
    """One run of a comparison: its label, its model and suite revision, how its values were made, and what its items
    count, over all predictions (`own`) and, where two revisions are compared, over those that both have
    (`compared`)."""

    label: str
    model: Hashable
    revision: int
    made: ScoredAs
    own: ItemCounts
    compared: ItemCounts


S = TypeVar("S", bound=Side)


@dataclass(frozen=True)
class Equivalence:
    """p of the tests that two pass rates differ by less than `bound` (0..1); `p_corrected`: for all pairs."""

    bound: float
    p: float
    p_corrected: float

    @property
    def bound_points(self) -> float:
        return round(self.bound * 100, 6)


@dataclass(frozen=True)
class Pair(Generic[S]):
    """The second against the first, over the items both have. `counts`: of each; of two revisions over the predictions
    that both have. `p_corrected`: the test's p, corrected for all pairs. `equivalence`: where a bound was named and
    items hold or not; None where they count with shares."""

    first: S
    second: S
    counts: tuple[ItemCounts, ItemCounts]
    test: McNemar
    p_corrected: float = 1.0
    equivalence: Equivalence | None = None

    @property
    def method(self) -> PairTest:
        return SIGN if any(one.in_shares for one in self.counts) else MCNEMAR

    @cached_property
    def items(self) -> list[int]:
        return _common_items(*self.counts)

    @property
    def n(self) -> int:
        return len(self.items)

    @cached_property
    def rate(self) -> Difference:
        """Of what items count."""
        first, second = self.shares
        return paired_rates([first], [second], [self.per_item])

    @property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the common items count on the first and the second side."""
        first, second = (np.array([one.shares[item] for item in self.items]) for one in self.counts)
        return first, second

    @property
    def per_item(self) -> tuple[int, int]:
        """How many outcomes an item has on either side."""
        first, second = self.counts
        return first.per_item, second.per_item

    @cached_property
    def margin(self) -> Difference | None:
        """Bits; None where the bits of the two are not the same quantity. Ten thousand resamples."""
        if not same_bits(self.first.made, self.second.made):
            return None
        return paired_difference(*self._margins)

    @cached_property
    def margin_is_skewed(self) -> bool:
        """Whether the interval of the margins' difference is to be read with care."""
        if not same_bits(self.first.made, self.second.made):
            return False
        known = ((a, b) for a, b in zip(*self._margins, strict=True) if a is not None and b is not None)
        return is_skewed_for_its_size([b - a for a, b in known])

    @property
    def _margins(self) -> tuple[list[float | None], list[float | None]]:
        first, second = self.counts
        return [first.margins[item] for item in self.items], [second.margins[item] for item in self.items]


def _common_items(first: ItemCounts, second: ItemCounts) -> list[int]:
    return [item for item in first.shares if item in second.shares]


def pairs_of(
    sides: Sequence[S], correction: Correction, baseline: Hashable | None, bound: float | None = None
) -> list[Pair[S]]:
    """Models on the same revision, and revisions under the same model; with a baseline every other model against it, on
    the same revision. A pair that differs in both is no comparison anybody asks for, and one without a common item
    none at all: neither counts in the correction. `bound`: of the difference of pass rates, for equivalence."""
    models = {side.model for side in sides}
    wanted = [
        (first, second)
        for first, second in combinations(sides, 2)
        if (
            _differ_in_one(first, second)
            if baseline is None or len(models) == 1
            else _against(first, second, baseline)
        )
    ]
    rows = [row for first, second in wanted if (row := pair(first, second)).items]
    corrected = correction.adjust([row.test.p for row in rows])
    rows = [replace(row, p_corrected=p) for row, p in zip(rows, corrected, strict=True)]
    return rows if bound is None else _with_equivalence(rows, bound, correction)


def _with_equivalence(rows: Sequence[Pair[S]], bound: float, correction: Correction) -> list[Pair[S]]:
    def p_of(row: Pair[S]) -> float:
        return equivalence_p(row.test.only_first, row.test.only_second, row.n, bound)

    known = {k: p_of(row) for k, row in enumerate(rows) if row.method == MCNEMAR}
    corrected = dict(zip(known, correction.adjust(list(known.values())), strict=True))
    return [
        replace(row, equivalence=Equivalence(bound, known[k], corrected[k]) if k in known else None)
        for k, row in enumerate(rows)
    ]


def _differ_in_one(first: Side, second: Side) -> bool:
    return first.model == second.model or first.revision == second.revision


def _against(first: Side, second: Side, baseline: Hashable) -> bool:
    """`first` is the baseline's; sides come in the order of the models, the baseline's before all others."""
    return first.revision == second.revision and first.model == baseline != second.model


def pair(first: S, second: S) -> Pair[S]:
    """Two sides with their exact test, not corrected."""
    is_same_revision = first.revision == second.revision
    counts = (first.own, second.own) if is_same_revision else (first.compared, second.compared)
    items = _common_items(*counts)
    test = sign_test(*([one.shares[item] for item in items] for one in counts))
    return Pair(first, second, counts, test)


def tests_in_words(pairs: Sequence[Pair[S]]) -> str:
    """Names of the tests that the p values of a table are of."""
    tests = {row.method for row in pairs}
    if len(tests) > 1:
        return f"{MCNEMAR.label} where one prediction is compared, {SIGN.label} where several are"
    return next(iter(tests), MCNEMAR).label


class ItemCell(NamedTuple):
    """An item on one side: its outcome codes, what it counts, and its margin; of two revisions over the predictions
    that both have, and None where that is none."""

    codes: list[int]
    counts: float | None
    margin: float | None


@dataclass(frozen=True)
class ItemRow:
    """One item: a cell per side; None where a side lacks the item."""

    item: int
    cells: list[ItemCell | None]
    differs: bool


def item_rows(sides: Sequence[Side]) -> list[ItemRow]:
    known_items = [side.compared.shares or side.own.shares for side in sides]
    rows = []
    for item in dict.fromkeys(item for some in known_items for item in some):
        cells = [
            ItemCell(one.codes(item), one.shares.get(item), one.margins.get(item)) if item in some else None
            for one, some in zip((side.compared for side in sides), known_items, strict=True)
        ]
        known = {round(cell.counts, 9) for cell in cells if cell is not None and cell.counts is not None}
        rows.append(ItemRow(item, cells, len(known) > 1))
    return rows


# --- over many suites ---


def against_baseline(
    suites: Sequence[Sequence[S | None]], correction: Correction
) -> list[list[Pair[S] | None]]:
    """Every other model against the baseline on each suite; None unless both have run it.

    Args:
        suites: a side per model, the baseline's first; None: not run.
        correction: over the p values of all suites and models together.
    """
    rows = [[_pair_if_both(base, other) for other in others] for base, *others in suites]
    corrected = iter(correction.adjust([one.test.p for row in rows for one in row if one]))
    return [[replace(one, p_corrected=next(corrected)) if one else None for one in row] for row in rows]


def _pair_if_both(first: S | None, second: S | None) -> Pair[S] | None:
    return pair(first, second) if first and second and first.own.shares and second.own.shares else None


@dataclass(frozen=True)
class TotalDifference:
    """SG score of a model less the baseline's, over the `n_suites` both have run. `shared_items_factor`: by how much
    the standard error of the difference is greater because suites share material; the interval includes it."""

    difference: Difference
    n_suites: int
    shared_items_factor: float


def total_difference(pairs: Sequence[Pair[S]], material: Groups) -> TotalDifference:
    """Of one model against the baseline, a pair for each suite. `material`: which items of the suites share it."""
    shares = [one.shares for one in pairs]
    groups = groups_by_suite([(one.first.revision, one.items) for one in pairs], material)
    difference = paired_rates(
        [first for first, _ in shares],
        [second for _, second in shares],
        [one.per_item for one in pairs],
        groups=groups,
    )
    changes = [second - first for first, second in shares]
    factor = shared_factor(changes, [1 / len(pairs)] * len(pairs), groups) if groups else 1.0
    return TotalDifference(difference, len(pairs), factor)
