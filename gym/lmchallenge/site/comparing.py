"""Games side by side: on the same text, each against the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gym.lmchallenge.compare import Comparison, text
from gym.lmchallenge.compare import compare as compare_tables
from gym.lmchallenge.errors import LogError
from gym.lmchallenge.models import Game
from gym.lmchallenge.site import counting, storage
from gym.lmchallenge.table import Table

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
    for other in games[1:]:
        if not _same_text(first, other):
            raise LogError(
                f"{other.title} was played on another text than {first.title}.",
                "Their text fingerprints differ, so their figures cannot be compared.",
            )
    keep = counting.keep_of(keep, *games)
    tables = [_table(game, keep) for game in games]
    mixes = [counting.mix_of(game, keep) for game in games]
    return [
        Compared(game, compare_tables(tables[0], table, mixes=(mixes[0], mix), cluster=cluster))
        for game, table, mix in zip(games[1:], tables[1:], mixes[1:], strict=True)
    ]


def _same_text(first: Game, other: Game) -> bool:
    if first.has_targets == other.has_targets:
        return bool(first.fingerprint) and first.fingerprint == other.fingerprint
    one, two = (text(row for _, row in storage.rows_of(game)) for game in (first, other))
    return one.same(two)


def _table(game: Game, keep: str) -> Table:
    mix = counting.mix_of(game, keep)
    return storage.table_of(game, keep=keep, mixes=[mix] if mix else [])


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
