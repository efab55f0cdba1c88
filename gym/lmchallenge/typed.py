"""Lines of a log decoded straight into the few values that are counted, many at a time.

What does not fit these types (NaN, odd shapes, another game, broken lines) is left to `logs`, which says what is wrong
or takes it as it is. A block of lines that does fit means here what it means there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import Decoder

Size: TypeAlias = int | float


class Ranked(Struct, gc=False):
    """An entry of wp or tc. Whole numbers are told from 1.0 by taking both."""

    target: str | UnsetType = UNSET
    targetChars: Size | UnsetType = UNSET
    rank: Size | None = None
    score: float | None = None


class Corrected(Struct, gc=False):
    """An entry of ic with its words."""

    target: str
    verbatim: str
    score: tuple[float, float | None]
    candidates: list[tuple[str, float, float | None]]
    verbatimMatch: bool | None = None


class Hidden(Struct, gc=False):
    """An entry of ic without them."""

    targetChars: Size
    verbatimMatch: bool
    score: tuple[float, float | None]
    candidates: list[tuple[float, float | None]]
    target: UnsetType = UNSET


class WordPredictions(Struct, gc=False):
    """A line of wp. What is not there is UNSET."""

    wordPredictions: list[Ranked]
    userId: Any = UNSET
    trainingChars: Any = None


class TextCompletions(Struct, gc=False):
    """A line of tc."""

    textCompletions: list[Ranked]
    userId: Any = UNSET
    trainingChars: Any = None


class InputCorrections(Struct, gc=False):
    """A line of ic."""

    inputCorrections: list[Corrected]
    userId: Any = UNSET
    trainingChars: Any = None


class HiddenCorrections(Struct, gc=False):
    """A line of ic without words."""

    inputCorrections: list[Hidden]
    userId: Any = UNSET
    trainingChars: Any = None


Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]
"""As `logs` takes it: 2.0 is 2."""


class Counted(Struct, gc=False):
    """An entry of wp or tc of which nothing is left to be looked at."""

    target: str | UnsetType = UNSET
    targetChars: Count | UnsetType = UNSET
    rank: Count | None = None
    score: float | None = None


class CountedWords(Struct, gc=False):
    """A line of wp."""

    wordPredictions: list[Counted]
    userId: Any = UNSET
    trainingChars: Size | None = None


class CountedTexts(Struct, gc=False):
    """A line of tc."""

    textCompletions: list[Counted]
    userId: Any = UNSET
    trainingChars: Size | None = None


_COUNTED: dict[str, tuple[Decoder[Any], ...]] = {
    "wp": (Decoder(CountedWords),),
    "tc": (Decoder(CountedTexts),),
}
_DECODERS: dict[str, tuple[Decoder[Any], ...]] = {
    "wp": (Decoder(WordPredictions),),
    "tc": (Decoder(TextCompletions),),
    "ic": (Decoder(InputCorrections), Decoder(HiddenCorrections)),
}


def counted(game: str, lines: Sequence[bytes]) -> list[Any] | None:
    """Lines of wp or tc, checked; None if one of them does not fit."""
    return _decoded(_COUNTED[game], lines)


def decoded(game: str, lines: Sequence[bytes]) -> list[Any] | None:
    """The lines as structs of their game, all of one kind; None if one of them does not fit."""
    return _decoded(_DECODERS[game], lines)


def _decoded(decoders: Sequence[Decoder[Any]], lines: Sequence[bytes]) -> list[Any] | None:
    whole = b"".join(lines)
    for decoder in decoders:
        try:
            if not whole.isascii():
                whole.decode("utf-8")  # what stands in keys that are passed over is not looked at below
            return list(map(decoder.decode, lines))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return None
