"""The three games of version 4: next word (wp), text completion (tc), input correction (ic).

A game plays a line as a generator: it yields lists of requests, is sent lists of replies, and returns the line's
entries for the log. Several lines can thus be played together, in batches of calls. Random numbers are drawn before the
first request of a line, so that starting the lines in order keeps the random stream in order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.logs.log_rows import RESULT_KEYS
from lmgym.lmchallenge.play import typing_errors
from lmgym.lmchallenge.play.player import Reply, Request
from lmgym.lmchallenge.tokens import tokens

if TYPE_CHECKING:
    import random

Call = TypeVar("Call")
Entry: TypeAlias = dict[str, Any]
Play: TypeAlias = Generator[list[Request], list[Reply], list[Entry]]

GAME_WORDS = {"wp": "next word", "tc": "text completion", "ic": "input correction"}
SELECT_FROM = 3
MOST_SELECTION_COST = 100
"""Maximum cost of accepting a prediction, in keystrokes."""
PIECE = 64
"""Maximum number of a line's requests sent together. Each contains the line so far as its context, so sending all at
once would take memory quadratic in the length of the line.
"""


def pieces(calls: Iterable[Call]) -> Iterator[list[Call]]:
    """Yield lists of up to PIECE calls."""
    left = iter(calls)
    while part := list(islice(left, PIECE)):
        yield part


class Game(Protocol):
    """A game with its options."""

    @property
    def key(self) -> str:
        """Key for the results in a log line."""

    def play(self, line: str) -> Play:
        """Play one line."""

    def skip(self, line: str) -> None:
        """Draw the same random numbers as `play` without playing, to resume after a break."""


@dataclass(frozen=True)
class WordPrediction:
    """Next word: the model predicts each token from everything before it in the line.

    The score comes from the first prediction equal to the token. The rank is the number of predictions with
    at least that score, so ties count against the model and the order of the predictions does not matter.
    """

    targets: bool = True
    predictions: bool = False
    key: str = field(default=RESULT_KEYS["wp"], init=False)

    def play(self, line: str) -> Play:
        """Play a line. One entry per token: target or targetChars, rank and score if predicted, and optionally
        predictions.
        """
        entries: list[Entry] = []
        for part in pieces(tokens(line)):
            replies = yield [Request(line[:start]) for start, _ in part]
            entries += [self._entry(token, reply) for (_, token), reply in zip(part, replies, strict=True)]
        return entries

    def skip(self, line: str) -> None:
        """Do nothing: the game draws no random numbers."""

    def _entry(self, token: str, reply: Reply) -> Entry:
        entry: Entry = {"target": token} if self.targets else {"targetChars": len(token)}
        if self.targets and self.predictions:
            entry["predictions"] = [list(pair) for pair in reply]
        score = next((score for text, score in reply if text == token), None)
        if score is not None:
            entry["rank"] = sum(score <= other for _, other in reply)
            entry["score"] = score
        return entry


@dataclass(frozen=True)
class TextCompletion:
    """Text completion: a typist accepts the longest match among the first `select_from` predictions, in the order of
    the reply, or else types one character. Ranks of accepted predictions count from 0, as in the reference, or from
    `first_rank`.
    """

    targets: bool = True
    select_from: int = SELECT_FROM
    first_rank: int = 0
    key: str = field(default=RESULT_KEYS["tc"], init=False)

    def play(self, line: str) -> Play:
        """Play a line. Entries with rank and score were accepted, the others were typed. Together their texts form the
        line.
        """
        entries: list[Entry] = []
        typed = at = 0
        while at < len(line):
            (reply,) = yield [Request(line[:at])]
            fitting = [
                (text, place, score)
                for place, (text, score) in enumerate(reply[: self.select_from])
                if text and line.startswith(text, at)
            ]
            if not fitting:
                at += 1
                continue
            if typed < at:
                entries.append(self._entry(line[typed:at]))
            text, place, score = max(fitting, key=lambda match: len(match[0]))
            entries.append({"rank": place + self.first_rank, "score": score, **self._entry(text)})
            at += len(text)
            typed = at
        if typed < at:
            entries.append(self._entry(line[typed:]))
        return entries

    def skip(self, line: str) -> None:
        """Do nothing: the game draws no random numbers."""

    def _entry(self, text: str) -> Entry:
        return {"target": text} if self.targets else {"targetChars": len(text)}


class InputCorrection:
    """Input correction: each token is corrupted, and the model scores the words that may have been intended."""

    key = RESULT_KEYS["ic"]

    def __init__(
        self,
        words: typing_errors.Vocabulary,
        *,
        targets: bool,
        num_candidates: int,
        errors: typing_errors.ErrorModel,
        random: random.Random,
    ) -> None:
        self.words = words
        self.targets = targets
        self.num_candidates = num_candidates
        self.errors = errors
        self.random = random

    def play(self, line: str) -> Play:
        """Play a line. One entry per token: score [error, model], candidates with both scores, the word and the word as
        typed or, without `targets`, the word's length and whether it was typed without error.
        """
        corrupted = [(start, token, self.errors.corrupt(token, self.random)) for start, token in tokens(line)]
        entries: list[Entry] = []
        for part in pieces(corrupted):
            choices = [
                typing_errors.candidates(self.words, typed, token, self.num_candidates)
                for _, token, typed in part
            ]
            replies = yield [
                Request(line[:start], words) for (start, _, _), words in zip(part, choices, strict=True)
            ]
            entries += [
                self.entry(token, typed, words, dict(reply))
                for (_, token, typed), words, reply in zip(part, choices, replies, strict=True)
            ]
        return entries

    def skip(self, line: str) -> None:
        """Advance the random stream past a line that is not played."""
        for _, token in tokens(line):
            self.errors.corrupt(token, self.random)

    def error_scores(self, typed: str, words: Sequence[str]) -> dict[str, float]:
        """Score each word as the intended one, using only the model of typing errors."""
        steps = [self.errors.score(same, len(typed)) for same in range(len(typed) + 1)]
        return {word: steps[typing_errors.matches(typed, word)] for word in words}

    def entry(self, token: str, typed: str, words: Sequence[str], model: dict[str, float]) -> Entry:
        """Return the log entry for one token."""
        length = len(token)
        error = self.error_scores(typed, words)
        score = [error[token], model.get(token)]
        if self.targets:
            return {
                "score": score,
                "target": token,
                "verbatim": typed,
                "candidates": [[word, error[word], model.get(word)] for word in words],
            }
        return {
            "score": score,
            "targetChars": length,
            "verbatimMatch": typed == token,
            "candidates": [[error[word], model.get(word)] for word in words],
        }


@dataclass(frozen=True)
class GameOptions:
    """Options of a game. `as_dict` gives JSON types.

    `readings` is "reference" or "corrected"; with the latter, tc ranks count from 1, and trainingChars counts the
    characters actually learnt.
    """

    game: str
    targets: bool = True
    predictions: bool = False
    select_from: int = SELECT_FROM
    seed: int = typing_errors.SEED
    num_candidates: int = typing_errors.CANDIDATES
    error_chars: str = typing_errors.ERROR_CHARS
    p_anykey: float = typing_errors.P_ANYKEY
    train: bool = False
    readings: str = "reference"

    def __post_init__(self) -> None:
        if self.game not in RESULT_KEYS:
            raise OptionError(f"Unknown game {self.game!r}.", "Choose wp, tc or ic.")
        if self.readings not in ("reference", "corrected"):
            raise OptionError(f"Unknown readings {self.readings!r}.", "Choose reference or corrected.")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> GameOptions:
        """Pick the values that are options of a game. Raises OptionError."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__ if name in values})

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return dict(vars(self))

    def build(self, words: Sequence[str] | None = None) -> Game:
        """Build the game. `ic` needs the words of a vocabulary. Raises OptionError."""
        if self.game == "wp":
            return WordPrediction(self.targets, self.predictions)
        if self.game == "tc":
            return TextCompletion(self.targets, self.select_from, int(self.readings == "corrected"))
        if words is None:
            raise OptionError("Input correction needs a vocabulary.", "Pass a file with one word per line.")
        return InputCorrection(
            typing_errors.Vocabulary(words),
            targets=self.targets,
            num_candidates=self.num_candidates,
            errors=typing_errors.ErrorModel(self.p_anykey, self.error_chars),
            random=typing_errors.rng(self.seed),
        )
