"""Columns of a block of typed entries, and what the filters say of their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import UNSET

from gym.lmchallenge.logs import MOST_COUNTED
from gym.lmchallenge.table import Flags, Floats, Ints, keeper_of
from gym.lmchallenge.tokens import FILTERS
from gym.lmchallenge.typed import Ranked

_NAN = float("nan")


def sizes_of(entries: Sequence[Any], texts: list[Any]) -> Ints | None:
    """Code points of each target; None if one has neither a text nor a count."""
    try:
        return np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    except TypeError:
        pairs = zip(entries, texts, strict=True)
        return _counts([entry.targetChars if text is UNSET else len(text) for entry, text in pairs])


def _counts(values: list[Any]) -> Ints | None:
    """Whole numbers that are not negative; None if anything else is among them."""
    if not set(map(type, values)) <= {int}:
        return None
    try:
        numbers = np.fromiter(values, dtype=np.int64, count=len(values))
    except OverflowError:
        return None
    fits = not len(numbers) or (numbers.min() >= 0 and numbers.max() < MOST_COUNTED)
    return numbers if fits else None


def ranks_of(entries: list[Ranked]) -> tuple[Ints, Flags] | None:
    """Ranks, 0 where none is given, and where one is; None if one is no count."""
    ranks = [entry.rank for entry in entries]
    numbers = _counts([0 if rank is None else rank for rank in ranks])
    if numbers is None:
        return None
    return numbers, np.fromiter([rank is not None for rank in ranks], dtype=np.bool_, count=len(ranks))


def floats_of(values: list[float | None]) -> Floats:
    """NaN for null."""
    return np.fromiter(
        [_NAN if value is None else value for value in values], dtype=np.float64, count=len(values)
    )


def kept_by(keep: str, texts: list[Any]) -> Flags:
    """Which tokens the filter counts; those without a text always."""
    return np.fromiter(map(verdicts_of(keep).__getitem__, texts), dtype=np.bool_, count=len(texts))


class _Verdicts(dict[Any, bool]):
    """What a filter says of the texts it met."""

    def __init__(self, keeps: Callable[[str], bool]) -> None:
        super().__init__()
        self.keeps = keeps

    def __missing__(self, text: Any) -> bool:
        if len(self) > 200_000:
            self.clear()
        verdict = self[text] = text is UNSET or self.keeps(text)
        return verdict


@lru_cache(maxsize=len(FILTERS))
def verdicts_of(name: str) -> _Verdicts:
    """Those of that filter, one memory for all logs."""
    return _Verdicts(FILTERS[name])


class _Characters:
    """How many characters of each text a filter lets through, looked up by code point."""

    def __init__(self, keeps: Callable[[str], bool]) -> None:
        self.keeps = keeps
        self.known = np.zeros(0x110000, dtype=np.bool_)
        self.allowed = np.zeros(0x110000, dtype=np.bool_)

    def __call__(self, texts: Sequence[str]) -> Ints:
        codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32)
        for code in np.unique(codes[~self.known[codes]]).tolist():
            self.known[code], self.allowed[code] = True, self.keeps(chr(code))
        running = np.concatenate(([0], np.cumsum(self.allowed[codes], dtype=np.int64)))
        ends = np.cumsum(np.array(list(map(len, texts)), dtype=np.int64))
        counts: Ints = np.diff(running[ends], prepend=0)
        return counts


@lru_cache(maxsize=len(FILTERS))
def characters_of(name: str) -> _Characters:
    """The counter of that filter, one for all logs."""
    return _Characters(keeper_of(name))


@lru_cache(maxsize=len(FILTERS))
def counter_of(name: str) -> Callable[[str], int]:
    """How many characters of a text the filter lets through, each on its own; remembered."""
    keeps = keeper_of(name)

    @lru_cache(maxsize=200_000)
    def count(text: str) -> int:
        return sum(map(keeps, text))

    return count
