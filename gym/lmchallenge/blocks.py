"""Lines of a log of wp or tc as columns, many lines at a time: decoded with the standard library, or with msgspec where
there are so many that loading it pays. A block with anything odd in it goes through `logs`, line by line, which says
what is wrong or takes it as it is."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

from gym.lmchallenge.logs import MOST_COUNTED, NOBODY, Checker, Row, check_learnt, name_of, too_large
from gym.lmchallenge.names import RESULT_KEYS

Numbered: TypeAlias = tuple[int, bytes]
LINES, BYTES = 512, 1_000_000


class Block(NamedTuple):
    """Columns over lines: number, user (as `logs.name_of`), whether userId is there, trainingChars, number of entries.
    Columns over entries: target, or its characters where it is hidden; rank or None."""

    numbers: Sequence[int]
    users: Sequence[str]
    has_user: Sequence[bool]
    learnt: Sequence[Any]
    sizes: Sequence[int]
    texts: Sequence[Any]
    ranks: Sequence[int | None]


class Odd(Exception):
    """These lines are to be looked at one by one."""


Columns: TypeAlias = tuple[Sequence[Any], ...]
"""users and trainingChars of lines as they stand there, and their lists of entries; texts and ranks as in a Block."""
Decode: TypeAlias = Callable[[str, Sequence[bytes]], Columns]
"""Of a game and lines. Raises something if a line is not as it should be."""


def blocks(
    lines: Iterable[Numbered], checker: Checker, decode: Decode, *, careful: bool = True
) -> Iterator[Block]:
    """Blocks of a log; the first row says which game it is. None are yielded for ic: look at `checker.game`. Raises
    LogError, or Odd where it should not be careful."""
    rest = iter(lines)
    for line in rest:
        row = checker.row(line)
        if row is not None:
            if checker.game == "ic":
                return
            learnt = row.get("trainingChars")
            check_learnt(line[0], learnt)
            if not careful and isinstance(learnt, float) and math.isnan(learnt):
                raise Odd  # which number is the highest depends then on those before
            yield _singly([(line[0], row)], checker)
            break
    while block := _next(rest):
        found = quickly(checker.game or "", block, decode)
        if found is None:
            if not careful:
                raise Odd
            found = _singly(_checked(block, checker), checker)
        yield found


def _next(lines: Iterator[Numbered]) -> list[Numbered]:
    """Lines up to LINES or BYTES: many at once where they are short, and long ones one by one."""
    block: list[Numbered] = []
    size, many = 0, 1
    while size < BYTES and len(block) < LINES and (some := list(islice(lines, many))):
        block += some
        size += sum(len(raw) for _, raw in some)
        many = 32 if size * 32 < BYTES * len(block) else 1
    return block


def quickly(game: str, block: list[Numbered], decode: Decode) -> Block | None:
    """All lines at once; None if one of them is not as it should be."""
    try:
        users, learnt, entries, texts, ranks = decode(game, [raw for _, raw in block])
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, RecursionError):
        return None
    if not _learnt_fits(learnt):
        return None
    return Block(
        [number for number, _ in block],
        [NOBODY if user is None or user is MISSING else _name(user) for user in users],
        [user is not MISSING for user in users],
        learnt,
        list(map(len, entries)),
        texts,
        ranks,
    )


MISSING: Any = object()
_names: dict[str, str] = {}


def _name(user: Any) -> str:
    if type(user) is not str:
        return name_of(user)
    name = _names.get(user)
    if name is None:
        if len(_names) > 10_000:
            _names.clear()
        name = _names[user] = name_of(user)
    return name


def _types(values: Sequence[Any]) -> set[type]:
    return set(map(type, values))


def _learnt_fits(learnt: Sequence[Any]) -> bool:
    whole = [value for value in learnt if type(value) is int]
    return _types(learnt) <= {int, float, type(None)} and all(abs(value) < MOST_COUNTED for value in whole)


def plain_json(game: str, lines: Sequence[bytes]) -> Columns:
    """With the standard library."""
    decoder: Any = json.JSONDecoder()
    scan, key = decoder.scan_once, RESULT_KEYS[game]
    texts = b"".join(lines).decode("utf-8").split("\n")
    if not texts[-1]:
        texts.pop()
    rows = []
    for text in texts:
        row, end = scan(text, 0)
        if type(row) is not dict or text[end:] not in ("", "\r"):
            raise ValueError
        rows.append(row)
    per_line = [row[key] for row in rows]
    if len(rows) != len(lines) or not _types(per_line) <= {list}:
        raise ValueError
    entries: list[Row] = list(chain.from_iterable(per_line))
    if any(map(too_large, [entry.get("score") for entry in entries])):
        raise ValueError
    return (
        [row.get("userId", MISSING) for row in rows],
        [row.get("trainingChars") for row in rows],
        per_line,
        _shown(entries),
        _counts([entry.get("rank") for entry in entries], none=True),
    )


def _shown(entries: list[Row]) -> list[Any]:
    """Targets, or how many characters they have if all of them are hidden."""
    targets = [entry.get("target", MISSING) for entry in entries]
    if _types(targets) <= {str}:
        return targets
    if _types(targets) <= {object}:
        return _counts([entry["targetChars"] for entry in entries])
    raise ValueError


def _counts(values: list[Any], *, none: bool = False) -> list[Any]:
    """Whole numbers that are not negative, or None where that may be."""
    different = set(values) - ({None} if none else set())
    fits = _types(values) <= {int, type(None) if none else int}
    if not fits or (different and (min(different) < 0 or max(different) >= MOST_COUNTED)):
        raise ValueError
    return values


def typed_json(game: str, lines: Sequence[bytes]) -> Columns:
    """The same with msgspec, which checks while it reads."""
    from msgspec import UNSET

    from gym.lmchallenge.typed import counted

    rows, key = counted(game, lines), RESULT_KEYS[game]
    if rows is None:
        raise ValueError
    per_line = [getattr(row, key) for row in rows]
    entries = list(chain.from_iterable(per_line))
    texts = [entry.target for entry in entries]
    if not _types(texts) <= {str}:
        if any(text is not UNSET for text in texts):
            raise ValueError
        texts = [entry.targetChars for entry in entries]
        if UNSET in texts:
            raise ValueError
    return (
        [MISSING if row.userId is UNSET else row.userId for row in rows],
        [row.trainingChars for row in rows],
        per_line,
        texts,
        [entry.rank for entry in entries],
    )


def _checked(block: list[Numbered], checker: Checker) -> list[tuple[int, Row]]:
    found = []
    for line in block:
        row = checker.row(line)
        if row is not None:
            check_learnt(line[0], row.get("trainingChars"))
            found.append((line[0], row))
    return found


def _singly(rows: list[tuple[int, Row]], checker: Checker) -> Block:
    """Of rows that were checked one by one."""
    key = RESULT_KEYS[checker.game or ""]
    entries = [entry for _, row in rows for entry in row[key]]
    users = [row.get("userId") for _, row in rows]
    return Block(
        [number for number, _ in rows],
        [NOBODY if user is None else name_of(user) for user in users],
        ["userId" in row for _, row in rows],
        [row.get("trainingChars") for _, row in rows],
        [len(row[key]) for _, row in rows],
        [entry["target"] if "target" in entry else entry["targetChars"] for entry in entries],
        [entry.get("rank") for entry in entries],
    )
