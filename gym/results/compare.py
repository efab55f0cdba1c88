"""Two to five models, or two revisions, on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gym.evaluations.models import PredictionResult, SuiteRun
from gym.results.rules import Rule, counted, item_margins, item_shares
from gym.results.scores import judged
from gym.results.stats import (
    Difference,
    McNemar,
    holm,
    paired_difference,
    sign_test,
    stratified_difference,
)
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision

MAX_SIDES = 5


@dataclass(frozen=True)
class Side:
    """One run of a comparison: what it is called, and per item what it counts under the rule and by how much."""

    label: str
    run: SuiteRun
    results: tuple[PredictionResult, ...]
    shares: dict[int, float]
    margins: dict[int, float | None]

    def codes(self, item: int) -> list[int]:
        """Outcome codes of the item, one per prediction."""
        return [
            row.outcomes[place]
            for row in self.results
            if (place := next((k for k, number in enumerate(row.items) if number == item), None)) is not None
        ]


def side_of(run: SuiteRun, label: str, rule: Rule, expected: int) -> Side:
    """`expected`: how many predictions the run's revision has."""
    results = tuple(run.prediction_results.all())
    rows = counted(judged(results), rule, expected)
    if rows is None:
        return Side(label, run, results, {}, {})
    items = results[0].items
    shares = dict(zip(items, (float(share) for share in item_shares(rows, rule)), strict=True))
    return Side(label, run, results, shares, dict(zip(items, item_margins(rows, rule), strict=True)))


@dataclass(frozen=True)
class Pair:
    """The second against the first, over the items both have. `p` is McNemar's; `p_holm` corrected for all pairs."""

    first: Side
    second: Side
    n: int
    rate: Difference
    test: McNemar
    margin: Difference
    p_holm: float = 1.0


def pairs_of(sides: Sequence[Side]) -> list[Pair]:
    rows = [_pair(first, second) for first, second in combinations(sides, 2)]
    corrected = holm([row.test.p for row in rows])
    return [
        Pair(row.first, row.second, row.n, row.rate, row.test, row.margin, p)
        for row, p in zip(rows, corrected, strict=True)
    ]


def _pair(first: Side, second: Side) -> Pair:
    items = [item for item in first.shares if item in second.shares]
    left, right = [first.shares[item] for item in items], [second.shares[item] for item in items]
    margins = [first.margins[item] for item in items], [second.margins[item] for item in items]
    return Pair(
        first,
        second,
        len(items),
        paired_difference(left, right),
        sign_test(left, right),
        paired_difference(*margins),
    )


@dataclass(frozen=True)
class ItemRow:
    """One item: per side its outcome codes, share and margin; None where a side lacks the item."""

    item: int
    cells: list[tuple[list[int], float, float | None] | None]
    differs: bool


def item_rows(sides: Sequence[Side]) -> list[ItemRow]:
    items = list(dict.fromkeys(item for side in sides for item in side.shares))
    rows = []
    for item in items:
        cells = [
            (side.codes(item), side.shares[item], side.margins[item]) if item in side.shares else None
            for side in sides
        ]
        known = {round(cell[1], 9) for cell in cells if cell is not None}
        rows.append(ItemRow(item, cells, len(known) > 1))
    return rows


# --- over many suites --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SuiteRow:
    """One suite: a rate per model (None: not run), and the last model against the first when both have run."""

    revision: SuiteRevision
    rates: list[float | None]
    pair: Pair | None
    p_holm: float | None = None


def suite_rows(
    revisions: Sequence[SuiteRevision],
    models: Sequence[RegisteredModel],
    runs: dict[tuple[int, int], SuiteRun],
    rule: Rule,
    expected: dict[int, int],
) -> list[SuiteRow]:
    """`runs`: by (revision, model). The p values of all suites are corrected together (Holm)."""
    rows = []
    for revision in revisions:
        sides = [
            side_of(run, model.name, rule, expected.get(revision.pk, 0))
            if (run := runs.get((revision.pk, model.pk)))
            else None
            for model in models
        ]
        rates = [
            float(np.mean(list(side.shares.values()))) if side and side.shares else None for side in sides
        ]
        ends = sides[0], sides[-1]
        both = ends[0] is not None and ends[1] is not None and ends[0].shares and ends[1].shares
        pair = _pair(ends[0], ends[1]) if both and ends[0] and ends[1] else None
        if any(rate is not None for rate in rates):
            rows.append(SuiteRow(revision, rates, pair))
    corrected = iter(holm([row.pair.test.p for row in rows if row.pair]))
    return [
        SuiteRow(row.revision, row.rates, row.pair, next(corrected) if row.pair else None) for row in rows
    ]


def over_suites(rows: Sequence[SuiteRow]) -> Difference:
    """The last model's SG score less the first's, over the suites both have run."""
    strata = []
    for row in rows:
        if row.pair:
            items = [item for item in row.pair.first.shares if item in row.pair.second.shares]
            strata.append(
                np.array([row.pair.second.shares[item] - row.pair.first.shares[item] for item in items])
            )
    return stratified_difference(strata, [1.0] * len(strata))
