"""The quick way through well-formed action files: one pass, one process in memory. Pure.

It reads what nearly every submission looks like: each process in one block of rows, plain whole numbers from 1, valid
rows. Anything else raises Unusual, and the caller reads again with gym.propara.grid, which knows every case and every
message of the reference. So this module never reports an error, and both ways give the same grids (a test says so).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gym.propara.grid import UNKNOWN, Grid, Grids, action_problem, lines_of, read_grids, token

Row = tuple[str, str, str]
"""Action, location before, location after, as tokens."""

_STEPS = {str(step): step for step in range(1, 1_001)}
_MEMO_LIMIT = 50_000


class Unusual(Exception):
    """Not for the quick way; nothing is wrong with the file yet."""


def _row(tail: str) -> Row:
    fields = tail.strip("\n\r").split("\t")
    if len(fields) < 3 or action_problem(fields[0], fields[1], fields[2]):
        raise Unusual
    return fields[0], token(fields[1]), token(fields[2])


class _Block:
    """The rows of one process. A participant's rows 1, 2, 3, ... are a list; all later ones go to `odd`."""

    __slots__ = ("odd", "process_id", "tracks")

    def __init__(self, process_id: int) -> None:
        self.process_id = process_id
        self.tracks: dict[str, list[Row]] = {}
        self.odd: dict[str, list[tuple[int, Row]]] = {}

    def grid(self) -> Grid:
        steps = max(map(len, self.tracks.values()))
        if self.odd:
            steps = max(steps, *[step for rows in self.odd.values() for step, _ in rows])
        grid = Grid(self.process_id, steps)
        for participant, rows in self.tracks.items():
            if len(rows) == steps and participant not in self.odd:
                grid.locations[participant] = [rows[0][1], *[row[2] for row in rows]]
                grid.actions[participant] = [row[0] for row in rows]
            else:
                numbered = [*enumerate(rows, 1), *self.odd.get(participant, ())]
                grid.locations[participant], grid.actions[participant] = _filled(steps, numbered)
        return grid


def _filled(steps: int, rows: Iterable[tuple[int, Row]]) -> tuple[list[str], list[str]]:
    locations, actions = [UNKNOWN] * (steps + 1), ["NONE"] * steps
    for step, (action, before, after) in rows:
        if step == 1:
            locations[0] = before
        locations[step] = after
        actions[step - 1] = action
    return locations, actions


def blocks(lines: Iterable[str]) -> Iterator[Grid]:
    """One grid for each block of rows with the same process; Unusual for all that needs a closer look."""
    memo: dict[str, Row] = {}
    seen: set[int] = set()
    current = ""
    block = _Block(0)
    for line in lines:
        try:
            process, number, participant, tail = line.split("\t", 3)
            step = _STEPS[number]
        except (ValueError, KeyError):
            raise Unusual from None
        if process != current:
            if current:
                yield block.grid()
            block = _Block(_new_process(process, seen))
            current = process
        row = memo.get(tail)
        if row is None:
            if len(memo) > _MEMO_LIMIT:
                memo.clear()
            row = memo[tail] = _row(tail)
        track = block.tracks.get(participant)
        if track is None:
            track = block.tracks[participant] = []
        if step == len(track) + 1 and not (block.odd and participant in block.odd):
            track.append(row)
        else:
            block.odd.setdefault(participant, []).append((step, row))
    if not current:
        raise Unusual
    yield block.grid()


def _new_process(text: str, seen: set[int]) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Unusual
    process_id = int(text)
    if process_id in seen:
        raise Unusual
    seen.add(process_id)
    return process_id


def in_step(answers: Iterable[str], predictions: Iterable[str]) -> Iterator[tuple[Grid, Grid]]:
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
