"""Compare two logs of one text: changes from the baseline, as pages of coloured lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from msgspec import UNSET

from gym.lmchallenge import counting, storage
from gym.lmchallenge.models import Game
from gym.lmchallenge.presenters import page_of
from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs import pretty
from lmgym.lmchallenge.logs.coloured import MOST_STARS, encodable
from lmgym.lmchallenge.logs.decoder import LogLine
from lmgym.lmchallenge.logs.pretty import Change, Span
from lmgym.lmchallenge.logs.version5 import pretty as version5
from lmgym.lmchallenge.logs.version5.log import Token

WORDS = pretty.CHANGE_WORDS | version5.CHANGE_WORDS


@dataclass(frozen=True)
class ChangedPiece:
    """A piece of text with one change.

    is_strong  see `WORDS`
    words      full description, for a tooltip
    before     version 5: space before a token that does not touch the previous one
    """

    text: str
    change: str
    is_strong: bool
    words: str
    before: str = ""


@dataclass(frozen=True)
class ChangedLine:
    """A line (version 4), or a message (version 5), numbered by its first row."""

    number: int
    user: Any
    pieces: list[ChangedPiece]
    gap: str = ""


@dataclass(frozen=True)
class ChangedPage:
    """Page `number` of `pages`."""

    lines: list[ChangedLine]
    number: int
    pages: int


def legend_of(game: Game) -> list[tuple[str, bool, str]]:
    """Return (change, is_strong, label) for each change of the game."""
    return [(name, strong, words) for (name, strong), words in WORDS[game.game].items()]


def read_changes(baseline: Game, game: Game, keep: str, number: int) -> ChangedPage:
    """Read a page of changes. Raises LogError if the games or texts differ, and Http404 for a missing page."""
    if baseline.game != game.game:
        raise LogError(
            f"{baseline.title} plays {baseline.game}, but {game.title} plays {game.game}.",
            "Compare games of the same kind.",
        )
    if baseline.lines != game.lines:
        raise LogError(
            f"The logs have {baseline.lines:,} and {game.lines:,} lines.",
            "Compare complete games on the same text.",
        )
    number, pages, first, last = page_of(game, number)
    if game.version == 5:
        lines = _messages(baseline, game, first, last)
    else:
        lines = _lines(baseline, game, counting.keep_of(keep, baseline, game), first, last)
    return ChangedPage(list(lines), number, pages)


def _lines(baseline: Game, game: Game, keep: str, first: int, last: int) -> Iterator[ChangedLine]:
    mixes = [counting.mix_of(side, keep) for side in (baseline, game)]
    pairs = zip(storage.decoded(baseline, first, last), storage.decoded(game, first, last), strict=True)
    for (_, before), (number, now) in pairs:
        if before.game == "tc" and not _is_one_text(before, now):
            raise LogError(
                f"Line {number}: the logs have different texts.", "Compare games on the same corpus."
            )
        line_changes = pretty.changes([before, now], keep, mixes, f"Line {number}", MOST_STARS)
        if game.game != "tc" and len(before.entries) != len(now.entries):
            raise LogError(
                f"Line {number}: the logs have different texts.", "Compare games on the same corpus."
            )
        user = None if now.user is UNSET else now.user
        yield ChangedLine(
            number, user, list(_pieces(line_changes, game.game)), "" if game.game == "tc" else " "
        )


def _is_one_text(before: LogLine, after: LogLine) -> bool:
    return before.text == after.text or any(isinstance(part, int) for part in (*before.text, *after.text))


def _pieces(line_changes: list[tuple[str, Change, list[Span]]], game: str) -> Iterator[ChangedPiece]:
    """Turn changes into pieces, merging consecutive tc characters with the same change."""
    for _, group in groupby(enumerate(line_changes), lambda item: item[1][1] if game == "tc" else item[0]):
        run = [item for _, item in group]
        text = encodable("".join(text for text, _, _ in run))
        _, change, spans = run[0]
        ranks = [str(span.rank) if span.rank else "none" for span in spans]
        detail = "" if game == "tc" or change[0] == "skipped" else f", rank {' → '.join(ranks)}"
        yield _piece(text, change, game, detail)


def _piece(text: str, change: Change, game: str, detail: str = "", before: str = "") -> ChangedPiece:
    return ChangedPiece(text, *change, f"“{text}”: {WORDS[game][change]}{detail}.", before)


def _messages(baseline: Game, game: Game, first: int, last: int) -> Iterator[ChangedLine]:
    difference = version5.Difference((counting.mixture_of(baseline), counting.mixture_of(game)))
    tokens = list(storage.decoded_tokens(game, first, last))
    checked = version5.texts_checked(list(storage.decoded_tokens(baseline, first, last)), tokens)
    pairs = zip(checked, tokens, strict=True)
    for _, group in groupby(pairs, lambda pair: (pair[1][1].user, pair[1][1].message)):
        members = list(group)
        gaps = version5.gaps(now for _, (_, now) in members)
        pieces: list[ChangedPiece] = []
        for (before, (_, now)), gap in zip(members, gaps, strict=True):
            blank = " " if gap else ""
            for text, change in difference.changes(before, now):
                if text:
                    pieces.append(_piece(encodable(text), change, game.game, _scores(before, now), blank))
                    blank = ""
        yield ChangedLine(members[0][1][0], members[0][1][1].user, pieces)


def _scores(before: Token, now: Token) -> str:
    if now.logp is UNSET:
        return ""
    detail = [
        "none" if score is None or score is UNSET else f"{-score:.3g}" for score in (before.logp, now.logp)
    ]
    return f", {' → '.join(detail)} nats"
