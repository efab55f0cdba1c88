"""Columnar form of a log: a few bytes per token, to evaluate large logs repeatedly with any filter.

Memory grows with the number of tokens, not with the size of the log: about 30 bytes per token, plus 1 per filter (tc:
8), plus 8 for `ic` and 7 for a search grid.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from lmgym.lmchallenge.errors import LogError, OptionError
from lmgym.lmchallenge.logs.decoder import CorrectionEntry, LogLine, RankedEntry
from lmgym.lmchallenge.logs.interpolation import Mix, Tokens
from lmgym.lmchallenge.tokens import FILTERS, keeper

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Columns: TypeAlias = dict[str, NDArray[Any]]
BLOCK = 4096
"""Entries per block."""
CORRECTIONS = 512
"""Entries per block of ic, where each holds all its candidates."""


NULL_USER = "null"


def name_of(user: Any) -> str:
    """Return a name for a userId. Names are equal if the reference treats the values as equal (1, 1.0 and true)."""
    if isinstance(user, bool) or (isinstance(user, float) and user.is_integer()):
        user = int(user)
    return json.dumps(user, sort_keys=True)


UNKNOWN = -1
"""Hash that stands for a word missing from the log."""


def typed_hash(word: Any) -> int:
    """Hash a word as typed; return UNKNOWN if it is not a string."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) if isinstance(word, str) else UNKNOWN


_name_of_text = lru_cache(maxsize=10_000)(name_of)  # adjacent lines often share a user


@dataclass
class Lines:
    """Columns of the lines: number in the file, userId as JSON (NULL_USER if missing or null), and trainingChars
    (None if missing).
    """

    numbers: array[int] = field(default_factory=lambda: array("q"))
    users: list[str] = field(default_factory=list)
    learnt: list[float | None] = field(default_factory=list)

    def add(self, number: int, user: Any, learnt: float | None) -> None:
        """Add the next line. `user` is UNSET if there is no userId."""
        self.numbers.append(number)
        name = _name_of_text if type(user) is str else name_of
        self.users.append(NULL_USER if user is UNSET else name(user))
        self.learnt.append(learnt)

    def __len__(self) -> int:
        return len(self.users)

    def parts(self, partition: str) -> Ints:
        """Return int64[n_lines], the index of each line's part. With "user", consecutive lines with the same
        userId, or without one, form a part. Raises OptionError.
        """
        if partition == "all":
            return np.zeros(len(self), dtype=np.int64)
        if partition == "line":
            return np.arange(len(self), dtype=np.int64)
        if partition != "user":
            raise OptionError(f"Unknown partition {partition!r}.", "Choose all, user or line.")
        sizes = [len(list(group)) for _, group in groupby(self.users)]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


@dataclass(frozen=True)
class Table:
    """Columns of one log, one value per token (wp, ic) or per typed or accepted text (tc).

    line      index of the line in `lines`, from 0
    chars     code points of the target
    counted   [values, filters]: wp, ic: whether the filter counts the token; tc: number of counted code points
    rank      wp: 1-based, 0 if not predicted; tc: 1 if accepted, else 0; ic: unused
    score     model score of the target, NaN if none
    before    ic: typed without error
    blank     tc: the text begins with a space
    correct   ic: [tokens, ceil(mixes / 8)] bits: the target ranks first
    completed version 5, wc: number of completed characters, 0 if the token was never completed
    typed     ic, wr: hash of the word as typed (`typed_hash`)

    `filter`: which of `filters` is used for statistics. `zero_ranks`: number of ranks that are 0 in the log.
    """

    game: str
    filters: tuple[str, ...]
    filter: str
    lines: Lines
    mixes: tuple[Mix, ...]
    zero_ranks: int
    line: Ints
    chars: Ints
    counted: NDArray[Any]
    rank: Ints
    score: Floats
    before: Flags
    blank: Flags
    correct: NDArray[np.uint8]
    completed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    typed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def allowed(self) -> NDArray[Any]:
        """Column of `counted` for the current filter."""
        column: NDArray[Any] = self.counted[:, self.filters.index(self.filter)]
        return column

    @property
    def selected(self) -> Flags:
        """Mask of the counted tokens (wp, ic)."""
        return self.allowed > 0

    @property
    def notices(self) -> tuple[str, ...]:
        """Notes for readers of the statistics."""
        if self.game != "wp" or not self.zero_ranks:
            return ()
        return (
            f"Ranks that are 0 because their scores are NaN: {self.zero_ranks}. They are counted as not predicted.",
        )

    @property
    def rank_base(self) -> int | None:
        """First rank in a tc log: 0 if a 0 occurs, else 1 as documented; None if there are no ranks."""
        if self.zero_ranks:
            return 0
        return 1 if bool((self.rank > 0).any()) else None

    def by(self, keep: str) -> Table:
        """Return the table with another of its filters."""
        return replace(self, filter=keep)

    def part(self, inside: Flags) -> Table:
        """Return a table of some of the tokens."""
        columns = [name for name in (*COLUMNS, "completed", "typed") if len(getattr(self, name))]
        return replace(self, **{name: getattr(self, name)[inside] for name in columns})

    def without_empty_lines(self) -> Table:
        """Drop lines without tokens, which version 5 logs do not have."""
        used = np.unique(self.line)
        lines = Lines()
        for at in used.tolist():
            lines.add(self.lines.numbers[at], UNSET, self.lines.learnt[at])
        lines.users = [self.lines.users[at] for at in used.tolist()]
        return replace(self, lines=lines, line=np.searchsorted(used, self.line))

    def first(self, mix: int) -> Flags:
        """Return bool[n_tokens] for ic: True where the target ranks first under mixture number `mix`."""
        bits = self.correct[:, mix >> 3] >> np.uint8(7 - (mix & 7)) & np.uint8(1)
        return bits.astype(np.bool_)


COLUMNS = ("line", "chars", "counted", "rank", "score", "before", "blank", "correct")


def read_table(
    lines: Iterable[tuple[int, LogLine]],
    *,
    filters: Sequence[str] = ("alphaemoji",),
    mixes: Sequence[Mix] = (),
) -> Table:
    """Build a table from the lines that `decoder.read_lines` yields. The first filter applies until `by`
    selects another.

    Raises LogError for an empty log and, with mixtures, for invalid ic candidates; OptionError for an unknown filter.
    """
    for name in filters:
        if name not in FILTERS:
            raise OptionError(f"Unknown filter {name!r}.", f"Choose one of {', '.join(FILTERS)}.")
    builder = _Builder(tuple(filters), tuple(mixes))
    for number, line in lines:
        builder.add(number, line)
    return builder.table()


class _Builder:
    """Builder of a Table: collects entries and turns them into columns, one block at a time."""

    def __init__(self, filters: tuple[str, ...], mixes: tuple[Mix, ...]) -> None:
        self.filters, self.mixes = filters, mixes
        self.game = ""
        self.lines = Lines()
        self.sizes = array("q")
        self.pending: list[Any] = []
        self.numbers = array("q")  # line of each pending entry
        self.blocks: list[Columns] = []
        self.zero_ranks = 0

    def add(self, number: int, line: LogLine) -> None:
        """Add the next line."""
        self.game = line.game
        self.lines.add(number, line.user, line.training_chars)
        self.sizes.append(len(line.entries))
        self.pending += line.entries
        self.numbers.extend([number] * len(line.entries))
        if len(self.pending) >= (CORRECTIONS if self.game == "ic" else BLOCK):
            self._flush()

    def table(self) -> Table:
        """Return the table of all added lines. Raises LogError."""
        if not len(self.lines):
            raise LogError("The log is empty.", "There is nothing to count.")
        self._flush()
        line = np.repeat(np.arange(len(self.lines), dtype=np.int64), np.array(self.sizes, dtype=np.int64))
        columns: Columns = {
            "rank": np.broadcast_to(np.int64(0), len(line)),
            "score": np.broadcast_to(np.nan, len(line)),
            "before": np.broadcast_to(np.False_, len(line)),
            "blank": np.broadcast_to(np.False_, len(line)),
            "correct": np.zeros((len(line), 0), dtype=np.uint8),
        }
        for name in list(self.blocks[0]):
            columns[name] = np.concatenate([block.pop(name) for block in self.blocks])
        return Table(
            self.game,
            self.filters,
            self.filters[0],
            self.lines,
            self.mixes,
            self.zero_ranks,
            line=line,
            **columns,
        )

    def _flush(self) -> None:
        entries, numbers = self.pending, self.numbers
        self.pending, self.numbers = [], array("q")
        parts = [entry.part for entry in entries]
        sizes = [part if isinstance(part, int) else len(part) for part in parts]
        self.blocks.append(
            {
                "chars": np.array(sizes, dtype=np.int64),
                "counted": _counted(self.game, self.filters, parts),
                **(self._corrections(entries, numbers) if self.game == "ic" else self._ranked(entries)),
            }
        )

    def _ranked(self, entries: Sequence[RankedEntry]) -> Columns:
        ranks = [entry.rank for entry in entries]
        self.zero_ranks += ranks.count(0)
        if self.game == "tc":
            blank = [entry.target is not UNSET and entry.target.startswith(" ") for entry in entries]
            return {
                "rank": np.array([rank is not None for rank in ranks], dtype=np.int64),
                "blank": np.array(blank, dtype=np.bool_),
            }
        scores = [None if entry.rank is None else entry.score for entry in entries]
        return {
            "rank": np.array([rank or 0 for rank in ranks], dtype=np.int64),
            "score": np.array(scores, dtype=np.float64),
        }

    def _corrections(self, entries: Sequence[CorrectionEntry], numbers: Sequence[int]) -> Columns:
        columns = {
            "before": np.array([entry.right_before for entry in entries], dtype=np.bool_),
            "score": np.array([entry.score[1] for entry in entries], dtype=np.float64),
            "typed": np.array([typed_hash(entry.verbatim) for entry in entries], dtype=np.int64),
        }
        if self.mixes:
            correct = _tokens(entries, numbers).correct(self.mixes)
            columns["correct"] = np.packbits(correct, axis=1)
        return columns


def _tokens(entries: Sequence[CorrectionEntry], numbers: Sequence[int]) -> Tokens:
    """Build Tokens. Raises LogError naming the line."""
    try:
        return Tokens.of([entry.candidates for entry in entries], [entry.score for entry in entries])
    except LogError:
        for number, entry in zip(numbers, entries, strict=True):
            Tokens.of([entry.candidates], [entry.score], f"Line {number} of the log")
        raise


# -- filters -------------------------------------------------------------------------------------------------


def _counted(game: str, filters: Sequence[str], parts: Sequence[str | int]) -> NDArray[Any]:
    """Return [parts, filters]: for tc the number of counted characters of each text, else whether it is counted. Hidden
    text is always counted.
    """
    if game != "tc":
        flags = [[isinstance(part, int) or keep(part) for part in parts] for keep in map(keeper, filters)]
        return np.array(flags, dtype=np.bool_).T
    texts = ["" if isinstance(part, int) else part for part in parts]
    hidden = np.array([part if isinstance(part, int) else 0 for part in parts], dtype=np.int64)
    counts: Ints = np.stack([hidden + characters_of(name)(texts) for name in filters], axis=1)
    return counts


class _Characters:
    """Counter of the characters in each text that pass a filter, code point by code point."""

    def __init__(self, keeps: Callable[[str], bool]) -> None:
        self.keeps = keeps
        self.known = np.zeros(0x110000, dtype=np.bool_)
        self.allowed = np.zeros(0x110000, dtype=np.bool_)

    def __call__(self, texts: Sequence[str]) -> Ints:
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        for code in np.unique(codes[~self.known[codes]]).tolist():
            self.known[code], self.allowed[code] = True, self.keeps(chr(code))
        running = np.concatenate(([0], np.cumsum(self.allowed[codes], dtype=np.int64)))
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        counts: Ints = np.diff(running[ends], prepend=0)
        return counts


@cache
def characters_of(name: str) -> _Characters:
    """Return the filter's counter, shared by all logs."""
    return _Characters(keeper(name))
