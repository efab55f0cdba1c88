"""Contents of a result file, before it is matched with a suite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from lmgym.files.bounded import Limits
from lmgym.models.engine.token_rules import TokenRules
from lmgym.text.problems import Notice

KINDS = {
    "evaluated": "evaluated suite (JSON)",
    "regions": "surprisals by region (CSV)",
    "tokens": "surprisals by token (CSV)",
    "lmzoo": "LM Zoo surprisals (TSV)",
    "outcomes": "outcomes only (CSV)",
}

MAX_BYTES = 20_000_000
MAX_ROWS = 400_000
LIMITS = Limits(lines=2 * MAX_ROWS, cells=10 * MAX_ROWS, columns=1_000)
"""Limits of a table, checked before it is split."""
MAX_PARTS = 2_000
MAX_TOKENS = 4_000
"""Tokens per sentence."""


@dataclass(frozen=True, slots=True)
class FileToken:
    """A token in a file. `region`: 0-based, -1 outside regions, None if the file does not state it."""

    text: str
    bits: float | None
    number: int = -1
    span: tuple[int, int] | None = None
    region: int | None = None


@dataclass(slots=True)
class FileSentence:
    """A sentence in a file. `regions` and `contents` are keyed by region number; `tokens` is empty if the file has
    none."""

    where: str
    item: int
    condition: str
    regions: dict[int, float | None] = field(default_factory=dict)
    contents: dict[int, str] = field(default_factory=dict)
    tokens: list[FileToken] = field(default_factory=list)


@dataclass(slots=True)
class ScorePart:
    """Surprisals of one model on one suite; names are empty if the file has none.

    `metrics` is set only for evaluated suites: the metric whose values were read. `numbered`: the file
    numbers its sentences, as LM Zoo does, instead of naming item and condition.
    """

    kind: str
    suite: str
    model: str
    sentences: list[FileSentence]
    metrics: tuple[str, ...] = ()
    numbered: bool = False
    rules: TokenRules | None = None


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """Outcome of one item in a file. `number`: number of the prediction in the suite, from 1, if the file
    states it."""

    where: str
    item: int
    correct: bool | None
    prediction: str
    number: int | None = None


@dataclass(slots=True)
class OutcomePart:
    """Outcomes of one model on one suite."""

    suite: str
    model: str
    rows: list[OutcomeRow]
    kind: str = "outcomes"


Part: TypeAlias = ScorePart | OutcomePart


def has_text(part: Part) -> bool:
    """Return whether every sentence has text to compare with the suite's."""
    return isinstance(part, ScorePart) and all(row.contents or row.tokens for row in part.sentences)


@dataclass(frozen=True, slots=True)
class Uploaded:
    kind: str
    parts: tuple[Part, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def models(self) -> list[str]:
        """Names of models in the file, in order; an empty name if it has none."""
        return list(dict.fromkeys(part.model for part in self.parts))

    @property
    def suites(self) -> list[str]:
        return list(dict.fromkeys(part.suite for part in self.parts))
