"""A log as columns: a few bytes per token instead of its JSON, so that large logs can be counted again and again.

Reads a log once, as a stream. Memory grows with the tokens (about 20 bytes each, for `ic` with a search grid 8
more), not with the size of the log.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.lmchallenge.errors import OptionError
from gym.lmchallenge.logs import NOBODY, check_learnt, name_of, no_user
from gym.lmchallenge.mixtures import Mix
from gym.lmchallenge.tokens import FILTERS, keeper

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass
class Lines:
    """What a log says of each line: number in the file, userId as JSON (NOBODY if missing or null), whether userId
    is there, trainingChars (None if missing) and the number of the first entry."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    users: list[str] = field(default_factory=list)
    has_user: bytearray = field(default_factory=bytearray)
    learnt: list[float | None] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)  # of the last users that are strings

    def add(self, number: int, user: Any, has_user: bool, learnt: Any) -> None:
        """The next line. `has_user`: whether userId is there, be it null."""
        self.numbers.append(number)
        self.users.append(NOBODY if user is None else self._name(user))
        self.has_user.append(has_user)
        check_learnt(number, learnt)
        self.learnt.append(learnt)

    def _name(self, user: Any) -> str:
        if type(user) is not str:
            return name_of(user)
        name = self._names.get(user)
        if name is None:
            if len(self._names) > 10_000:
                self._names.clear()
            name = self._names[user] = name_of(user)
        return name

    def __len__(self) -> int:
        return len(self.users)

    def parts(self, partition: str) -> Ints:
        """The number of the part that each line is in: consecutive lines that belong together. Raises LogError."""
        if partition == "all":
            return np.zeros(len(self), dtype=np.int64)
        if partition == "line":
            return np.arange(len(self), dtype=np.int64)
        if partition != "user":
            raise OptionError(f"There is no partition {partition!r}.", "Choose all, user or line.")
        lacking = self.has_user.find(0)
        if lacking >= 0:
            raise no_user(self.numbers[lacking])
        sizes = [len(list(group)) for _, group in groupby(self.users)]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


@dataclass(frozen=True)
class Table:
    """Columns of one log, one entry per token (wp, ic) or per typed or accepted text (tc).

    line      number of the line in `lines`, from 0
    chars     code points of the target
    allowed   code points that the filter counts: for wp and ic all or none of the token's
    rank      wp: 1-based, 0 if not predicted; tc: 1 if accepted, else 0; ic: unused
    score     model score of the target, NaN if none
    before    ic: typed without error
    correct   ic: (tokens, ceil(mixes / 8)) bits, whether the target came first
    blank     tc: the text begins with a blank
    """

    game: str
    filter: str
    lines: Lines
    line: Ints
    chars: Ints
    allowed: Ints
    rank: Ints
    score: Floats
    before: Flags
    blank: Flags
    correct: NDArray[np.uint8]
    mixes: tuple[Mix, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def kept(self) -> Flags:
        """wp, ic: whether the token counts."""
        return self.allowed > 0

    def first(self, mix: int) -> Flags:
        """ic: whether each target came first under the mixture of that number."""
        bits = self.correct[:, mix >> 3] >> np.uint8(7 - (mix & 7)) & np.uint8(1)
        return bits.astype(np.bool_)


@lru_cache(maxsize=len(FILTERS))
def keeper_of(name: str) -> Callable[[str], bool]:
    """The remembering filter of that name, one for all tables."""
    return keeper(name)
