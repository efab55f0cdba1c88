"""What a file of results says, before it meets a suite."""

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
"""Of a table, asked before it is cut."""
MAX_PARTS = 2_000
MAX_TOKENS = 4_000
"""Tokens of one sentence."""


@dataclass(frozen=True, slots=True)
class FileToken:
    """A token as the file has it. `region`: 0-based, -1 outside regions, None when the file does not say."""

    text: str
    bits: float | None
    number: int = -1
    span: tuple[int, int] | None = None
    region: int | None = None


@dataclass(slots=True)
class FileSentence:
    """One sentence of a file. `regions` and `contents` go by region number; `tokens` when the file has tokens."""

    where: str
    item: int
    condition: str
    regions: dict[int, float | None] = field(default_factory=dict)
    contents: dict[int, str] = field(default_factory=dict)
    tokens: list[FileToken] = field(default_factory=list)


@dataclass(slots=True)
class ScorePart:
    """Surprisals of one model on one suite; names are empty where the file has none.

    `values[metric]` is only filled for evaluated suites, which may hold several metrics.
    LM Zoo files number their sentences instead of naming item and condition: `numbered`.
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
    """`number`: which prediction of that name is meant, counted from 1, where the file says it."""

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
    """Does every sentence say what it reads, so that applying the part compares it with the suite's?"""
    return isinstance(part, ScorePart) and all(row.contents or row.tokens for row in part.sentences)


@dataclass(frozen=True, slots=True)
class Uploaded:
    kind: str
    parts: tuple[Part, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def models(self) -> list[str]:
        """Names of models in the file, in its order; an empty name where it has none."""
        return list(dict.fromkeys(part.model for part in self.parts))

    @property
    def suites(self) -> list[str]:
        return list(dict.fromkeys(part.suite for part in self.parts))
