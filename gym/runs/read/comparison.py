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

from gym.lib.stats import (
    Correction,
    Difference,
    McNemar,
    paired_difference,
    paired_rates,
    shared_factor,
    sign_test,
)
from gym.runs.core.rules import EACH, Rule, counted, item_margins, item_shares
from gym.runs.models import PredictionResult, SuiteRun
from gym.runs.read.scores import Scored, scored
from gym.runs.read.shared_items import Groups, groups_by_suite
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
class Side:
    """One run of a comparison: what it is called, its stored score, and per item what it counts under the rule and by
    how much. `in_shares`: an item has several predictions and counts with the share that hold. `per_item`: how many
    outcomes an item has."""

    label: str
    run: SuiteRun
    scored: Scored
    results: tuple[PredictionResult, ...]
    shares: dict[int, float]
    margins: dict[int, float | None]
    in_shares: bool
    per_item: int = 1

    @property
    def rate(self) -> float | None:
        return self.scored.rate

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        return [{number: place for place, number in enumerate(row.items)} for row in self.results]

    def codes(self, item: int) -> list[int]:
        """Outcome codes of the item, one per prediction."""
        found = zip(self.results, self._places, strict=True)
        return [row.outcomes[places[item]] for row, places in found if item in places]


def side_of(run: SuiteRun, label: str, rule: Rule, expected: int) -> Side:
    """`expected`: how many predictions the run's revision has."""
    results = tuple(run.prediction_results.all())
    in_shares = rule.key == EACH.key and expected > 1
    rows = counted([row.outcome() for row in results], rule, expected)
    if rows is None:
        return Side(label, run, scored(run, rule), results, {}, {}, in_shares)
    items = results[0].items
    shares = dict(zip(items, (float(share) for share in item_shares(rows, rule)), strict=True))
    margins = dict(zip(items, item_margins(rows, rule), strict=True))
    per_item = len(rows) if rule.key == EACH.key else 1
    return Side(label, run, scored(run, rule), results, shares, margins, in_shares, per_item)


@dataclass(frozen=True)
class Pair:
    """The second against the first, over the items both have. `p_corrected`: the test's p, corrected for all pairs."""

    first: Side
    second: Side
    test: McNemar
    p_corrected: float = 1.0

    @property
    def method(self) -> PairTest:
        return SIGN if self.first.in_shares or self.second.in_shares else MCNEMAR

    @cached_property
    def items(self) -> list[int]:
        return [item for item in self.first.shares if item in self.second.shares]

    @property
    def n_items(self) -> int:
        return len(self.items)

    @cached_property
    def rate(self) -> Difference:
        """Of what items count."""
        first, second = self.counts
        return paired_rates([first], [second], [self.per_item])

    @property
    def counts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the items what they count on the first and the second side."""
        first, second = (np.array([side.shares[item] for item in self.items]) for side in self._sides)
        return first, second

    @property
    def per_item(self) -> tuple[int, int]:
        """How many outcomes an item has on either side."""
        return self.first.per_item, self.second.per_item

    @cached_property
    def margin(self) -> Difference | None:
        """Bits; None where the bits of the two are not the same quantity. Ten thousand resamples."""
        if not same_bits(self.first.run, self.second.run):
            return None
        return paired_difference(*([side.margins[item] for item in self.items] for side in self._sides))

    @property
    def _sides(self) -> tuple[Side, Side]:
        return self.first, self.second


def pairs_of(sides: Sequence[Side], correction: Correction, baseline: RegisteredModel | None) -> list[Pair]:
    """Every pair; with a baseline every other model against it, on the same revision."""
    models = {side.run.model_id for side in sides}
    rows = [
        _pair(first, second)
        for first, second in combinations(sides, 2)
        if baseline is None or len(models) == 1 or _against(first, second, baseline)
    ]
    corrected = correction.adjust([row.test.p for row in rows])
    return [replace(row, p_corrected=p) for row, p in zip(rows, corrected, strict=True)]


def _against(first: Side, second: Side, baseline: RegisteredModel) -> bool:
    """`first` is the baseline's; sides come in the order of the models, the baseline's before all others."""
    same_revision = first.run.revision_id == second.run.revision_id
    return same_revision and first.run.model_id == baseline.pk != second.run.model_id


def _pair(first: Side, second: Side) -> Pair:
    items = [item for item in first.shares if item in second.shares]
    test = sign_test([first.shares[item] for item in items], [second.shares[item] for item in items])
    return Pair(first, second, test)


def tests_in_words(pairs: Sequence[Pair]) -> str:
    """What the p values of a table are."""
    tests = {pair.method for pair in pairs}
    if len(tests) > 1:
        return f"{MCNEMAR.label} where a suite has one prediction, {SIGN.label} where it has several"
    return next(iter(tests), MCNEMAR).label


class ItemCell(NamedTuple):
    """An item on one side: its outcome codes, what it counts, and its margin."""

    codes: list[int]
    counts: float
    margin: float | None


@dataclass(frozen=True)
class ItemRow:
    """One item: a cell per side; None where a side lacks the item."""

    item: int
    cells: list[ItemCell | None]
    differs: bool


def item_rows(sides: Sequence[Side]) -> list[ItemRow]:
    items = list(dict.fromkeys(item for side in sides for item in side.shares))
    rows = []
    for item in items:
        cells = [
            ItemCell(side.codes(item), side.shares[item], side.margins[item]) if item in side.shares else None
            for side in sides
        ]
        known = {round(cell.counts, 9) for cell in cells if cell is not None}
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
    return _pair(first, second) if first and second and first.shares and second.shares else None


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
        counts = [pair.counts for pair in pairs]
        groups = groups_by_suite([(pair.first.run.revision_id, pair.items) for pair in pairs], material)
        difference = paired_rates(
            [first for first, _ in counts],
            [second for _, second in counts],
            [pair.per_item for pair in pairs],
            groups=groups,
        )
        changes = [second - first for first, second in counts]
        factor = shared_factor(changes, [1 / len(pairs)] * len(pairs), groups) if groups else 1.0
        totals.append(Total(model, difference, len(pairs), factor))
    return totals
