"""What a leaderboard is made of: cells, means, columns, rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gym.lib.stats import Spread, holm_of_known
from gym.runs.core.missing_rates import MissingRate
from gym.runs.read.leaderboard.options import Options
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one revision under the rule. `spread` only in rows that stand for several seeds; `policy` says what
    the run has otherwise than the default policy (evaluations.policies.departures), `whitespace` which correction its
    bits have."""

    run: str
    n: int
    passed: int
    judged: int
    ties: int
    too_close: int
    not_evaluable: int
    rate: float
    low: float
    high: float
    chance: float | None
    chance_p: float | None
    uploaded: bool
    spread: Spread | None = None
    policy: str = ""
    whitespace: str = ""

    @property
    def against(self) -> str:
        """above, at or below chance, as far as the interval says. Seeds have a range and no interval."""
        if self.chance is None or self.spread is not None:
            return ""
        return "above" if self.low > self.chance else "below" if self.high < self.chance else "at"

    @property
    def said_policy(self) -> str:
        """As exports say it; empty where it is not known."""
        return self.policy or ("" if self.uploaded else "default")


@dataclass(frozen=True)
class Mean:
    """Weighted mean over `n` of `of` suites, with its 95% interval; `spread` over seeds."""

    rate: float
    low: float
    high: float
    n: int
    of: int
    spread: Spread | None = None

    @property
    def is_complete(self) -> bool:
        return self.n == self.of


@dataclass(frozen=True)
class Column:
    """`key`: the suite's slug; with the revision where there are several revisions of one suite: "name r2"."""

    revision: SuiteRevision
    key: str
    tags: tuple[str, ...]
    weight: float
    chance: float | None = None

    @property
    def suite(self) -> Suite:
        return self.revision.suite

    @property
    def title(self) -> str:
        """The suite's, with the revision where the key has it."""
        return f"{self.suite.title}{self.key.removeprefix(self.suite.slug)}"


@dataclass(frozen=True)
class Row:
    """`models` has several members when the row stands for seeds of one model. `label` is the name, told apart from
    other rows of the same name. `gaps`: cells of each of the models that have no rate."""

    name: str
    models: tuple[RegisteredModel, ...]
    cells: tuple[Cell | None, ...]
    score: Mean | None
    tags: tuple[Mean | None, ...]
    gaps: tuple[MissingRate, ...] = ()
    label: str = ""

    @property
    def model(self) -> RegisteredModel:
        return self.models[0]

    @property
    def missing(self) -> int:
        return sum(cell is None for cell in self.cells)

    @property
    def is_masked(self) -> bool:
        return any(model.is_masked for model in self.models)


@dataclass(frozen=True)
class Board:
    options: Options
    columns: tuple[Column, ...]
    tags: tuple[str, ...]
    rows: tuple[Row, ...]
    all_tags: tuple[tuple[str, int], ...] = ()
    all_suites: tuple[Suite, ...] = ()
    all_models: tuple[RegisteredModel, ...] = ()
    unknown: tuple[str, ...] = ()
    has_groups: bool = False
    dropped: tuple[MissingRate, ...] = ()
    """Why `common` leaves out suites that its models have run."""

    @property
    def n_cells(self) -> int:
        return len(self.columns) * len(self.rows)

    @property
    def n_missing(self) -> int:
        return sum(row.missing for row in self.rows)

    @property
    def is_weighted(self) -> bool:
        return any(column.weight != 1 for column in self.columns)

    @cached_property
    def other_policies(self) -> list[tuple[Row, Column, str]]:
        """Cells that are not of the default policy, and what they have otherwise."""
        return [
            (row, column, cell.policy)
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if cell is not None and cell.policy
        ]

    @cached_property
    def gaps(self) -> list[MissingRate]:
        """Everything that has no rate here."""
        return [gap for row in self.rows for gap in row.gaps]

    @cached_property
    def lacking(self) -> list[MissingRate]:
        """What was run and has no rate under the rule."""
        return [gap for gap in self.gaps if gap.run]

    @cached_property
    def masked(self) -> list[Row]:
        """Rows whose bits are not surprisals."""
        return [row for row in self.rows if row.is_masked]

    @cached_property
    def p_holm(self) -> dict[str, float]:
        """By run: its one-sided p against chance, corrected by Holm's method for all cells of this table."""
        cells = [cell for row in self.rows for cell in row.cells if cell is not None]
        adjusted = zip(cells, holm_of_known([cell.chance_p for cell in cells]), strict=True)
        return {cell.run: p for cell, p in adjusted if p is not None}
