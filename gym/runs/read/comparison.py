"""Two to five models, or two revisions, on the same items; and whether the numbers of their runs can be compared: what
their bits are, and how they were made.

A masked model's pseudo-log-likelihood is no surprisal, the mean of a region is not its sum, and corrected bits are not
raw ones: margins of such runs are not subtracted from each other. Other differences (start token, end token, joining)
are said beside the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gym.runs.models import PredictionResult, SuiteRun
from gym.runs.read.scores import Scored, scored
from gym.runs.read.shared_items import Groups, groups_by_suite
from lmgym.runs.rules import EACH, Rule, counted, item_margins, item_shares
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
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision

BITS = {"score_kind": "Kind of score", "metric": "Region value", "whitespace": "Whitespace correction"}
"""Facts without which margins are not the same quantity."""
FACTS = BITS | {"bos": "Start token", "eos": "End token", "join": "Joining"}
NOT_SAID = "not said"
OUTCOMES_ALONE = "outcomes alone"


@dataclass(frozen=True)
class RunDifference:
    """A fact in which runs differ, and what each of them has in their order; None where a run is missing or
    cannot say."""

    key: str
    values: tuple[str | None, ...]

    @property
    def what(self) -> str:
        return FACTS[self.key]


def run_differences(runs: Sequence[SuiteRun | None]) -> list[RunDifference]:
    """In what these runs differ, apart from model and revision."""
    found = []
    for key in FACTS:
        said = [run if run is None or key == "score_kind" or run.has_surprisals else None for run in runs]
        values = tuple(None if run is None else _fact(run, key) for run in said)
        if len({value for value in values if value is not None}) > 1:
            found.append(RunDifference(key, values))
    return found


def same_bits(first: SuiteRun, second: SuiteRun) -> bool:
    """Whether margins of both are the same quantity."""
    return not any(row.key in BITS for row in run_differences([first, second]))


def counted_differences(found: Iterable[Sequence[RunDifference]]) -> list[tuple[RunDifference, int]]:
    """Each difference once, with the number of comparisons that have it."""
    counts = Counter(row for rows in found for row in rows)
    places = list(FACTS)
    return sorted(counts.items(), key=lambda pair: (places.index(pair[0].key), -pair[1]))


def in_words(row: RunDifference, labels: Sequence[str]) -> str:
    """“Region value: sum (GPT-2), mean (BERT)”, the runs with the same value together."""
    by_value: dict[str, list[str]] = {}
    for value, label in zip(row.values, labels, strict=True):
        if value is not None:
            by_value.setdefault(value, []).append(label)
    return f"{row.what}: " + "; ".join(f"{value} ({', '.join(who)})" for value, who in by_value.items())


def _fact(run: SuiteRun, key: str) -> str | None:
    if key == "score_kind":
        return run.score_kind if run.has_surprisals else OUTCOMES_ALONE
    value = run.policy.get(key)
    if value is None:  # uploaded bits are raw unless somebody corrected them: not saying so is no difference
        return None if key == "whitespace" else NOT_SAID
    if key == "eos":
        return "scored" if value else "not scored"
    return str(value)


MAX_SIDES = 5


@dataclass(frozen=True)
class PairTest:
    """The exact test of a pair: `only` is said of the items that speak for one side."""

    key: str
    label: str
    only: str


MCNEMAR = PairTest("mcnemar", "McNemar’s exact test", "Items that only this one gets right")
SIGN = PairTest(
    "sign", "the exact sign test on the items’ shares", "Items of which this one gets the greater share"
)


@dataclass(frozen=True)
class ItemCounts:
    """Per item what it counts under the rule and by how many bits, over some predictions of a run; empty where the run
    lacks one of them. `in_shares`: an item has several predictions and counts with the share that hold. `per_item`: how
    many outcomes an item has."""

    results: tuple[PredictionResult, ...]
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
        return [row.outcomes[places[item]] for row, places in found if item in places]


@dataclass(frozen=True)
class Side:
    """One run of a comparison: what it is called, its stored score, and what its items count, over all predictions.
    `compared`: over those that both revisions have, where two are compared."""

    label: str
    run: SuiteRun
    scored: Scored
    own: ItemCounts
    compared: ItemCounts

    @property
    def rate(self) -> float | None:
        return self.scored.rate


def side_of(
    run: SuiteRun, label: str, rule: Rule, expected: int, among: Sequence[tuple[int, bool]] | None = None
) -> Side:
    """`expected`: how many predictions the run's revision has. `among`: where two revisions are compared, the positions
    of the predictions that both have, in an order common to both, and whether the rule counts them."""
    results = tuple(run.prediction_results.all())
    own = item_counts(results, rule, expected)
    return Side(label, run, scored(run, rule), own, own if among is None else _among(results, rule, among))


def item_counts(results: Sequence[PredictionResult], rule: Rule, expected: int) -> ItemCounts:
    in_shares = rule.key == EACH.key and expected > 1
    rows = counted([row.outcome() for row in results], rule, expected)
    if rows is None:
        return ItemCounts(tuple(results), {}, {}, in_shares)
    items = results[0].items
    shares = dict(zip(items, (float(share) for share in item_shares(rows, rule)), strict=True))
    margins = dict(zip(items, item_margins(rows, rule), strict=True))
    per_item = len(rows) if rule.key == EACH.key else 1
    return ItemCounts(tuple(results), shares, margins, in_shares, per_item)


def _among(results: Sequence[PredictionResult], rule: Rule, among: Sequence[tuple[int, bool]]) -> ItemCounts:
    by_position = {row.position: row for row in results}
    shown = [by_position[position] for position, _ in among if position in by_position]
    judged = [position for position, is_judged in among if is_judged]
    known = [by_position[position] for position in judged if position in by_position]
    return replace(item_counts(known, rule, len(judged)), results=tuple(shown))


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
class Pair:
    """The second against the first, over the items both have. `counts`: of each; of two revisions over the predictions
    that both have. `p_corrected`: the test's p, corrected for all pairs. `equivalence`: where a bound was named and
    items hold or not; None where they count with shares."""

    first: Side
    second: Side
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
    def n_items(self) -> int:
        return len(self.items)

    @cached_property
    def rate(self) -> Difference:
        """Of what items count."""
        first, second = self.shares
        return paired_rates([first], [second], [self.per_item])

    @property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the common items what they count on the first and the second side."""
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
        if not same_bits(self.first.run, self.second.run):
            return None
        return paired_difference(*self._margins)

    @cached_property
    def margin_is_skewed(self) -> bool:
        """Whether the interval of the margins' difference is to be read with care."""
        if not same_bits(self.first.run, self.second.run):
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
    sides: Sequence[Side],
    correction: Correction,
    baseline: RegisteredModel | None,
    bound: float | None = None,
) -> list[Pair]:
    """Models on the same revision, and revisions under the same model; with a baseline every other model against it, on
    the same revision. A pair that differs in both is no comparison anybody asks for, and one without a common item
    none at all: neither counts in the correction. `bound`: of the difference of pass rates, for equivalence."""
    models = {side.run.model_id for side in sides}
    wanted = [
        (first, second)
        for first, second in combinations(sides, 2)
        if (
            _differ_in_one(first, second)
            if baseline is None or len(models) == 1
            else _against(first, second, baseline)
        )
    ]
    rows = [pair for first, second in wanted if (pair := _pair(first, second)).items]
    corrected = correction.adjust([row.test.p for row in rows])
    rows = [replace(row, p_corrected=p) for row, p in zip(rows, corrected, strict=True)]
    return rows if bound is None else _with_equivalence(rows, bound, correction)


def _with_equivalence(rows: Sequence[Pair], bound: float, correction: Correction) -> list[Pair]:
    def p_of(row: Pair) -> float:
        return equivalence_p(row.test.only_first, row.test.only_second, row.n_items, bound)

    known = {k: p_of(row) for k, row in enumerate(rows) if row.method == MCNEMAR}
    corrected = dict(zip(known, correction.adjust(list(known.values())), strict=True))
    return [
        replace(row, equivalence=Equivalence(bound, known[k], corrected[k]) if k in known else None)
        for k, row in enumerate(rows)
    ]


def _differ_in_one(first: Side, second: Side) -> bool:
    return first.run.model_id == second.run.model_id or first.run.revision_id == second.run.revision_id


def _against(first: Side, second: Side, baseline: RegisteredModel) -> bool:
    """`first` is the baseline's; sides come in the order of the models, the baseline's before all others."""
    same_revision = first.run.revision_id == second.run.revision_id
    return same_revision and first.run.model_id == baseline.pk != second.run.model_id


def _pair(first: Side, second: Side) -> Pair:
    is_same_revision = first.run.revision_id == second.run.revision_id
    counts = (first.own, second.own) if is_same_revision else (first.compared, second.compared)
    items = _common_items(*counts)
    test = sign_test(*([one.shares[item] for item in items] for one in counts))
    return Pair(first, second, counts, test)


def tests_in_words(pairs: Sequence[Pair]) -> str:
    """What the p values of a table are."""
    tests = {pair.method for pair in pairs}
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


# --- over many suites --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SuiteRow:
    """One suite: a side per model, the baseline's first (None: not run), and every other model against the baseline
    (None: not both have run)."""

    revision: SuiteRevision
    sides: list[Side | None]
    pairs: list[Pair | None]

    @property
    def against(self) -> list[Pair | None]:
        """In the places of `sides`: the baseline's has none."""
        return [None, *self.pairs]

    @cached_property
    def unlike(self) -> list[RunDifference]:
        return run_differences([side.run if side else None for side in self.sides])


def suite_rows(
    revisions: Sequence[SuiteRevision],
    models: Sequence[RegisteredModel],
    runs: dict[tuple[int, int], SuiteRun],
    rule: Rule,
    expected: dict[int, int],
    correction: Correction,
) -> list[SuiteRow]:
    """`runs`: by (revision, model). The p values of all suites and models are corrected together."""
    rows = []
    for revision in revisions:
        sides = [
            side_of(run, model.label, rule, expected.get(revision.pk, 0))
            if (run := runs.get((revision.pk, model.pk)))
            else None
            for model in models
        ]
        base, *others = sides
        if any(side is not None and side.rate is not None for side in sides):
            rows.append(SuiteRow(revision, sides, [_pair_if_both(base, other) for other in others]))
    corrected = iter(correction.adjust([pair.test.p for row in rows for pair in row.pairs if pair]))
    return [
        replace(
            row, pairs=[replace(pair, p_corrected=next(corrected)) if pair else None for pair in row.pairs]
        )
        for row in rows
    ]


def _pair_if_both(first: Side | None, second: Side | None) -> Pair | None:
    return _pair(first, second) if first and second and first.own.shares and second.own.shares else None


@dataclass(frozen=True)
class Total:
    """SG score of a model less that of the baseline, over the `n_suites` both have run. `shared_items_factor`: by how
    much the standard error of the difference is greater because suites share material; the interval includes it."""

    model: RegisteredModel
    difference: Difference
    n_suites: int
    shared_items_factor: float = 1.0


def totals_of(rows: Sequence[SuiteRow], others: Sequence[RegisteredModel], material: Groups) -> list[Total]:
    """`material`: which items of the suites share it."""
    totals = []
    for k, model in enumerate(others):
        pairs = [pair for row in rows if (pair := row.pairs[k])]
        shares = [pair.shares for pair in pairs]
        groups = groups_by_suite([(pair.first.run.revision_id, pair.items) for pair in pairs], material)
        difference = paired_rates(
            [first for first, _ in shares],
            [second for _, second in shares],
            [pair.per_item for pair in pairs],
            groups=groups,
        )
        changes = [second - first for first, second in shares]
        factor = shared_factor(changes, [1 / len(pairs)] * len(pairs), groups) if groups else 1.0
        totals.append(Total(model, difference, len(pairs), factor))
    return totals
