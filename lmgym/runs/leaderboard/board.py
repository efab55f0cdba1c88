"""Data of a leaderboard: cells, means, columns, rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic

from typing_extensions import TypeVar

from lmgym.runs.against_chance import ALPHA, NO_VERDICT, Verdict
from lmgym.runs.coverage import coverage_share, coverage_words
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.missing_rates import MissingRate
from lmgym.runs.rules import RuleCounts
from lmgym.stats import Spread
from lmgym.text import count
from lmgym.text.columns import described

Revision = TypeVar("Revision", default=Any, covariant=True)
"""A revision of a suite; needs `pk`, `number`, `sha256`, and `suite` with `slug` and `title`. Not bound to a protocol,
because mypy does not match Django models to protocols within import cycles."""

Model = TypeVar("Model", default=Any, covariant=True)
"""A model; needs `slug`, `parameters`, `perplexity`, and `is_masked` (values are pseudo-log-likelihoods)."""


@dataclass(frozen=True, slots=True)
class Cell(RuleCounts):
    """One model on one revision under the rule.

    Attributes:
        spread: only in rows that group several seeds.
        policy: differences from the default policy, in words.
        whitespace: whitespace correction of the values.
        n_words, n_unknown_words: None = not counted (`lmgym.runs.coverage`).
        verdict: NO_VERDICT for grouped seeds, which have a range instead of an interval.
    """

    rate: float = described("pass rate under the rule", "0 to 1")
    low: float = described("lower limit of the rate’s 95% interval")
    high: float = described("upper limit of the rate’s 95% interval")
    run: str = described("id of the run")
    uploaded: bool = described("true if the results were computed elsewhere and uploaded")
    spread: Spread | None = None
    policy: str = ""
    whitespace: str = ""
    n_words: int | None = None
    n_unknown_words: int | None = None
    verdict: Verdict = NO_VERDICT

    @property
    def coverage(self) -> float | None:
        return coverage_share(self.n_words, self.n_unknown_words)

    @property
    def coverage_words(self) -> str:
        return coverage_words(self.n_words, self.n_unknown_words)

    @property
    def policy_text(self) -> str:
        """The policy as in exports; empty if unknown."""
        return self.policy or ("" if self.uploaded else "default")


@dataclass(frozen=True)
class Mean:
    """Weighted mean over `suites_run` of `suites` suites with its 95% interval; `spread` over seeds.

    `shared_items_factor`: factor by which material shared between suites increases the standard error; included in
    the interval. None: not computed, so the interval assumes independent items.
    """

    rate: float
    low: float
    high: float
    suites_run: int
    suites: int
    spread: Spread | None = None
    shared_items_factor: float | None = 1.0

    @property
    def is_complete(self) -> bool:
        return self.suites_run == self.suites


@dataclass(frozen=True)
class Column(Generic[Revision]):
    """A suite revision as a column. `key`: the suite's slug; "slug r2" if the table has several revisions of
    the suite."""

    revision: Revision
    key: str
    tags: tuple[str, ...]
    weight: float
    chance: float | None = None

    @cached_property
    def revision_id(self) -> int:
        revision: Any = self.revision
        return int(revision.pk)  # cached, because the `pk` of a Django model is slow

    @property
    def suite(self) -> Any:
        revision: Any = self.revision
        return revision.suite

    @property
    def title(self) -> str:
        """Title of the suite, with the revision if `key` has it."""
        return f"{self.suite.title}{self.key.removeprefix(self.suite.slug)}"


@dataclass(frozen=True)
class Row(Generic[Model]):
    """A model as a row, or several `models` if the row groups the seeds of one model. `label` is a unique
    name. `gaps`: cells without a rate, for each of the models."""

    name: str
    models: tuple[Model, ...]
    cells: tuple[Cell | None, ...]
    score: Mean | None
    tags: tuple[Mean | None, ...]
    gaps: tuple[MissingRate, ...] = ()
    label: str = ""
    rank: int | None = None
    """Rank by SG score among the models that have run every suite of the tag or collection or, without either, every
    suite that any of them has run; None = not ranked."""

    @property
    def model(self) -> Model:
        return self.models[0]

    @property
    def missing(self) -> int:
        return sum(cell is None for cell in self.cells)

    @property
    def is_masked(self) -> bool:
        models: tuple[Any, ...] = self.models
        return any(model.is_masked for model in models)


@dataclass(frozen=True)
class Board(Generic[Revision, Model]):
    options: Options
    columns: tuple[Column[Revision], ...]
    tags: tuple[str, ...]
    rows: tuple[Row[Model], ...]
    all_tags: tuple[tuple[str, int], ...] = ()
    all_suites: tuple[Any, ...] = ()
    all_models: tuple[Model, ...] = ()
    unknown: tuple[str, ...] = ()
    has_groups: bool = False
    run_set: str = ""
    """Suites over which one model's results are tested against chance as a family, independent of filters: "the
    collection “NAME”", "the tag “NAME”"; empty = cells are tested individually."""
    n_set: int = 0
    """Suites of the tag or collection, or of the whole site, independent of filters."""
    dropped: tuple[MissingRate, ...] = ()
    """Missing rates that make `common` exclude suites."""
    sharing: tuple[str, ...] = ()
    """Keys of suites that share material with another suite."""

    @property
    def shared_factors(self) -> list[float | None]:
        """`Mean.shared_items_factor` of the scores that have an interval."""
        scores = [row.score for row in self.rows]
        return [score.shared_items_factor for score in scores if score is not None and score.spread is None]

    @property
    def n_cells(self) -> int:
        return len(self.columns) * len(self.rows)

    @property
    def has_suites_in_rows(self) -> bool:
        """Whether suites are the rows of tables for readers (page, heat map, LaTeX); by default, if there are
        more suites than models."""
        if self.options.layout or not self.rows:
            return self.options.layout == "suites" and bool(self.rows)
        return len(self.columns) > len(self.rows)

    @property
    def n_missing(self) -> int:
        return sum(row.missing for row in self.rows)

    @cached_property
    def ranked(self) -> list[Row[Model]]:
        return [row for row in self.rows if row.rank is not None]

    @cached_property
    def unranked(self) -> list[Row[Model]]:
        """Rows without a rank, in table order; below the others if the table is ordered by a mean."""
        return [row for row in self.rows if row.rank is None]

    @property
    def first_unranked(self) -> Row[Model] | None:
        """First unranked row, above which the table notes that the following rows have no rank; None if ranked and
        unranked rows are mixed."""
        ranks = [row.rank is not None for row in self.rows]
        return self.unranked[0] if self.unranked and ranks == sorted(ranks, reverse=True) else None

    @property
    def is_weighted(self) -> bool:
        return any(column.weight != 1 for column in self.columns)

    @cached_property
    def other_policies(self) -> list[tuple[Row[Model], Column[Revision], str]]:
        """Cells with a non-default policy, and the difference."""
        return [
            (row, column, cell.policy)
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if cell is not None and cell.policy
        ]

    @cached_property
    def gaps(self) -> list[MissingRate]:
        """All missing rates of the table."""
        return [gap for row in self.rows for gap in row.gaps]

    @cached_property
    def lacking(self) -> list[MissingRate]:
        """Runs that have no rate under the rule."""
        return [gap for gap in self.gaps if gap.run]

    @cached_property
    def masked(self) -> list[Row[Model]]:
        """Rows whose values are not surprisals."""
        return [row for row in self.rows if row.is_masked]

    @property
    def family(self) -> str:
        """Family of tests for which p is corrected, as named in files; empty = not corrected."""
        return f"one model on the {count(self.n_set, 'suite')} of {self.run_set}" if self.run_set else ""

    @property
    def tested(self) -> str:
        """Description of how cells are compared with chance."""
        corrected = (
            f"Holm-corrected for {self.family}, independent of filters"
            if self.run_set
            else "for each cell separately, not corrected (no tag or collection is selected)"
        )
        return f"Against chance: exact one-sided p < {ALPHA}, {corrected}."
