"""The quick way through well-formed action files: one pass, and not all of a file in memory. Pure.

It reads what nearly every submission looks like: each process in one block of rows, plain whole numbers from 1, valid
rows of six columns. Anything else raises Unusual, and the caller reads again with gym.propara.grid, which knows every
case and every message of the reference. So this module never reports an error, and both ways give the same grids (a
test says so).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TextIO

from gym.propara.grid import (
    ABSENT,
    MAX_CELLS,
    UNKNOWN,
    Grid,
    Grids,
    action_problem,
    lines_of,
    read_grids,
    token,
)

_STEPS = {str(step): step for step in range(1, 1_001)}
_NUMBERS = list(_STEPS)
_MEMO_LIMIT = 50_000
_CHUNK = 1 << 16
_SIGNS = {"-": ABSENT, "?": UNKNOWN}

Columns = tuple[list[str], list[str], list[str], list[str], list[str], list[str]]
"""Process, step, participant, action, before, after."""


class Unusual(Exception):
    """Not for the quick way; nothing is wrong with the file yet."""


def _columns(body: str) -> Columns:
    """Whole lines as six columns; splitting them all at once is several times quicker than line by line."""
    n = body.count("\n")
    cells = body.replace("\n", "\t\n\t").split("\t")
    if len(cells) != 7 * n + 1 or cells[6::7].count("\n") != n:
        raise Unusual
    del cells[-1]
    return cells[0::7], cells[1::7], cells[2::7], cells[3::7], cells[4::7], cells[5::7]


def blocks(stream: TextIO) -> Iterator[Grid]:
    """One grid for each block of rows with the same process; Unusual for all that needs a closer look."""
    known: set[tuple[str, str, str]] = set()
    seen: set[int] = set()
    rest = ""
    kept: Columns | None = None
    while True:
        chunk = stream.read(_CHUNK)
        body, rest = _whole_lines(rest + chunk, last=not chunk)
        if body:
            columns = _columns(body)
            _check(columns, known)
            if kept:
                columns = tuple(old + new for old, new in zip(kept, columns, strict=True))  # type: ignore[assignment]
            kept = columns
        if kept is None or (not body and chunk):
            if chunk:
                continue
            raise Unusual
        start = 0
        runs = [(process, len(list(group))) for process, group in groupby(kept[0])]
        for process, size in runs if not chunk else runs[:-1]:
            yield _grid(_new_process(process, seen), kept, start, start + size)
            start += size
        if not chunk:
            return
        kept = tuple(column[start:] for column in kept)  # type: ignore[assignment]


def _whole_lines(text: str, *, last: bool) -> tuple[str, str]:
    """All whole lines, and what is left of the next one."""
    if last:
        return (text + "\n" if text and not text.endswith("\n") else text), ""
    end = text.rfind("\n") + 1
    return text[:end], text[end:]


def _check(columns: Columns, known: set[tuple[str, str, str]]) -> None:
    """Steps are plain numbers, and every combination of action and locations is valid."""
    _, steps, _, *triples = columns
    if not _STEPS.keys() >= set(steps):
        raise Unusual
    new = set(zip(*triples, strict=True)) - known
    if any(action_problem(*triple) for triple in new):
        raise Unusual
    if len(known) > _MEMO_LIMIT:
        known.clear()
    known |= new


def _grid(process_id: int, columns: Columns, start: int, end: int) -> Grid:
    """Rows by participant and step, or by step and participant, are slices; others are filled in one by one."""
    _, steps, names, actions, before, after = columns
    numbers, who, size = steps[start:end], names[start:end], end - start
    n = _STEPS[numbers[-1]]
    k = size // n
    if size % n == 0:
        if numbers == _NUMBERS[:n] * k:
            first = who[::n]
            if len(set(first)) == k and who == [name for name in first for _ in range(n)]:
                grid = Grid(process_id, n, {}, {})
                for name, at in zip(first, range(start, end, n), strict=True):
                    grid.locations[name] = _tokens([before[at], *after[at : at + n]])
                    grid.actions[name] = actions[at : at + n]
                return grid
        elif numbers == [number for number in _NUMBERS[:n] for _ in range(k)]:
            first = who[:k]
            if len(set(first)) == k and who == first * n:
                grid = Grid(process_id, n, {}, {})
                for name, at in zip(first, range(start, start + k), strict=True):
                    grid.locations[name] = _tokens([before[at], *after[at:end:k]])
                    grid.actions[name] = actions[at:end:k]
                return grid
    return _filled(process_id, columns, start, end)


def _tokens(locations: list[str]) -> list[str]:
    if "-" in locations or "?" in locations:
        return [_SIGNS.get(location, location) for location in locations]
    return locations


def _filled(process_id: int, columns: Columns, start: int, end: int) -> Grid:
    """Any order, missing rows, several rows for one step (the last one counts)."""
    _, steps, names, actions, before, after = (column[start:end] for column in columns)
    numbers = [_STEPS[number] for number in steps]
    n = max(numbers)
    if (n + 1) * len(set(names)) > MAX_CELLS:
        raise Unusual
    grid = Grid(process_id, n, {}, {})
    for step, name, action, old, new in zip(numbers, names, actions, before, after, strict=True):
        if name not in grid.locations:
            grid.locations[name], grid.actions[name] = [UNKNOWN] * (n + 1), ["NONE"] * n
        if step == 1:
            grid.locations[name][0] = token(old)
        grid.locations[name][step] = token(new)
        grid.actions[name][step - 1] = action
    return grid


def _new_process(text: str, seen: set[int]) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Unusual
    process_id = int(text)
    if process_id in seen:
        raise Unusual
    seen.add(process_id)
    return process_id


def in_step(answers: TextIO, predictions: TextIO) -> Iterator[tuple[Grid, Grid]]:
    """The processes of two files side by side, where both have the same processes and participants in one order."""
    theirs = blocks(predictions)
    for answer in blocks(answers):
        prediction = next(theirs, None)
        if (
            prediction is None
            or prediction.process_id != answer.process_id
            or prediction.locations.keys() != answer.locations.keys()
        ):
            raise Unusual
        yield answer, prediction
    if next(theirs, None) is not None:
        raise Unusual


def grids_of(text: str, file: str) -> Grids:
    """All grids of a text: quickly where possible, else by gym.propara.grid and with its errors."""
    try:
        return {grid.process_id: grid for grid in blocks(lines_of(text))}
    except Unusual:
        return read_grids(text, file)
