"""The format of logs: JSON lines, one per line of the corpus."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from gym.lmchallenge.core.errors import LogError

Row: TypeAlias = dict[str, Any]
RESULT_KEYS = {"wp": "wordPredictions", "tc": "textCompletions", "ic": "inputCorrections"}
MOST_COUNTED = 2**53
"""Counts from here on are refused: a double may not hold them."""
PARTITIONS = ("all", "user", "line")
"""Into what the statistics of a log may be divided."""
GAMES = {key: game for game, key in RESULT_KEYS.items()}
VERSION_5 = frozenset(("message", "token", "target"))
"""Keys of every line of LM Challenge 5, which has one of GAMES_5 besides."""
GAMES_5 = {"completions": "wc", "logp": "we or ce", "results": "wr"}


def line_of(row: Row) -> str:
    """One line of a log, with its newline: sorted keys, ASCII only. NaN and infinities are spelled as the
    reference spells them (NaN, Infinity), which strict JSON readers refuse."""
    return json.dumps(row, sort_keys=True) + "\n"


def game_of(row: Row, where: str = "the log") -> str:
    """ "wp", "tc" or "ic", by the key that holds the results. Raises LogError."""
    for key, game in GAMES.items():
        if key in row:
            return game
    successor = next((game for key, game in GAMES_5.items() if key in row), None)
    if successor and row.keys() >= VERSION_5:
        raise LogError(
            f"{where}: this is a log of LM Challenge 5 (game {successor}), with one token on each line.",
            f"Only logs of LM Challenge 4 are read ({', '.join(RESULT_KEYS)}): play the text with version 4, or here.",
        )
    shown = ", ".join(map(repr, list(row)[:8])) or "none"
    raise LogError(
        f"{where}: this is no log of a game; its keys are {shown}.",
        f"One of {', '.join(GAMES)} must be there.",
    )


def right_before(entry: Row) -> bool:
    """Whether a word of ic was typed without error; a verbatimMatch of null says nothing."""
    match = entry.get("verbatimMatch")
    return bool(entry["target"] == entry["verbatim"] if match is None else match)


NOBODY = "null"


def name_of(user: Any) -> str:
    """A name for a userId that is equal exactly if the values are (1, 1.0 and true are equal in the reference)."""
    if isinstance(user, bool) or (isinstance(user, float) and user.is_integer()):
        user = int(user)
    return json.dumps(user, sort_keys=True)


def no_user(number: int) -> LogError:
    """For parts by user."""
    return LogError(f"Line {number} of the log has no userId.", "Parts by user need one on every line.")
