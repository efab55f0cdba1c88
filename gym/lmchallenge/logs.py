"""Logs: JSON lines, one per line of the corpus, written and read as a stream, packed with gzip or not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from gym.lmchallenge.errors import LogError
from gym.lmchallenge.games import RESULT_KEYS

Row: TypeAlias = dict[str, Any]
PARTITIONS = ("all", "user", "line")
"""Into what the statistics of a log may be divided."""
GAMES = {key: game for game, key in RESULT_KEYS.items()}


def line_of(row: Row) -> str:
    """One line of a log, with its newline: sorted keys, ASCII only. NaN and infinities are spelled as the
    reference spells them (NaN, Infinity), which strict JSON readers refuse."""
    return json.dumps(row, sort_keys=True) + "\n"


def game_of(row: Row, where: str = "the log") -> str:
    """ "wp", "tc" or "ic", by the key that holds the results. Raises LogError."""
    for key, game in GAMES.items():
        if key in row:
            return game
    shown = ", ".join(map(repr, list(row)[:8])) or "none"
    raise LogError(
        f"{where}: this is no log of a game; its keys are {shown}.",
        f"One of {', '.join(GAMES)} must be there.",
    )


def read(
    stream: Iterable[bytes], source: str = "the log", limit: int | None = None
) -> Iterator[tuple[int, Row]]:
    """(line number, row) for each line, checked: every row is of the first row's game and has entries that
    statistics can count. Integers where numbers belong, other candidate lengths, either base of tc ranks and
    unknown keys are fine. Blank lines are passed over. Raises LogError."""
    game = None
    for number, raw in islice(enumerate(stream, 1), limit):
        where = f"{source}, line {number}"
        row = _row(raw, where)
        if row is None:
            continue
        found = game_of(row, where)
        if game is None:
            game = found
        elif RESULT_KEYS[game] not in row:
            raise LogError(f"{where}: a {found} line in a log of {game}.", "One log holds one game.")
        _check(game, row[RESULT_KEYS[game]], where)
        yield number, row


def _row(raw: bytes, where: str) -> Row | None:
    if not raw.strip():
        return None
    try:
        row = json.loads(raw)
    except UnicodeDecodeError:
        raise LogError(f"{where}: this is not UTF-8.") from None
    except (ValueError, RecursionError) as error:
        hint = (
            "The log may have been cut off here."
            if not raw.endswith(b"\n")
            else "Each line is one JSON object."
        )
        raise LogError(f"{where}: this is not JSON ({error}).", hint) from None
    if not isinstance(row, dict):
        raise LogError(f"{where}: this is not a JSON object.", "Each line is one JSON object.")
    return row


def _check(game: str, entries: Any, where: str) -> None:
    """Raise LogError for the first entry that cannot be counted."""
    if not isinstance(entries, list):
        raise LogError(f"{where}: {RESULT_KEYS[game]} is not a list.")
    check = _check_ic if game == "ic" else _check_ranked
    for at, entry in enumerate(entries):
        try:
            problem = check(entry)
        except (TypeError, KeyError, AttributeError):
            problem = "it has not the form of this game's entries"
        if problem:
            raise LogError(f"{where}: {RESULT_KEYS[game]}[{at}]: {problem}.")


def _check_ranked(entry: Any) -> str:
    if "target" in entry:
        if not isinstance(entry["target"], str):
            return "target is not a string"
    elif type(entry.get("targetChars")) is not int or entry["targetChars"] < 0:
        return "there is neither a target nor a number of targetChars"
    rank = entry.get("rank")
    if rank is not None and (not isinstance(rank, int) or rank < 0):
        return f"rank is {rank!r}, not a count"
    return ""


def _check_ic(entry: Any) -> str:
    if "target" not in entry and type(entry.get("targetChars")) is not int:
        return "there is neither a target nor a number of targetChars"
    if "verbatimMatch" not in entry and not ("target" in entry and "verbatim" in entry):
        return "what was typed is missing (verbatim or verbatimMatch)"
    pair = entry["score"]
    if len(pair) != 2 or type(pair[0]) not in _NUMBERS or type(pair[1]) not in _SCORES:
        return f"{pair!r} is not a pair of scores"
    # The candidates are many: `mixing.Tokens` looks at them all at once.
    return "" if isinstance(entry["candidates"], list) else "candidates is not a list"


_NUMBERS = frozenset((int, float))
_SCORES = frozenset((int, float, type(None)))


def rank_base(rows: Iterable[Row]) -> int | None:
    """Whether the ranks of a tc log count from 0 (a 0 is there) or, as in the format's document, from 1. None if no
    rank is there. Reads until the first 0."""
    seen = False
    for row in rows:
        for entry in row.get(RESULT_KEYS["tc"], ()):
            rank = entry.get("rank")
            if rank == 0:
                return 0
            seen = seen or rank is not None
    return 1 if seen else None


def finite(value: float | None) -> bool:
    """Whether it is a number one can reckon with."""
    return value is not None and math.isfinite(value)
