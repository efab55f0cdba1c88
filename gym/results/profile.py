"""One model against the field: its tags, strengths and weaknesses, robustness, size and checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gym.results.leaderboard import GROUP, Board, Mean, Row
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision

MODIFIED = re.compile(r"^(?P<plain>.+)[_-](?:mod|modifier)$")
"""Suites with a modifier are called like the suite without it, and `_mod` or `_modifier`."""
STEP = "step:"
"""A model's tag `step:1000` says after how many steps of training this checkpoint was taken."""


@dataclass(frozen=True)
class TagRow:
    """`field` is the mean of the other models' means, `n` how many they are."""

    tag: str
    mean: Mean
    field: float | None
    n: int


@dataclass(frozen=True)
class SuiteAgainstField:
    revision: SuiteRevision
    run: str
    rate: float
    low: float
    high: float
    field: float
    n: int
    rank: int

    @property
    def difference(self) -> float:
        return self.rate - self.field


@dataclass(frozen=True)
class RobustPair:
    """A suite without and with modifier under one model."""

    model: str
    plain: str
    modified: str
    without: float
    with_modifier: float

    @property
    def difference(self) -> float:
        return self.with_modifier - self.without


def row_of(board: Board, model: RegisteredModel) -> Row | None:
    return next((row for row in board.rows if model.pk in {one.pk for one in row.models}), None)


def tag_rows(board: Board, model: RegisteredModel) -> list[TagRow]:
    """Means over the suites of each tag; tags none of whose suites the model has run are left out."""
    own = row_of(board, model)
    rows = []
    for k, tag in enumerate(board.tags):
        mean = own.tags[k] if own else None
        others = [row.tags[k] for row in board.rows if row is not own]
        rates = [other.rate for other in others if other is not None]
        if mean is not None:
            rows.append(TagRow(tag, mean, sum(rates) / len(rates) if rates else None, len(rates)))
    return rows


def against_field(board: Board, model: RegisteredModel) -> list[SuiteAgainstField]:
    """Suites that others have run too, from the model's greatest advantage to its greatest disadvantage."""
    own = row_of(board, model)
    found = []
    for k, column in enumerate(board.columns):
        cell = own.cells[k] if own else None
        rates = [row.cells[k].rate for row in board.rows if row is not own and row.cells[k] is not None]  # type: ignore[union-attr]
        if cell is None or not rates:
            continue
        rank = 1 + sum(rate > cell.rate for rate in rates)
        mean = sum(rates) / len(rates)
        found.append(
            SuiteAgainstField(
                column.revision, cell.run, cell.rate, cell.low, cell.high, mean, len(rates), rank
            )
        )
    return sorted(found, key=lambda row: (-row.difference, row.revision.suite.title))


def robust_pairs(board: Board, models: Sequence[RegisteredModel] | None = None) -> list[RobustPair]:
    """Pairs of suites without and with modifier that the same model has run."""
    places = {column.suite.slug: k for k, column in enumerate(board.columns)}
    wanted = {model.pk for model in models} if models is not None else None
    pairs = []
    for slug, k in places.items():
        match = MODIFIED.match(slug)
        if match is None or match["plain"] not in places:
            continue
        plain = places[match["plain"]]
        for row in board.rows:
            before, after = row.cells[plain], row.cells[k]
            if before and after and (wanted is None or row.model.pk in wanted):
                pairs.append(RobustPair(row.name, match["plain"], slug, before.rate, after.rate))
    return pairs


@dataclass(frozen=True)
class Robustness:
    """One model over all its pairs, as in the paper's stability figure."""

    model: str
    n: int
    without: float
    with_modifier: float


def robustness(board: Board) -> list[Robustness]:
    """Means over the pairs that a model has run, most robust first."""
    by_model: dict[str, list[RobustPair]] = {}
    for pair in robust_pairs(board):
        by_model.setdefault(pair.model, []).append(pair)
    rows = [
        Robustness(
            name,
            len(pairs),
            sum(pair.without for pair in pairs) / len(pairs),
            sum(pair.with_modifier for pair in pairs) / len(pairs),
        )
        for name, pairs in by_model.items()
    ]
    return sorted(rows, key=lambda row: -row.without)


def checkpoints(board: Board, model: RegisteredModel) -> list[tuple[float, Row]]:
    """(training step, row) of the checkpoints of this model's group, in order; empty below two of them."""
    group = _tagged(model, GROUP)
    if not group:
        return []
    found = []
    for row in board.rows:
        step = _number(_tagged(row.model, STEP))
        if _tagged(row.model, GROUP) == group and step is not None:
            found.append((step, row))
    return sorted(found, key=lambda pair: pair[0]) if len(found) > 1 else []


def _tagged(model: RegisteredModel, prefix: str) -> str:
    tags = (str(tag) for tag in model.tags)
    return next((tag[len(prefix) :].strip() for tag in tags if tag.startswith(prefix)), "")


def _number(text: str) -> float | None:
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kKmM]?)", text)
    if match is None:
        return None
    return float(match[1]) * {"": 1.0, "k": 1e3, "m": 1e6}[match[2].lower()]
