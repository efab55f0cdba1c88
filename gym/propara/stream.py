"""Grids out of blocks of rows (gym.propara.blocks), for well-formed action files. Pure.

Whatever is not well-formed raises Unusual, and the caller reads again with gym.propara.grid. Both ways give the same
grids (a test says so).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from gym.propara.blocks import NUMBERS, STEPS, Unusual, blocks, table
from gym.propara.events import action_problem
from gym.propara.grid import (
    ABSENT,
    MAX_CELLS,
    UNKNOWN,
    Grid,
    Grids,
    lines_of,
    read_grids,
    token,
)

_MEMO_LIMIT = 50_000
_SIGNS = {"-": ABSENT, "?": UNKNOWN}

Known = set[tuple[str, str, str]]
"""Combinations of action and locations that were found to be valid."""


def grid_of(process: str, block: str, known: Known) -> Grid:
    """Rows by participant and step, or by step and participant, are slices; others are filled in one by one."""
    steps, names, actions, before, after = table(process, block)
    _check(steps, set(zip(actions, before, after, strict=True)) - known, known)
    size, n = len(steps), STEPS[steps[-1]]
    k = size // n
    if size % n == 0:
        grid = Grid(int(process), n, {}, {})
        if steps == NUMBERS[:n] * k:
            first = names[::n]
            if len(set(first)) == k and names == [name for name in first for _ in range(n)]:
                for name, at in zip(first, range(0, size, n), strict=True):
                    grid.locations[name] = _tokens([before[at], *after[at : at + n]])
                    grid.actions[name] = actions[at : at + n]
                return grid
        elif steps == [number for number in NUMBERS[:n] for _ in range(k)]:
            first = names[:k]
            if len(set(first)) == k and names == first * n:
                for at, name in enumerate(first):
                    grid.locations[name] = _tokens([before[at], *after[at::k]])
                    grid.actions[name] = actions[at::k]
                return grid
    return _filled(int(process), steps, names, actions, before, after)


def _check(steps: list[str], new: Known, known: Known) -> None:
    """Steps are plain numbers, and every combination of action and locations is valid."""
    if not STEPS.keys() >= set(steps) or any(action_problem(*triple) for triple in new):
        raise Unusual
    if len(known) > _MEMO_LIMIT:
        known.clear()
    known |= new


def _tokens(locations: list[str]) -> list[str]:
    if "-" in locations or "?" in locations:
        return [_SIGNS.get(location, location) for location in locations]
    return locations


def _filled(
    process_id: int,
    steps: list[str],
    names: list[str],
    actions: list[str],
    before: list[str],
    after: list[str],
) -> Grid:
    """Any order, missing rows, several rows for one step (the last one counts)."""
    numbers = [STEPS[number] for number in steps]
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


def in_step(answers: TextIO, predictions: TextIO) -> Iterator[tuple[Grid, Grid]]:
    """The processes of two files side by side, where both have the same processes and participants in one order."""
    theirs = blocks(predictions)
    known: Known = set()
    for process, block in blocks(answers):
        other, rows = next(theirs, ("", ""))
        if process != other:
            raise Unusual
        answer, prediction = grid_of(process, block, known), grid_of(process, rows, known)
        if prediction.locations.keys() != answer.locations.keys():
            raise Unusual
        yield answer, prediction
    if next(theirs, None) is not None:
        raise Unusual


def grids_of(text: str, file: str) -> Grids:
    """All grids of a text: quickly where possible, else by gym.propara.grid and with its errors."""
    known: Known = set()
    try:
        grids = [grid_of(process, block, known) for process, block in blocks(lines_of(text))]
    except Unusual:
        return read_grids(text, file)
    return {grid.process_id: grid for grid in grids}
