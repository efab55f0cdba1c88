"""The statistics of short logs of wp and tc without numpy, which takes longer to load than they take to count.

The same names and numbers as `stats` (the tests compare them); `ic` and long logs are left to that.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from gym.lmchallenge.errors import LogError, OptionError
from gym.lmchallenge.logs import NOBODY, Checker, Row, check_learnt, name_of, no_user
from gym.lmchallenge.names import RESULT_KEYS
from gym.lmchallenge.tokens import FILTERS

HITS = (1, 3, 10, 20)
LAST_INDEX = 4
NAN_RANKS = "{} ranks are 0, which comes of scores that are NaN: counted as not predicted."


class Quick:
    """The lines of one log, counted as they come. `rows` has for each (number, name of the user, counts)."""

    def __init__(self, keep: str) -> None:
        if keep not in FILTERS:
            raise OptionError(f"There is no filter {keep!r}.", f"Choose one of {', '.join(FILTERS)}.")
        self._keeps = FILTERS[keep]
        self._verdicts: dict[str, bool] = {}
        self.lines: list[_Line] = []
        self.game = ""
        self.not_numbers = 0

    def take(self, lines: Iterable[tuple[int, bytes]], source: str) -> bool:
        """Numbered lines; False if this is a log of ic. Raises LogError."""
        checker = Checker(source)
        for line in lines:
            row = checker.row(line)
            if checker.game == "ic":
                return False
            if row is not None:
                self.game = checker.game or ""
                check_learnt(line[0], row.get("trainingChars"))
                self.lines.append(_Line(line[0], row, self._counted(row)))
        if not self.lines:
            raise LogError("The log is empty.", "There is nothing to count.")
        return True

    @property
    def notices(self) -> list[str]:
        """What a person should know."""
        return [NAN_RANKS.format(self.not_numbers)] if self.not_numbers else []

    def statistics(self, partition: str) -> list[dict[str, Any]]:
        """One dictionary per part, in the order of the log."""
        if partition == "all":
            parts = [self.lines]
        elif partition == "line":
            parts = [[line] for line in self.lines]
        else:
            lacking = next((line.number for line in self.lines if not line.has_user), None)
            if lacking is not None:
                raise no_user(lacking)
            parts = [list(lines) for _, lines in groupby(self.lines, lambda line: line.user)]
        rates = _word_prediction if self.game == "wp" else _text_completion
        return [{**_about(lines), **rates([line.counts for line in lines])} for lines in parts]

    def _verdict(self, text: str) -> bool:
        found = self._verdicts.get(text)
        if found is None:
            found = self._verdicts[text] = self._keeps(text)
        return found

    def _counted(self, row: Row) -> Any:
        entries = row[RESULT_KEYS[self.game]]
        return self._words(entries) if self.game == "wp" else self._texts(entries)

    def _words(self, entries: list[Row]) -> list[tuple[int, int, int]]:
        """(rank, place among the counted tokens, characters), rank 0 = not predicted and -1 = skipped."""
        found = []
        place = 0
        for entry in entries:
            target, rank = entry.get("target"), entry.get("rank")
            self.not_numbers += rank == 0
            if target is not None and not self._verdict(target):
                found.append((-1, 0, 0))
                continue
            size = entry["targetChars"] if target is None else len(target)
            found.append((rank or 0, place, size))
            place += 1
        return found

    def _texts(self, entries: list[Row]) -> list[tuple[bool, int, int]]:
        """(accepted, characters, characters that count)."""
        found = []
        for entry in entries:
            target = entry.get("target")
            size = entry["targetChars"] if target is None else len(target)
            counted = size if target is None else sum(map(self._verdict, target))
            found.append((entry.get("rank") is not None, size, counted))
        return found


class _Line:
    """What a line comes to."""

    __slots__ = ("counts", "has_user", "learnt", "number", "user")

    def __init__(self, number: int, row: Row, counts: Any) -> None:
        user = row.get("userId")
        self.number, self.counts, self.learnt = number, counts, row.get("trainingChars")
        self.user, self.has_user = NOBODY if user is None else name_of(user), "userId" in row


def _about(lines: list[_Line]) -> dict[str, Any]:
    """training_chars is the highest number so far, but a line without one forgets it."""
    highest: Any = None
    for line in lines:
        both = highest is not None and line.learnt is not None
        highest = max(highest, line.learnt) if both else line.learnt
    return {"lines": len(lines), "users": len({line.user for line in lines}), "training_chars": highest}


def _rate(above: float, below: float) -> float | None:
    return above / below if below else None


def _word_prediction(lines: list[list[tuple[int, int, int]]]) -> dict[str, Any]:
    words = chars = skipped = hit = 0
    ranks: dict[int, int] = {}
    there, ranked, near = ([0] * (LAST_INDEX + 1) for _ in range(3))
    for line in lines:
        for rank, place, size in line:
            if rank < 0:
                skipped += 1
                continue
            place = min(place, LAST_INDEX)
            words += 1
            chars += size
            there[place] += 1
            if rank:
                hit += 1
                ranks[rank] = ranks.get(rank, 0) + 1
                ranked[place] += 1
                near[place] += rank <= 3
    found = {
        "words": words,
        "chars": chars,
        "skip": _rate(skipped, words),
        "miss": _rate(words - hit, words),
        "hit": _rate(hit, words),
        "mrr": _rate(sum(count / rank for rank, count in ranks.items()), words),
    }
    for most in HITS:
        found[f"hit{most}"] = _rate(sum(count for rank, count in ranks.items() if rank <= most), words)
    for index in range(LAST_INDEX + 1):
        if ranked[index]:
            found[f"idx{index}_hit3"] = _rate(near[index], there[index])
    return found


def _text_completion(lines: list[list[tuple[bool, int, int]]]) -> dict[str, Any]:
    entries = [entry for line in lines for entry in line]
    chars = sum(counted for _, _, counted in entries)
    keys = sum(counted > 0 if accepted else counted for accepted, _, counted in entries)
    return {
        "chars": chars,
        "pcpc": _rate(sum(counted for accepted, _, counted in entries if accepted), chars),
        "kpc": _rate(keys, chars),
        "skip": _rate(sum(size - counted for _, size, counted in entries), chars),
    }
