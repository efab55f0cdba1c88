"""What is counted, coloured and compared of a line of a log, as msgspec structs.

A line that does not fit (NaN, counts written as 2.0 or true, odd shapes) is converted by `log_decoder`, or refused.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from gym.lmchallenge.core.logs import MOST_COUNTED

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=MOST_COUNTED)]
Score: TypeAlias = float | None


class Entry(Struct, gc=False, kw_only=True):
    """A token, or a stretch of text: its target, or only how many characters it has."""

    target: str | UnsetType = UNSET
    target_chars: Count | UnsetType = field(name="targetChars", default=UNSET)

    @property
    def text(self) -> str | None:
        """The target; None where the log hides it."""
        return None if self.target is UNSET else self.target

    @property
    def part(self) -> str | int:
        """The target, or its number of characters where it is hidden."""
        if self.target is not UNSET:
            return self.target
        assert self.target_chars is not UNSET  # __post_init__ of both kinds of entries refuses such an entry
        return self.target_chars

    def _require_target(self) -> None:
        if self.target is UNSET and self.target_chars is UNSET:
            raise ValueError("there is neither a target nor a number of targetChars")


class RankedEntry(Entry, gc=False, kw_only=True):
    """An entry of wp or tc."""

    rank: Count | None = None
    score: Score = None
    predictions: Raw | UnsetType = UNSET

    def __post_init__(self) -> None:
        self._require_target()

    def predicted(self) -> Any:
        """The predictions, whatever they are: nothing counts them. None where there are none."""
        return json.loads(bytes(self.predictions)) if isinstance(self.predictions, Raw) else None


class CorrectionEntry(Entry, gc=False, kw_only=True):
    """An entry of ic. A candidate is [text, typing score, model score], or the scores alone; `score` has those of the
    target."""

    score: tuple[float, Score]
    candidates: list[list[str | float | None]]
    verbatim: Any = UNSET
    right_before: bool | None = field(name="verbatimMatch", default=None)

    def __post_init__(self) -> None:
        self._require_target()
        if self.right_before is None:
            if self.target is UNSET or self.verbatim is UNSET:
                raise ValueError("what was typed is missing")
            self.right_before = self.target == self.verbatim


class LogLine(Struct, gc=False, kw_only=True):
    """A line of any game."""

    game: ClassVar[str]

    entries: list[Any]
    user: Any = field(name="userId", default=UNSET)
    training_chars: Annotated[int, Meta(gt=-MOST_COUNTED, lt=MOST_COUNTED)] | float | None = field(
        name="trainingChars", default=None
    )

    @property
    def text(self) -> list[str | int]:
        """Targets, or their lengths where they are hidden; of tc, which cuts a line wherever the typist accepts, the
        whole line or its length."""
        parts = [entry.part for entry in self.entries]
        if self.game != "tc":
            return parts
        if all(isinstance(part, str) for part in parts):
            return ["".join(parts)]
        return [sum(part if isinstance(part, int) else len(part) for part in parts)]


class WordPredictionLine(LogLine, gc=False, kw_only=True):
    game = "wp"
    entries: list[RankedEntry] = field(name="wordPredictions")


class TextCompletionLine(LogLine, gc=False, kw_only=True):
    game = "tc"
    entries: list[RankedEntry] = field(name="textCompletions")


class InputCorrectionLine(LogLine, gc=False, kw_only=True):
    game = "ic"
    entries: list[CorrectionEntry] = field(name="inputCorrections")


LINES: dict[str, type[LogLine]] = {
    line.game: line for line in (WordPredictionLine, TextCompletionLine, InputCorrectionLine)
}
