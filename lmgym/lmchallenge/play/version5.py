"""The games of version 5: word completion (wc), word entropy (we), character entropy (ce), word reranking (wr).

They are played like the games of version 4 (`play.loop`). Each entry is one token (ce: one character); adding
user and message makes it a log row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmgym.lmchallenge.corpus import Line, same_user
from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.logs.version5 import GAME_WORDS
from lmgym.lmchallenge.play import loop as version4
from lmgym.lmchallenge.play import typing_errors
from lmgym.lmchallenge.play.games import Entry, Game, InputCorrection, Play, pieces
from lmgym.lmchallenge.play.player import Player, Reply, Request
from lmgym.lmchallenge.tokens import tokens

_ENTRIES = "entries"


def _placed(tokens: Iterable[tuple[int, str]]) -> Iterator[Entry]:
    """Yield an entry for each token with its number, start and target."""
    for number, (start, target) in enumerate(tokens):
        yield {"token": number, "character": start, "target": target}


@dataclass(frozen=True)
class WordCompletion:
    """Word completion: each token is typed character by character. The model predicts before each character or, with
    `next_word_only`, only before the first.
    """

    next_word_only: bool = False
    key: str = _ENTRIES

    def play(self, line: str) -> Play:
        """Play a line. One entry per token with `completions`: the predicted texts for each typed prefix."""
        entries = list(_placed(tokens(line)))
        calls = [
            (entry, entry["character"] + typed)
            for entry in entries
            for typed in range(1 if self.next_word_only else len(entry["target"]))
        ]
        for part in pieces(calls):
            replies = yield [Request(line[:end]) for _, end in part]
            for (entry, _), reply in zip(part, replies, strict=True):
                entry.setdefault("completions", []).append([text for text, _ in reply])
        return entries

    def skip(self, line: str) -> None:
        """Do nothing: the game draws no random numbers."""


@dataclass(frozen=True)
class Entropy:
    """Entropy: the log probability of each token or, with `characters`, of each character."""

    characters: bool
    key: str = _ENTRIES

    def play(self, line: str) -> Play:
        """Play a line. One entry per token with `logp`, null if the model does not score it."""
        entries = list(_placed(enumerate(line) if self.characters else tokens(line)))
        for part in pieces(entries):
            replies = yield [Request(line[: entry["character"]], [entry["target"]]) for entry in part]
            for entry, reply in zip(part, replies, strict=True):
                entry["logp"] = _score_of(entry["target"], reply)
        return entries

    def skip(self, line: str) -> None:
        """Do nothing: the game draws no random numbers."""


def _score_of(target: str, reply: Reply) -> float | None:
    return next((score for text, score in reply if text == target), None)


class WordReranking(InputCorrection):
    """Input correction as in version 4, but with version 5 log rows: the same errors, candidates and requests."""

    key = _ENTRIES

    def play(self, line: str) -> Play:
        """Play a line. One entry per token: the word as typed, and `results` [candidate, error score, model
        score], best error score first.
        """
        entries = yield from super().play(line)
        return [{**place, **entry} for place, entry in zip(_placed(tokens(line)), entries, strict=True)]

    def entry(self, token: str, typed: str, words: Sequence[str], model: dict[str, float]) -> Entry:
        """Return the log entry for one token."""
        error = self.error_scores(typed, words)
        ranked = sorted(words, key=lambda word: -error[word])
        return {"verbatim": typed, "results": [[word, error[word], model.get(word)] for word in ranked]}


@dataclass(frozen=True)
class Options:
    """Options of a game. `as_dict` gives JSON types. Seed 0 is an ordinary seed."""

    game: str
    next_word_only: bool = False
    seed: int = typing_errors.SEED
    num_candidates: int = typing_errors.CANDIDATES
    error_chars: str = typing_errors.ERROR_CHARS
    p_anykey: float = typing_errors.P_ANYKEY
    train: bool = False

    def __post_init__(self) -> None:
        if self.game not in GAME_WORDS:
            raise OptionError(f"Unknown game {self.game!r}.", "Choose wc, we, ce or wr.")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Options:
        """Pick the values that are options of a game. Raises OptionError."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__ if name in values})

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return dict(vars(self))

    def build(self, words: Sequence[str] | None = None) -> Game:
        """Build the game. `wr` needs the words of a vocabulary. Raises OptionError."""
        if self.game == "wc":
            return WordCompletion(self.next_word_only)
        if self.game in ("we", "ce"):
            return Entropy(self.game == "ce")
        if words is None:
            raise OptionError("Word reranking needs a vocabulary.", "Pass a file with one word per line.")
        return WordReranking(
            typing_errors.Vocabulary(words),
            targets=True,
            num_candidates=self.num_candidates,
            errors=typing_errors.ErrorModel(self.p_anykey, self.error_chars),
            random=typing_errors.seeded(self.seed),
        )


@dataclass(frozen=True)
class Played:
    """A played message: the number of its line, and its log rows (none if it has no tokens)."""

    number: int
    rows: list[dict[str, Any]]


def play(
    lines: Iterable[Line], game: Game, player: Player, *, train: bool = False, skip: int = 0
) -> Iterator[Played]:
    """Play every line. With `train`, the model is cleared at the start of each group of one user's lines, and learns
    each line after it has been played; timestamps are ignored. `skip` and errors are as in `play.loop.play`.
    """
    for played in version4.play(_messages(lines), game, player, train=train, skip=skip):
        row = played.row
        of = {"user": row["userId"], "message": row["message"]}
        yield Played(played.number, [{**of, **entry} for entry in row[game.key]])


def _messages(lines: Iterable[Line]) -> Iterator[Line]:
    """Number the lines from 0 within each group of one user's lines."""
    current: Line | None = None
    for line in lines:
        before = current
        current = replace(line, row={"userId": line.row.get("user", line.row.get("userId")), "message": 0})
        if before is not None and same_user(before, current):
            current = replace(current, row={**before.row, "message": before.row["message"] + 1})
        yield current
