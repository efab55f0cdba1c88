"""Logs: JSON lines, one per line of the corpus, written and read as a stream, packed with gzip or not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from gym.lmchallenge.errors import LogError
from gym.lmchallenge.names import RESULT_KEYS

Row: TypeAlias = dict[str, Any]
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


def read(
    stream: Iterable[bytes], source: str = "the log", limit: int | None = None
) -> Iterator[tuple[int, Row]]:
    """(line number, row) for each line, checked: every row is of the first row's game and has entries that
    statistics can count. Integers where numbers belong, other candidate lengths, either base of tc ranks, odd scores
    and predictions of wp and tc (nothing counts them) and unknown keys are fine; keys of other games' results are left
    out, so that `game_of` a row is that of the log. Blank lines are passed over. Raises LogError."""
    checker = Checker(source)
    for line in islice(enumerate(stream, 1), limit):
        row = checker.row(line)
        if row is not None:
            yield line[0], row


class Checker:
    """Reads the lines of one log. `game` is that of the first row, None before it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.game: str | None = None

    def row(self, line: tuple[int, bytes]) -> Row | None:
        """The row of a numbered line, checked, or None for a blank one. Raises LogError."""
        number, raw = line
        where = f"{self.source}, line {number}"
        row = _row(raw, where)
        if row is None:
            return None
        found = game_of(row, where)
        if self.game is None:
            self.game = found
        elif RESULT_KEYS[self.game] not in row:
            raise LogError(f"{where}: a {found} line in a log of {self.game}.", "One log holds one game.")
        key = RESULT_KEYS[self.game]
        _check(self.game, row[key], where)
        for other in GAMES.keys() - {key}:
            row.pop(other, None)  # a key that the corpus had
        return row


def _row(raw: bytes, where: str) -> Row | None:
    if not raw.strip():
        return None
    try:
        row = json.loads(raw)
    except UnicodeDecodeError:
        raise LogError(f"{where}: this is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise _not_json(error, raw.endswith(b"\n"), where) from None
    except RecursionError:
        raise LogError(f"{where}: the JSON is nested too deeply.") from None
    except ValueError as error:
        raise LogError(f"{where}: this is not JSON ({error}).", "Each line is one JSON object.") from None
    if not isinstance(row, dict):
        raise LogError(f"{where}: this is not a JSON object.", "Each line is one JSON object.")
    return row


def _not_json(error: json.JSONDecodeError, has_end: bool, where: str) -> LogError:
    """What is wrong and in which column. `has_end`: the line ends with a newline."""
    text, at = error.doc, error.pos
    comma = text.rfind(",", 0, at + 1)
    # Python names the bracket up to 3.12, and the comma from 3.13 on.
    if comma >= 0 and not text[comma + 1 : at].strip() and text[comma + 1 :].lstrip()[:1] in ("]", "}"):
        return LogError(
            f"{where}, column {comma + 1}: this is not JSON: a comma before the closing bracket.",
            "Delete that comma.",
        )
    if not has_end:
        hint = "The log may have been cut off here."
    elif text[at:].strip():
        hint = "Each line is one JSON object."
    else:
        hint = "The line ends inside the object: write each object on one line."
    column = len(text[:at].rstrip("\r\n")) + 1
    return LogError(f"{where}, column {column}: this is not JSON: {error.msg}.", hint)


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
    elif not _is_count(entry, "targetChars"):
        return "there is neither a target nor a number of targetChars"
    if entry.get("rank") is not None and not _is_count(entry, "rank"):
        return f"rank is {entry['rank']!r}, not a count"
    return _huge(entry.get("score"))


def _is_count(entry: Any, key: str) -> bool:
    """Whether it is a whole number that is not negative; 2.0, which the reference takes, becomes 2."""
    value = entry.get(key)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = entry[key] = int(value)
    return type(value) is int and 0 <= value < MOST_COUNTED


def too_large(score: Any) -> bool:
    """Whether no double holds it."""
    if type(score) is not int:
        return False
    try:
        float(score)
    except OverflowError:
        return True
    return False


def _huge(score: Any) -> str:
    return "score is too large a number" if too_large(score) else ""


def _check_ic(entry: Any) -> str:
    target = entry.get("target")
    if target is None and not _is_count(entry, "targetChars"):
        return "there is neither a target nor a number of targetChars"
    if not isinstance(target, str | None):
        return "target is not a string"
    if entry.get("verbatimMatch") is None and not ("target" in entry and "verbatim" in entry):
        return "what was typed is missing (verbatim or verbatimMatch)"
    pair = entry["score"]
    if len(pair) != 2 or type(pair[0]) not in _NUMBERS or type(pair[1]) not in _SCORES:
        return f"{pair!r} is not a pair of scores"
    if huge := _huge(pair[0]) or _huge(pair[1]):
        return huge
    # The candidates are many: `mixing.Tokens` looks at them all at once.
    return "" if isinstance(entry["candidates"], list) else "candidates is not a list"


def right_before(entry: Row) -> bool:
    """Whether a word of ic was typed without error; a verbatimMatch of null says nothing."""
    match = entry.get("verbatimMatch")
    return bool(entry["target"] == entry["verbatim"] if match is None else match)


MOST_COUNTED = 2**53
"""Counts that a double holds."""
_NUMBERS = frozenset((int, float))
_SCORES = frozenset((int, float, type(None)))


def text_of(row: Row) -> list[str | int]:
    """What a row says of its text: its targets, or their lengths where they are hidden; of tc, which cuts a line
    wherever the typist accepts, the line itself or its length."""
    game = game_of(row)
    entries = row[RESULT_KEYS[game]]
    parts = [entry["targetChars"] if (text := entry.get("target")) is None else text for entry in entries]
    if game != "tc":
        return parts
    if all(isinstance(part, str) for part in parts):
        return ["".join(parts)]
    return [sum(part if isinstance(part, int) else len(part) for part in parts)]


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


NOBODY = "null"


def name_of(user: Any) -> str:
    """A name for a userId that is equal exactly if the values are (1, 1.0 and true are equal in the reference)."""
    if isinstance(user, bool) or (isinstance(user, float) and user.is_integer()):
        user = int(user)
    return json.dumps(user, sort_keys=True)


def check_learnt(number: int, learnt: Any) -> None:
    """Raise LogError for a line whose trainingChars cannot be counted."""
    if learnt is not None and type(learnt) not in (int, float):
        raise LogError(f"Line {number} of the log: trainingChars is {learnt!r}, not a number.")
    if type(learnt) is int and abs(learnt) >= MOST_COUNTED:
        raise LogError(f"Line {number} of the log: trainingChars is too large a number.")


def no_user(number: int) -> LogError:
    """For parts by user."""
    return LogError(f"Line {number} of the log has no userId.", "Parts by user need one on every line.")
