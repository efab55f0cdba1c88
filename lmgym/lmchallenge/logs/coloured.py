"""Split lines of a log into coloured pieces with outcome, rank, score and predictions, for pages, exports and the API.

For wp, the colours mark rank 1 and ranks up to 3, as labelled; in the reference's `pretty`
they are off by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from msgspec import UNSET

from lmgym.lmchallenge.logs import pretty
from lmgym.lmchallenge.logs.decoder import CorrectionEntry, LogLine
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.pretty import OUTCOME_WORDS, Span, spans
from lmgym.lmchallenge.logs.version5 import pretty as version5_pretty
from lmgym.lmchallenge.logs.version5 import stats as version5
from lmgym.lmchallenge.logs.version5.log import Token
from lmgym.lmchallenge.logs.version5.reranking import Mixture

PREDICTIONS = 5
MOST_STARS = 200
"""Maximum number of asterisks for a hidden text, because a few bytes of a log can declare any length."""
LEGENDS = pretty.LEGENDS | version5_pretty.LEGENDS
GAPLESS = ("tc", *version5_pretty.LEGENDS)
"""Games whose pieces include any space before them."""


def words_of(game: str) -> dict[str, str]:
    """Return the game's outcomes with their labels."""
    known = version5_pretty.words() if game in version5_pretty.LEGENDS else OUTCOME_WORDS
    return {name: known[name] for name in LEGENDS[game]}


@dataclass(frozen=True)
class Piece:
    """A token, or a run of characters with the same outcome.

    meaning      label of the outcome
    place        the rank as text
    words        full description, for a tooltip
    before       version 5: space before a token that does not touch the previous one
    """

    text: str
    outcome: str
    meaning: str
    rank: int | None
    score: float | None
    predictions: list[tuple[str, float | None]]
    typed: str = ""
    place: str = ""
    before: str = ""

    @property
    def words(self) -> str:
        parts = [f"“{self.text}”: {self.meaning}"]
        if self.typed and self.typed != self.text:
            parts.append(f"typed “{self.typed}”")
        if self.place:
            parts.append(f"rank {self.place}")
        if self.score is not None:
            parts.append(f"score {_three_digits(self.score)}")
        listed = "  ".join(
            f"{text} {_three_digits(score)}" if score is not None else text
            for text, score in self.predictions
        )
        return ", ".join(parts) + (f". Top predictions: {listed}" if listed else ".")


@dataclass(frozen=True)
class ColouredLine:
    """A line (version 4), or a message (version 5), numbered by its first row."""

    number: int
    user: Any
    pieces: list[Piece]
    gap: str = ""


def line_of(
    number: int,
    line: LogLine,
    keep: str,
    mix: Mix | None = None,
    *,
    base: int | None = 1,
    readings: str = "corrected",
) -> ColouredLine:
    """Colour one line.

    `base` is the lowest possible rank in a tc log, 0 or 1; None if unknown.
    """
    line_spans = spans(line, keep, mix, readings, MOST_STARS)
    words = OUTCOME_WORDS
    if readings == "reference" and line.game == "wp":
        words = {**words, **pretty.REFERENCE_WORDS}
    user = None if line.user is UNSET else line.user
    gap = "" if line.game in GAPLESS else " "
    return ColouredLine(number, user, list(pieces(line_spans, mix, base, words)), gap)


def messages_of(tokens: Iterable[tuple[int, Token]], mixture: Mixture | None) -> Iterator[ColouredLine]:
    """Colour a version 5 log, message by message. Tokens of one message must be consecutive."""
    words = version5_pretty.words()
    for _, group in groupby(tokens, lambda one: (one[1].user, one[1].message)):
        members = list(group)
        gaps = version5_pretty.gaps(token for _, token in members)
        message_pieces = [
            piece
            for (_, token), gap in zip(members, gaps, strict=True)
            for piece in _pieces_5(token, mixture, words, " " if gap else "")
        ]
        yield ColouredLine(members[0][0], members[0][1].user, message_pieces)


def _pieces_5(token: Token, mixture: Mixture | None, words: dict[str, str], before: str) -> Iterator[Piece]:
    rank, score, typed = None, None, ""
    best: list[tuple[str, float | None]] = []
    if isinstance(token.completions, list):
        answers = token.completions[0] if token.completions else []
        rank = version5.rank_of(answers, token.target)
        best = [(encodable(text), None) for text in answers[:PREDICTIONS]]
    elif isinstance(token.results, list) and mixture is not None:
        worth = [(encodable(word), mixture.score(error, model)) for word, error, model in token.scores]
        best = list(sorted(worth, key=lambda pair: -pair[1])[:PREDICTIONS])
        typed = encodable(str(token.verbatim or ""))
    elif isinstance(token.logp, float):
        score = token.logp
    for text, outcome in version5_pretty.outcomes(token, mixture):
        if text:
            place = "" if rank is None else str(rank)
            yield Piece(encodable(text), outcome, words[outcome], rank, score, best, typed, place, before)
            before = ""


def encodable(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode()


def _three_digits(score: float) -> str:
    """Format with three significant digits and a minus sign (−)."""
    return f"{score:.3g}".replace("-", "−")


NO_USER = "(no user)"


def user_words(name: str) -> str:
    """Format a log's user for display. `name` is the userId as JSON."""
    user = json.loads(name)
    return NO_USER if user is None else encodable(user) if isinstance(user, str) else name


def pieces(
    line_spans: Iterable[Span],
    mix: Mix | None,
    base: int | None = 1,
    words: dict[str, str] = OUTCOME_WORDS,
) -> Iterator[Piece]:
    """Turn spans into pieces, merging characters with the same entry and outcome. `base`: see `line_of`."""
    run: list[Span] = []
    for span in line_spans:
        if run and not (run[-1].entry is span.entry and run[-1].outcome == span.outcome and _is_tc(span)):
            yield _piece(run, mix, base, words)
            run = []
        run.append(span)
    if run:
        yield _piece(run, mix, base, words)


def _is_tc(span: Span) -> bool:
    return span.outcome in ("typed", "accepted", "saved") or (
        span.outcome == "skipped" and len(span.text) == 1 and len(span.entry.text or "") > 1
    )


def _piece(run: list[Span], mix: Mix | None, base: int | None, words: dict[str, str]) -> Piece:
    last = run[-1]
    entry = last.entry
    text, meaning = encodable("".join(span.text for span in run)), words[last.outcome]
    place = _place(last.rank, base)
    if mix is None:
        best = _best(entry.predicted())
        return Piece(text, last.outcome, meaning, last.rank, entry.score, best, place=place)
    typed = "" if entry.verbatim is UNSET else encodable(str(entry.verbatim))
    return Piece(text, last.outcome, meaning, last.rank, None, _mixed(entry, mix), typed, place)


def _place(rank: int | None, base: int | None) -> str:
    """Format a rank counted from 1, with the rank in the log if that differs."""
    if rank is None:
        return ""
    if base is None:
        return f"{rank} in the log"
    return str(rank) if base else f"{rank + 1} ({rank} in the log)"


def _number(value: Any) -> float | None:
    """Return a score as a float, or None for values of another type (in logs from other programs)."""
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except OverflowError:
        return None


def _best(predictions: Any) -> list[tuple[str, float | None]]:
    """Return the best predictions with their scores. Malformed ones are shown as text."""
    best: list[tuple[str, float | None]] = []
    for one in predictions if isinstance(predictions, list) else []:
        parts = one if isinstance(one, list) else [one]
        best.append(
            (encodable(str(parts[0])) if parts else "", _number(parts[1]) if len(parts) > 1 else None)
        )
    best.sort(key=lambda pair: (pair[1] is None, -(pair[1] or 0)))
    return best[:PREDICTIONS]


def _mixed(entry: CorrectionEntry, mix: Mix) -> list[tuple[str, float | None]]:
    """Return the best ic candidates by mixed score."""
    candidates: list[Any] = entry.candidates
    known = [score for *_, score in candidates if score is not None]
    floor = mix.oov_penalty + min(known, default=0.0)
    worth = [
        (encodable(str(names[0])), (1 - mix.alpha) * error + mix.alpha * (floor if score is None else score))
        for *names, error, score in candidates
        if names
    ]
    return [(text, value) for text, value in sorted(worth, key=lambda pair: -pair[1])[:PREDICTIONS]]
