"""A log as columns: a few bytes per token instead of its JSON, so that large logs can be counted again and again.

Reads a log once, as a stream. Memory grows with the tokens (about 20 bytes each, for `ic` with a search grid 8
more), not with the size of the log.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.lmchallenge.errors import LogError, OptionError
from gym.lmchallenge.games import RESULT_KEYS
from gym.lmchallenge.logs import Row, game_of
from gym.lmchallenge.mixing import Mix, Tokens
from gym.lmchallenge.tokens import FILTERS, keeper

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

NOBODY = "null"
_CHUNK = 512  # ic entries evaluated together


@dataclass
class Lines:
    """What a log says of each line: number in the file, userId as JSON (NOBODY if missing or null), whether userId
    is there, trainingChars (None if missing) and the number of the first entry."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    users: list[str] = field(default_factory=list)
    has_user: bytearray = field(default_factory=bytearray)
    learnt: list[float | None] = field(default_factory=list)

    def add(self, number: int, row: Row) -> None:
        """The next line."""
        user = row.get("userId")
        self.numbers.append(number)
        self.users.append(NOBODY if user is None else _user(user))
        self.has_user.append("userId" in row)
        learnt = row.get("trainingChars")
        if learnt is not None and type(learnt) not in (int, float):
            raise LogError(f"Line {number} of the log: trainingChars is {learnt!r}, not a number.")
        self.learnt.append(learnt)

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
            raise LogError(
                f"Line {self.numbers[lacking]} of the log has no userId.",
                "Parts by user need one on every line.",
            )
        sizes = [len(list(group)) for _, group in groupby(self.users)]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


def _user(value: Any) -> str:
    """A name for a user that is equal exactly if the values are (1, 1.0 and true are equal in the reference)."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return json.dumps(value, sort_keys=True)


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


def read_table(
    rows: Iterable[tuple[int, Row]], *, keep: str = "alphaemoji", mixes: Sequence[Mix] = ()
) -> Table:
    """Take in the rows of `logs.read`. An empty log raises LogError, as does an entry that cannot be counted."""
    if keep not in FILTERS:
        raise OptionError(f"There is no filter {keep!r}.", f"Choose one of {', '.join(FILTERS)}.")
    reader: _Reader | None = None
    for number, row in rows:
        if reader is None:
            reader = _READERS[game_of(row)](keep, tuple(mixes))
        reader.take(number, row)
    if reader is None:
        raise LogError("The log is empty.", "There is nothing to count.")
    return reader.table()


class _Reader:
    game = ""

    def __init__(self, keep: str, mixes: tuple[Mix, ...]) -> None:
        self.keep, self.mixes = keep, mixes
        self.lines = Lines()
        self.sizes = array("q")
        self.chars, self.allowed, self.rank = array("q"), array("q"), array("q")
        self.score = array("d")
        self.before, self.blank = bytearray(), bytearray()
        self.correct: list[NDArray[np.uint8]] = []
        self.not_numbers = 0

    def take(self, number: int, row: Row) -> None:
        self.lines.add(number, row)
        entries = row[RESULT_KEYS[self.game]]
        self.sizes.append(len(entries))
        self.entries(number, entries)

    def entries(self, number: int, entries: list[Row]) -> None:
        raise NotImplementedError

    def table(self) -> Table:
        count = len(self.chars)
        notices = []
        if self.not_numbers:
            notices.append(
                f"{self.not_numbers} ranks are 0, which comes of scores that are NaN: counted as not predicted."
            )
        none = np.zeros((count, -(-len(self.mixes) // 8)), dtype=np.uint8)
        correct = np.concatenate(self.correct) if self.correct else none
        return Table(
            self.game,
            self.keep,
            self.lines,
            np.repeat(np.arange(len(self.sizes), dtype=np.int64), np.frombuffer(self.sizes, dtype=np.int64)),
            _ints(self.chars),
            _ints(self.allowed),
            _ints(self.rank) if self.rank else np.zeros(count, dtype=np.int64),
            np.frombuffer(self.score, dtype=np.float64) if self.score else np.full(count, np.nan),
            np.frombuffer(self.before, dtype=np.bool_) if self.before else np.zeros(count, dtype=np.bool_),
            np.frombuffer(self.blank, dtype=np.bool_) if self.blank else np.zeros(count, dtype=np.bool_),
            correct,
            self.mixes,
            tuple(notices),
        )


def _ints(values: array[int]) -> Ints:
    return np.frombuffer(values, dtype=np.int64) if values else np.zeros(0, dtype=np.int64)


class _WpReader(_Reader):
    game = "wp"

    def entries(self, number: int, entries: list[Row]) -> None:
        keeps = keeper_of(self.keep)
        chars, allowed, ranks, scores = self.chars, self.allowed, self.rank, self.score
        for entry in entries:
            target = entry.get("target")
            if target is None:
                size = entry["targetChars"]
                counted = True
            else:
                size = len(target)
                counted = keeps(target)
            chars.append(size)
            # An empty target counts as one token of no characters: marked by -1 less, see Table.kept.
            allowed.append((size or 1) if counted else 0)
            rank = entry.get("rank")
            if rank is None:
                ranks.append(0)
                scores.append(_NAN)
            else:
                ranks.append(rank)
                self.not_numbers += rank == 0
                scores.append(_score(entry.get("score")))


class _TcReader(_Reader):
    game = "tc"

    def entries(self, number: int, entries: list[Row]) -> None:
        count = counter_of(self.keep)
        for entry in entries:
            target = entry.get("target")
            if target is None:
                size = counted = entry["targetChars"]
                self.blank.append(False)
            else:
                size, counted = len(target), count(target)
                self.blank.append(target.startswith(" "))
            self.chars.append(size)
            self.allowed.append(counted)
            self.rank.append(entry.get("rank") is not None)


class _IcReader(_Reader):
    game = "ic"

    def __init__(self, keep: str, mixes: tuple[Mix, ...]) -> None:
        super().__init__(keep, mixes)
        self.waiting: list[Row] = []
        self.first_waiting = 0

    def entries(self, number: int, entries: list[Row]) -> None:
        keeps = keeper_of(self.keep)
        for entry in entries:
            target = entry.get("target")
            size = entry["targetChars"] if target is None else len(target)
            self.chars.append(size)
            self.allowed.append((size or 1) if target is None or keeps(target) else 0)
            match = entry.get("verbatimMatch")
            self.before.append(bool(target == entry["verbatim"] if match is None else match))
            score = entry["score"]
            self.score.append(_score(score[1]) if len(score) == 2 else _NAN)
        if not self.waiting:
            self.first_waiting = number
        self.waiting.extend(entries)
        if len(self.waiting) >= _CHUNK:
            self._reckon(number)

    def _reckon(self, last: int) -> None:
        if not self.mixes or not self.waiting:
            self.waiting = []
            return
        where = f"the log, lines {self.first_waiting} to {last}"
        flags = Tokens.of(self.waiting, where).correct(self.mixes)
        self.correct.append(np.packbits(flags, axis=1))
        self.waiting = []

    def table(self) -> Table:
        self._reckon(self.lines.numbers[-1])
        return super().table()


_READERS: dict[str, type[_Reader]] = {"wp": _WpReader, "tc": _TcReader, "ic": _IcReader}
_NAN = float("nan")


def _score(value: Any) -> float:
    return float(value) if type(value) in (int, float) else _NAN


@lru_cache(maxsize=len(FILTERS))
def keeper_of(name: str) -> Callable[[str], bool]:
    """The remembering filter of that name, one for all tables."""
    return keeper(name)


@lru_cache(maxsize=len(FILTERS))
def counter_of(name: str) -> Callable[[str], int]:
    """How many characters of a text the filter lets through, each on its own; remembered."""
    keeps = keeper(name)

    @lru_cache(maxsize=200_000)
    def count(text: str) -> int:
        return sum(map(keeps, text))

    return count
