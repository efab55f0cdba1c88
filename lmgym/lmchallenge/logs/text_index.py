"""Search index of a log: for each line (version 5: message), its user, its loss, and the outcomes of its tokens.

Finds and sorts lines without colouring them. Built together with a log's statistics, and stored packed.

The loss of a line is a mean over its counted tokens, 0 at best:

wp      1 - 1/rank, 1 for a token that was not predicted
tc      keystrokes per character
ic, wr  share of words that are wrong after correction
wc      share of characters that had to be typed
we, ce  nats per scored token
"""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lmgym.lmchallenge.logs.coloured import LEGENDS, NO_USER, user_words
from lmgym.lmchallenge.logs.decoder import LogLine
from lmgym.lmchallenge.logs.table import NULL_USER, Flags, Floats, Ints, Table, name_of
from lmgym.lmchallenge.logs.version5 import pretty as version5
from lmgym.lmchallenge.logs.version5.log import Token
from lmgym.lmchallenge.logs.version5.reranking import Mixture
from lmgym.lmchallenge.logs.version5.stats import typed_until_completed

ERRORS = {
    "wp": ("far", "missed"),
    "tc": ("typed",),
    "ic": ("still-wrong", "broken"),
    "wc": ("typed",),
    "we": ("entropy-5", "unknown"),
    "ce": ("entropy-5", "unknown"),
    "wr": ("still-wrong", "broken"),
}
"""Outcomes selected by "errors only"."""
ERROR = "errors"
LOSSES = {
    "wp": "mean of 1 − 1/rank",
    "tc": "keystrokes per character",
    "ic": "share of words wrong after correction",
    "wc": "share of characters typed",
    "we": "nats per scored token",
    "ce": "nats per scored token",
    "wr": "share of words wrong after correction",
}
"""Label of each game's loss."""
WHOLE_TEXT = ("tc", "ce")
"""Games whose entries are not words, so that searches look for a word in the text of the line."""


def outcomes_of(game: str) -> tuple[str, ...]:
    """Return the searchable outcomes. Characters saved by a tc prediction are found through the prediction."""
    return tuple(name for name in LEGENDS[game] if (game, name) != ("tc", "saved"))


@dataclass(frozen=True)
class Index:
    """Columns of the index.

    numbers   number of each line in the log (for a message, of its first row)
    rows      number of log rows in each line, 1 in version 4
    users     user of each line, for display
    counted   counted tokens of each line (characters for tc and wc)
    loss      loss of each line; NaN if nothing is counted
    line      line of each token, from 0
    outcome   outcome of each token, as its index in `outcomes_of`
    word      word of each token, as its index in `words`; -1 if hidden
    texts     text of each line, for games that search whole lines
    """

    game: str
    numbers: Ints
    rows: Ints
    users: list[str]
    counted: Floats
    loss: Floats
    line: Ints
    outcome: Ints
    word: Ints
    words: dict[str, int]
    texts: list[str]

    def find_lines(
        self, *, outcome: str = "", word: str = "", user: str = "", worst_first: bool = False
    ) -> Ints:
        """Find the lines that match.

        Args:
            outcome: lines with a token of this outcome; ERROR: of any error.
            word: lines with this word (ignoring case), with `outcome` if that is set.
            user: lines of this user; NULL_USER includes lines without a user.
            worst_first: sort by loss, then by counted tokens, descending, with lines without counted tokens
                last. Default: the order of the log.

        Returns:
            int64, indices of lines.
        """
        mask = np.ones(len(self.numbers), dtype=np.bool_)
        if user:
            names = {user, NO_USER} if user == NULL_USER else {user}
            mask &= np.array([name in names for name in self.users], dtype=np.bool_)
        if outcome or word:
            mask &= self._with(self._tokens(outcome, word))
        if word and self.game in WHOLE_TEXT:
            sought = word.casefold()
            mask &= np.array([sought in text for text in self.texts], dtype=np.bool_)
        places = np.flatnonzero(mask)
        if worst_first:
            loss = np.where(np.isnan(self.loss), -np.inf, self.loss)[places]
            places = places[np.lexsort((places, -self.counted[places], -loss))]
        return places

    def place_of(self, number: int) -> int | None:
        """Return the index of the line that contains row `number`, or None."""
        place = int(np.searchsorted(self.numbers, number, side="right")) - 1
        return place if place >= 0 and number < self.numbers[place] + self.rows[place] else None

    def _tokens(self, outcome: str, word: str) -> Flags:
        mask = np.ones(len(self.line), dtype=np.bool_)
        if outcome:
            names = outcomes_of(self.game)
            sought = ERRORS[self.game] if outcome == ERROR else (outcome,)
            mask &= np.isin(self.outcome, [names.index(name) for name in sought])
        if word and self.game not in WHOLE_TEXT:
            mask &= self.word == self.words.get(word.casefold(), -2)
        return mask

    def _with(self, tokens: Flags) -> Flags:
        return np.bincount(self.line[tokens], minlength=len(self.numbers)) > 0


FILTERED = ("counted", "loss", "outcome")
SHARED = ("numbers", "rows", "line", "word")
TEXTS = ("game", "users", "words", "texts")


def pack(indexes: Mapping[str, Index]) -> bytes:
    """Pack the indexes of one log, by filter. Columns other than FILTERED are shared."""
    first = next(iter(indexes.values()))
    columns = {name: getattr(first, name) for name in SHARED}
    texts = json.dumps({name: getattr(first, name) for name in TEXTS}).encode()
    columns["texts"] = np.frombuffer(texts, dtype=np.uint8)
    for keep, index in indexes.items():
        columns |= {f"{keep}.{name}": getattr(index, name) for name in FILTERED}
    file = io.BytesIO()
    np.savez_compressed(file, **columns)
    return file.getvalue()


def unpack(packed: bytes, keep: str) -> Index:
    """Unpack the index for one filter."""
    with np.load(io.BytesIO(packed)) as columns:
        fields = {name: columns[name] for name in SHARED}
        fields |= {name: columns[f"{keep}.{name}"] for name in FILTERED}
        return Index(**fields, **json.loads(columns["texts"].tobytes()))


@dataclass
class Words:
    """Words of a log's tokens as numbers, or texts of its lines, recorded while streaming."""

    whole: bool = False
    known: dict[str, int] = field(default_factory=dict)
    at: array[int] = field(default_factory=lambda: array("q"))
    texts: list[str] = field(default_factory=list)

    def record_stream(self, lines: Iterable[tuple[int, LogLine]]) -> Iterator[tuple[int, LogLine]]:
        """Yield the lines of a version 4 log unchanged, recording each."""
        for number, line in lines:
            self.whole = line.game in WHOLE_TEXT
            self.add([entry.part for entry in line.entries])
            yield number, line

    def add(self, parts: Sequence[str | int]) -> None:
        """Record the targets of a line or message; a number is the length of a hidden one."""
        if self.whole:
            self.texts.append("".join(part for part in parts if isinstance(part, str)).casefold())
            return
        for part in parts:
            hidden = isinstance(part, int)
            self.at.append(-1 if hidden else self.known.setdefault(part.casefold(), len(self.known)))  # type: ignore[union-attr]

    def of(self, tokens: int) -> Ints:
        """Return int64[tokens], the number of each token's word."""
        return np.array(self.at, dtype=np.int64) if not self.whole else np.full(tokens, -1, dtype=np.int64)


def index_of(table: Table, words: Words, mix: int = 0) -> Index:
    """Build the index of a version 4 log, with the table's filter and, for ic, mixture number `mix`."""
    outcome, above, below = _ranked(table) if table.game == "wp" else _other(table, mix)
    size = len(table.lines)
    counted = _sums(table.line, below, size)
    loss = _sums(table.line, above, size)
    return Index(
        table.game,
        np.array(table.lines.numbers, dtype=np.int64),
        np.ones(size, dtype=np.int64),
        [user_words(name) for name in table.lines.users],
        counted,
        _ratios(loss, counted),
        table.line,
        outcome,
        words.of(len(table.line)),
        words.known,
        words.texts,
    )


def _sums(line: Ints, values: Floats, lines: int) -> Floats:
    return np.bincount(line, weights=values, minlength=lines).astype(np.float64)


def _ratios(above: Floats, below: Floats) -> Floats:
    ratios: Floats = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
    return ratios


def _coded(game: str, conditions: Sequence[tuple[Flags, str]], last: str) -> Ints:
    names = outcomes_of(game)
    codes = [np.int64(names.index(name)) for _, name in conditions]
    return np.select([flags for flags, _ in conditions], codes, np.int64(names.index(last)))


def _ranked(table: Table) -> tuple[Ints, Floats, Floats]:
    """Return the outcome, loss and weight of each token in a wp log."""
    kept, rank = table.selected, table.rank
    conditions = [
        (~kept, "skipped"),
        (rank == 0, "missed"),
        (rank == 1, "first"),
        (rank <= 3, "near"),
    ]
    loss = np.where(kept, 1 - np.where(rank > 0, 1 / np.maximum(rank, 1), 0.0), 0.0)
    return _coded("wp", conditions, "far"), loss, kept.astype(np.float64)


def _other(table: Table, mix: int) -> tuple[Ints, Floats, Floats]:
    if table.game == "tc":
        accepted, allowed = table.rank > 0, table.allowed
        outcome = _coded("tc", [(allowed == 0, "skipped"), (accepted, "accepted")], "typed")
        keys = np.where(accepted, allowed > 0, allowed)
        return outcome, keys.astype(np.float64), allowed.astype(np.float64)
    kept, before, after = table.selected, table.before, table.first(mix)
    conditions = [
        (~kept, "skipped"),
        (before & after, "still-right"),
        (before, "broken"),
        (after, "corrected"),
    ]
    wrong = (kept & ~after).astype(np.float64)
    return _coded("ic", conditions, "still-wrong"), wrong, kept.astype(np.float64)


# -- version 5 -----------------------------------------------------------------------------------------------


def index_of_messages(tokens: Iterable[tuple[int, Token]], game: str, mixture: Mixture | None) -> Index:
    """Build the index of a version 5 log. The game is an argument because a single token does not distinguish we from
    ce.
    """
    codes = {name: code for code, name in enumerate(outcomes_of(game))}
    numbers, rows, users = array("q"), array("q"), []
    line, outcome, above, below = array("q"), array("q"), array("d"), array("d")
    words = Words(game in WHOLE_TEXT)
    message: list[str] = []
    current: Any = object()
    for number, token in tokens:
        if (token.user, token.message) != current:
            if message:
                words.add(message)
            message, current = [], (token.user, token.message)
            numbers.append(number)
            rows.append(0)
            users.append(user_words(name_of(token.user)))
        message.append(token.target)
        rows[-1] = number - numbers[-1] + 1
        line.append(len(numbers) - 1)
        name, loss, weight = _judged(token, mixture)
        outcome.append(codes[name])
        above.append(loss)
        below.append(weight)
    if message:
        words.add(message)
    at, size = np.array(line, dtype=np.int64), len(numbers)
    counted = _sums(at, np.array(below), size)
    return Index(
        game,
        np.array(numbers, dtype=np.int64),
        np.array(rows, dtype=np.int64),
        users,
        counted,
        _ratios(_sums(at, np.array(above), size), counted),
        at,
        np.array(outcome, dtype=np.int64),
        words.of(len(at)),
        words.known,
        words.texts,
    )


def _judged(token: Token, mixture: Mixture | None) -> tuple[str, float, float]:
    """Return the outcome, loss and weight of a token in a version 5 log."""
    pieces = version5.outcomes(token, mixture)
    outcome = next((name for text, name in reversed(pieces) if text), pieces[-1][1])
    if outcome == "skipped":
        return outcome, 0.0, 0.0
    if isinstance(token.completions, list):
        typed = typed_until_completed(token.completions, token.target)
        size = len(token.target)
        return outcome, float(size if typed is None else typed), float(size)
    if isinstance(token.results, list):
        return outcome, float(outcome in ERRORS["wr"]), 1.0
    return (outcome, 0.0, 0.0) if token.logp is None else (outcome, -float(token.logp), 1.0)  # type: ignore[arg-type]


__all__ = [
    "ERROR",
    "ERRORS",
    "LOSSES",
    "NO_USER",
    "Index",
    "Words",
    "index_of",
    "index_of_messages",
    "outcomes_of",
    "pack",
    "unpack",
]
