"""From a log to its columns (`table.Table`), read once as a stream."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from gym.lmchallenge import logs
from gym.lmchallenge.columns import characters_of, counter_of, floats_of, kept_by, ranks_of, sizes_of
from gym.lmchallenge.errors import LogError, OptionError
from gym.lmchallenge.games import RESULT_KEYS
from gym.lmchallenge.logs import Row, game_of
from gym.lmchallenge.mixing import Mix, Tokens
from gym.lmchallenge.table import Ints, Lines, Table, keeper_of
from gym.lmchallenge.tokens import FILTERS
from gym.lmchallenge.typed import Corrected, Hidden, Ranked, decoded

Numbered: TypeAlias = tuple[int, bytes]
_CHUNK = 512  # ic entries evaluated together
_BLOCK_LINES, _BLOCK_BYTES = 512, 1_000_000


def read_table(
    rows: Iterable[tuple[int, Row]], *, keep: str = "alphaemoji", mixes: Sequence[Mix] = ()
) -> Table:
    """Take in the rows of `logs.read`. An empty log raises LogError, as does an entry that cannot be counted."""
    reader: _Reader | None = None
    for number, row in rows:
        reader = reader or _reader(game_of(row), keep, mixes)
        reader.take(number, row)
    return _table(reader)


def read_log(
    stream: Iterable[bytes],
    source: str = "the log",
    limit: int | None = None,
    *,
    keep: str = "alphaemoji",
    mixes: Sequence[Mix] = (),
    first: int = 1,
) -> Table:
    """`read_table(logs.read(stream, source, limit))`, several times as fast: lines that are as they should be are
    decoded and counted by the block. `first` is the number of the first line. Raises LogError."""
    checker = logs.Checker(source)
    reader: _Reader | None = None
    for block in _blocks(islice(enumerate(stream, first), limit)):
        if reader is None:
            game = next((game_of(row) for row in map(logs.Checker(source).row, block) if row), None)
            if game is None:
                continue
            reader = _reader(game, keep, mixes)
        if not reader.take_block(block):
            for line in block:
                row = checker.row(line)
                if row is not None:
                    reader.take(line[0], row)
        checker.game = reader.game
    return _table(reader)


def _blocks(lines: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    block: list[Numbered] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line[1])
        if len(block) >= _BLOCK_LINES or size >= _BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def _reader(game: str, keep: str, mixes: Sequence[Mix]) -> _Reader:
    if keep not in FILTERS:
        raise OptionError(f"There is no filter {keep!r}.", f"Choose one of {', '.join(FILTERS)}.")
    return _READERS[game](keep, tuple(mixes))


def _table(reader: _Reader | None) -> Table:
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
        """The next line as `logs` reads it."""
        self.lines.add(number, row.get("userId"), "userId" in row, row.get("trainingChars"))
        entries = row[RESULT_KEYS[self.game]]
        self.sizes.append(len(entries))
        self.entries(number, entries)

    def take_block(self, block: list[Numbered]) -> bool:
        """The next lines, all at once; False (and nothing taken) if one of them is not as it should be."""
        rows = decoded(self.game, [raw for _, raw in block])
        if rows is None:
            return False
        key = RESULT_KEYS[self.game]
        per_line = [getattr(row, key) for row in rows]
        if not self.columns(block, list(chain.from_iterable(per_line))):
            return False
        self.sizes.extend(map(len, per_line))
        add, missing = self.lines.add, UNSET
        for (number, _), row in zip(block, rows, strict=True):
            user = row.userId
            if user is missing:
                add(number, None, False, row.trainingChars)
            else:
                add(number, user, True, row.trainingChars)
        return True

    def entries(self, number: int, entries: list[Row]) -> None:
        """Add the entries of a line."""
        raise NotImplementedError

    def columns(self, block: list[Numbered], entries: list[Any]) -> bool:
        """Add the entries of a block; False if one of them is not as it should be."""
        raise NotImplementedError

    def table(self) -> Table:
        """Everything that was read."""
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
            # An empty target counts as one token of no characters.
            allowed.append((size or 1) if counted else 0)
            rank = entry.get("rank")
            if rank is None:
                ranks.append(0)
                scores.append(_NAN)
            else:
                ranks.append(rank)
                self.not_numbers += rank == 0
                scores.append(_score(entry.get("score")))

    def columns(self, block: list[Numbered], entries: list[Ranked]) -> bool:
        texts = [entry.target for entry in entries]
        sizes = sizes_of(entries, texts)
        found = ranks_of(entries)
        if sizes is None or found is None:
            return False
        ranks, given = found
        self.chars.frombytes(sizes.tobytes())
        self.allowed.frombytes(np.where(kept_by(self.keep, texts), np.maximum(sizes, 1), 0).tobytes())
        self.rank.frombytes(ranks.tobytes())
        self.score.frombytes(np.where(given, floats_of([entry.score for entry in entries]), _NAN).tobytes())
        self.not_numbers += int((given & (ranks == 0)).sum())
        return True


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

    def columns(self, block: list[Numbered], entries: list[Ranked]) -> bool:
        texts = [entry.target for entry in entries]
        sizes = sizes_of(entries, texts)
        found = ranks_of(entries)
        if sizes is None or found is None:
            return False
        shown = ["" if text is UNSET else text for text in texts]
        hidden = np.array([text is UNSET for text in texts], dtype=np.bool_)
        self.chars.frombytes(sizes.tobytes())
        self.allowed.frombytes(np.where(hidden, sizes, characters_of(self.keep)(shown)).tobytes())
        self.rank.frombytes(found[1].astype(np.int64).tobytes())
        self.blank.extend([text.startswith(" ") for text in shown])
        return True


class _IcReader(_Reader):
    game = "ic"

    def __init__(self, keep: str, mixes: tuple[Mix, ...]) -> None:
        super().__init__(keep, mixes)
        self.waiting: list[Row] = []
        self.numbers: list[int] = []  # of the lines of those that wait

    def entries(self, number: int, entries: list[Row]) -> None:
        keeps = keeper_of(self.keep)
        for entry in entries:
            target = entry.get("target")
            size = entry["targetChars"] if target is None else len(target)
            self.chars.append(size)
            self.allowed.append((size or 1) if target is None or keeps(target) else 0)
            self.before.append(logs.right_before(entry))
            score = entry["score"]
            self.score.append(_score(score[1]) if len(score) == 2 else _NAN)
        self.waiting.extend(entries)
        self.numbers.extend([number] * len(entries))
        if len(self.waiting) >= _CHUNK:
            self._reckon()

    def columns(self, block: list[Numbered], entries: list[Corrected] | list[Hidden]) -> bool:
        texts = [entry.target for entry in entries]
        sizes = sizes_of(entries, texts)
        if sizes is None:
            return False
        self.chars.frombytes(sizes.tobytes())
        self.allowed.frombytes(np.where(kept_by(self.keep, texts), np.maximum(sizes, 1), 0).tobytes())
        self.before.extend(
            [
                entry.target == entry.verbatim if entry.verbatimMatch is None else entry.verbatimMatch
                for entry in entries
            ]
        )
        self.score.frombytes(floats_of([entry.score[1] for entry in entries]).tobytes())
        self._reckon()
        if self.mixes:
            for start in range(0, len(entries), _CHUNK):
                part = entries[start : start + _CHUNK]
                tokens = Tokens.of_columns(
                    list(map(len, [entry.candidates for entry in part])),
                    chain.from_iterable([entry.candidates for entry in part]),
                    [entry.score for entry in part],
                )
                self.correct.append(np.packbits(tokens.correct(self.mixes), axis=1))
        return True

    def _reckon(self) -> None:
        waiting, numbers = self.waiting, self.numbers
        self.waiting, self.numbers = [], []
        if not self.mixes or not waiting:
            return
        try:
            tokens = Tokens.of(waiting)
        except LogError:
            for number, entry in zip(numbers, waiting, strict=True):
                Tokens.of([entry], f"Line {number} of the log")
            raise
        self.correct.append(np.packbits(tokens.correct(self.mixes), axis=1))

    def table(self) -> Table:
        self._reckon()
        return super().table()


_READERS: dict[str, type[_Reader]] = {"wp": _WpReader, "tc": _TcReader, "ic": _IcReader}
_NAN = float("nan")


def _score(value: Any) -> float:
    return float(value) if type(value) in (int, float) else _NAN
