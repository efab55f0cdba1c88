"""Games side by side: on the same text, each against the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gym.lmchallenge.core.compare import Comparison, TextFingerprint
from gym.lmchallenge.core.compare import compare as compare_tables
from gym.lmchallenge.core.errors import LogError
from gym.lmchallenge.core.table import read_table
from gym.lmchallenge.models import Game
from gym.lmchallenge.site import counting, storage

CLUSTERS = {"auto": "users if there are ten, else lines", "user": "users", "line": "lines"}
MOST = 6


@dataclass(frozen=True)
class Compared:
    """`game` against the first."""

    game: Game
    found: Comparison


def compare_games(games: list[Game], keep: str, cluster: str = "auto") -> list[Compared]:
    """Every game against the first, by the filter or all tokens (`counting.keep_of`). Raises LogError where the texts
    or the games differ."""
    if not 2 <= len(games) <= MOST or len({game.pk for game in games}) < len(games):
        raise LogError(f"From two to {MOST} different games can be compared.", "Choose them.")
    first = games[0]
    for other in games[1:]:
        if other.game != first.game:
            raise LogError(
                f"{first.title} is a game of {first.game}, {other.title} of {other.game}.",
                "Compare like with like.",
            )
    counting.small_enough(*games)
    by_lengths = [other for other in games if other.has_targets != first.has_targets]
    for other in games[1:]:
        if other not in by_lengths and not (first.fingerprint and first.fingerprint == other.fingerprint):
            raise _other_text(first, other)
    keep = counting.keep_of(keep, *games)
    mixes = [counting.mix_of(game, keep) for game in games]
    tables, texts = [], {game: TextFingerprint() for game in games}
    for game, mix in zip(games, mixes, strict=True):
        lines = storage.decoded(game)
        if by_lengths:
            lines = texts[game].through(lines)
        tables.append(read_table(lines, filters=[keep], mixes=[mix] if mix else []))
    for other in by_lengths:
        if not texts[first].same(texts[other]):
            raise _other_text(first, other)
    return [
        Compared(game, compare_tables(tables[0], table, mixes=(mixes[0], mix), cluster=cluster))
        for game, table, mix in zip(games[1:], tables[1:], mixes[1:], strict=True)
    ]


def _other_text(first: Game, other: Game) -> LogError:
    return LogError(
        f"{other.title} was played on another text than {first.title}.",
        "Their text fingerprints differ, so their figures cannot be compared.",
    )


def as_dict(first: Game, keep: str, rows: list[Compared]) -> dict[str, Any]:
    """For the API."""
    games = [first, *(row.game for row in rows)]
    return {
        "first": first.key,
        "filter": counting.keep_of(keep, *games),
        "texts_compared": "words" if all(game.has_targets for game in games) else "lengths",
        "text_fingerprint": first.fingerprint,
        "comparisons": [{"id": row.game.key, "title": row.game.title, **row.found.as_dict()} for row in rows],
    }
