"""All cases, in the order of docs/trust.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.trust import starts, values, verdicts, words
from benchmarks.trust.case import Case

CASES: tuple[Callable[[Path], Case], ...] = (
    starts.doubled,
    starts.missing,
    starts.chat_turn,
    starts.scored_as_zero,
    words.space_before,
    words.shifted,
    words.other_tokenizer,
    words.within_word,
    values.nats,
    values.neighbours,
    values.cut,
    values.stale,
    values.half,
    verdicts.tie,
    verdicts.not_a_number,
)
"""Each builds its model in a folder of its own below the given one, and asks LM Gym."""
