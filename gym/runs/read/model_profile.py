"""One model compared with the others: tags, strengths and weaknesses, robustness (suites with a modifier), size and
checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.text import slugify

from gym.runs.read.leaderboard.build import StoredBoard, StoredColumn, StoredRow
from lmgym.runs.against_chance import effective_items
from lmgym.runs.leaderboard.board import Cell, Mean
from lmgym.stats import rate_difference, weighted_mean
from lmgym.stats.intervals import Interval
from models_registry.models import RegisteredModel
from models_registry.series import group_of, step_of
from suites.models import SuiteRevision


@dataclass(frozen=True)
class TagRow:
    """The model's mean over the suites of a tag. `field`: mean of the means of `n` other models."""

    tag: str
    mean: Mean
    field: float | None
    n: int


@dataclass(frozen=True)
class SuiteAgainstField:
    """A model's cell on a suite; `field`: mean of the rates of `n` other models."""

    revision: SuiteRevision
    cell: Cell
    field: float
    n: int
    rank: int

    @property
    def rate(self) -> float:
        return self.cell.rate

    @property
    def difference(self) -> float:
        return self.rate - self.field


@dataclass(frozen=True)
class Change:
    """Rates without and with modifier, and their difference, each with a 95% interval. The two suites have different
    items."""

    without: float
    without_interval: Interval
    with_modifier: float
    with_interval: Interval

    @property
    def difference(self) -> float:
        return self.with_modifier - self.without

    @cached_property
    def difference_interval(self) -> Interval:
        return rate_difference(self.without, self.without_interval, self.with_modifier, self.with_interval)


@dataclass(frozen=True)
class RobustPair:
    """One model's results on a suite and on the same suite with a modifier."""

    row: StoredRow
    plain: StoredColumn
    modified: StoredColumn
    before: Cell
    after: Cell

    @cached_property
    def change(self) -> Change:
        before, after = self.before, self.after
        return Change(
            before.rate,
            Interval(before.low, before.high),
            after.rate,
            Interval(after.low, after.high),
        )


def row_of(board: StoredBoard, model: RegisteredModel) -> StoredRow | None:
    return next((row for row in board.rows if model.pk in {member.pk for member in row.models}), None)


def tag_rows(board: StoredBoard, model: RegisteredModel) -> list[TagRow]:
    """Compute means over the suites of each tag; leaves out tags of which the model has run no suite."""
    own_row = row_of(board, model)
    rows = []
    for k, tag in enumerate(board.tags):
        mean = own_row.tags[k] if own_row else None
        others = [row.tags[k] for row in board.rows if row is not own_row]
        rates = [other.rate for other in others if other is not None]
        if mean is not None:
            rows.append(TagRow(tag, mean, sum(rates) / len(rates) if rates else None, len(rates)))
    return rows


def against_field(board: StoredBoard, model: RegisteredModel) -> list[SuiteAgainstField]:
    """Compare the model with the others on each suite that it and at least one other model have run, from its
    greatest advantage to its greatest disadvantage."""
    own_row = row_of(board, model)
    compared = []
    for k, column in enumerate(board.columns):
        cell = own_row.cells[k] if own_row else None
        rates = [row.cells[k].rate for row in board.rows if row is not own_row and row.cells[k] is not None]  # type: ignore[union-attr]
        if cell is None or not rates:
            continue
        rank = 1 + sum(rate > cell.rate for rate in rates)
        mean = sum(rates) / len(rates)
        compared.append(SuiteAgainstField(column.revision, cell, mean, len(rates), rank))
    return sorted(compared, key=lambda row: (-row.difference, row.revision.suite.title))


def strengths_and_weaknesses(
    ranked: Sequence[SuiteAgainstField],
) -> tuple[list[SuiteAgainstField], list[SuiteAgainstField]]:
    """Select the suites furthest above and furthest below the others, at most five each, none in both."""
    half = min(5, (len(ranked) + 1) // 2)
    strengths = [row for row in ranked[:half] if row.difference > 0]
    return strengths, [row for row in reversed(ranked[half:]) if row.difference < 0][:5]


def robust_pairs(board: StoredBoard, models: Sequence[RegisteredModel] | None = None) -> list[RobustPair]:
    """Return pairs of suites without and with modifier that the same model has run."""
    ids = {model.pk for model in models} if models is not None else None
    pairs = []
    for plain, modified in pairs_of([column.revision for column in board.columns]):
        for row in board.rows:
            before, after = row.cells[plain], row.cells[modified]
            if before and after and (ids is None or row.model.pk in ids):
                pairs.append(RobustPair(row, board.columns[plain], board.columns[modified], before, after))
    return pairs


@dataclass(frozen=True)
class Robustness:
    """One model's mean rates over its `n` pairs, as in the stability figure of the ACL 2020 paper."""

    row: StoredRow
    n: int
    n_items_without: int
    n_items_with: int
    change: Change


def robustness(board: StoredBoard) -> list[Robustness]:
    """Compute means over the pairs of each model, best first."""
    by_model: dict[int, list[RobustPair]] = {}
    for pair in robust_pairs(board):
        by_model.setdefault(pair.row.model.pk, []).append(pair)
    rows = [
        Robustness(
            pairs[0].row,
            len(pairs),
            sum(pair.before.n for pair in pairs),
            sum(pair.after.n for pair in pairs),
            Change(*_mean_of([pair.before for pair in pairs]), *_mean_of([pair.after for pair in pairs])),
        )
        for pairs in by_model.values()
    ]
    return sorted(rows, key=lambda row: -row.change.without)


def _mean_of(cells: Sequence[Cell]) -> tuple[float, Interval]:
    mean = weighted_mean(
        [cell.rate for cell in cells],
        [effective_items(cell) for cell in cells],
        [1.0] * len(cells),
    )
    assert mean is not None  # cells exist, and their weights are 1
    return mean


def checkpoints(board: StoredBoard, model: RegisteredModel) -> list[tuple[float, StoredRow]]:
    """Return (training step, row) of the checkpoints in this model's group, in order; empty for fewer than two."""
    group = group_of(model)
    if group is None:
        return []
    steps = []
    for row in board.rows:
        step = step_of(row.model)
        if group_of(row.model) == group and step is not None:
            steps.append((step, row))
    return sorted(steps, key=lambda pair: pair[0]) if len(steps) > 1 else []


MODIFIED = re.compile(r"^(?P<plain>.+)[_-](?:mod|modifier)$")
"""Name of a suite with a modifier: the name of the suite without it, plus `_mod` or `_modifier`."""


def pairs_of(revisions: Sequence[SuiteRevision]) -> list[tuple[int, int]]:
    """Return index pairs (without, with modifier). `Suite.without_modifier` takes precedence over names. By name, both
    must belong to one owner or one published collection; of several candidates, one in the same collection is
    preferred, then one of the same owner, then the one added nearest in time (the earlier on a tie)."""
    by_suite = {row.suite_id: k for k, row in enumerate(revisions)}
    by_name: dict[str, list[int]] = {}
    for k, row in enumerate(revisions):
        by_name.setdefault(slugify(row.name), []).append(k)
    by_hand: list[tuple[int, int]] = []
    candidates: dict[int, list[int]] = {}
    for k, row in enumerate(revisions):
        match = MODIFIED.match(slugify(row.name))
        if row.suite.without_modifier_id is not None:
            if (plain := by_suite.get(row.suite.without_modifier_id)) is not None:
                by_hand.append((plain, k))
        elif match and match["plain"] in by_name:
            candidates[k] = by_name[match["plain"]]
    return sorted([*by_hand, *_by_name(revisions, candidates)], key=lambda pair: pair[1])


def _by_name(revisions: Sequence[SuiteRevision], candidates: dict[int, list[int]]) -> list[tuple[int, int]]:
    if not candidates:
        return []
    concerned = {
        revisions[k].suite_id for candidate in candidates.items() for k in (candidate[0], *candidate[1])
    }
    together: dict[int, set[int]] = {}
    collected = SuiteRevision.objects.filter(
        suite__in=concerned, collection_entries__collection__published_at__isnull=False
    )
    for suite, collection in collected.values_list("suite_id", "collection_entries__collection"):
        together.setdefault(suite, set()).add(collection)
    pairs = []
    for k, places in candidates.items():
        modified = revisions[k]

        def nearness(place: int, modified: SuiteRevision = modified) -> tuple[bool, bool, int, bool]:
            plain = revisions[place]
            shared = together.get(plain.suite_id, set()) & together.get(modified.suite_id, set())
            same_owner = plain.suite.owner_id == modified.suite.owner_id
            distance = plain.suite_id - modified.suite_id
            return not shared, not same_owner, abs(distance), distance > 0

        best = min(places, key=nearness)
        if nearness(best)[:2] != (True, True):
            pairs.append((best, k))
    return pairs
