"""Answers to the four questions about a process: inputs, outputs, conversions and moves.

Inputs and outputs depend only on actions, conversions only on locations, and moves on both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lmgym.propara.cpython_set_order import difference_order, set_order
from lmgym.propara.grid import ABSENT, Grid


class Conversion(NamedTuple):
    destroyed: str
    created: str
    location: str
    step: int


class Move(NamedTuple):
    participants: str
    before: str
    after: str
    step: int


class Summary(NamedTuple):
    process_id: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    conversions: tuple[Conversion, ...]
    moves: tuple[Move, ...]

    def items(self, question: str) -> tuple[Any, ...]:
        items: tuple[Any, ...] = getattr(self, question)
        return items

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as in the reference's diagnostics, with null instead of empty lists."""
        return {
            "process_id": self.process_id,
            "inputs": {"participants": list(self.inputs) or None},
            "outputs": {"participants": list(self.outputs) or None},
            "conversions": [
                {
                    "participants_destroyed": item.destroyed,
                    "participants_created": item.created,
                    "location": item.location,
                    "step_number": item.step,
                }
                for item in self.conversions
            ]
            or None,
            "moves": [
                {
                    "participants": item.participants,
                    "location_before": item.before,
                    "location_after": item.after,
                    "step_number": item.step,
                }
                for item in self.moves
            ]
            or None,
        }


def is_input(actions: list[str]) -> bool:
    """Return True if a participant is destroyed, never created, and not moved after its last destruction."""
    if "DESTROY" not in actions or "CREATE" in actions:
        return False
    last = len(actions) - 1 - actions[::-1].index("DESTROY")
    return "MOVE" not in actions[last:]


def is_output(actions: list[str]) -> bool:
    """Return True if a participant is created, never destroyed, and not moved before its first creation."""
    if "CREATE" not in actions or "DESTROY" in actions:
        return False
    return "MOVE" not in actions[: actions.index("CREATE")]


def display_name(participant: str) -> str:
    """Format `a; b` as `a OR b`."""
    return " OR ".join([part.strip() for part in participant.split(";")])


EventsByStep = dict[int, list[tuple[str, str]]]
"""(participant, location) by step, with participants in the order of the file."""


class _Events(NamedTuple):
    """Creations and destructions by step."""

    created: EventsByStep
    destroyed: EventsByStep


def summarise(grid: Grid) -> Summary:
    """Derive the summary of a process from its grid."""
    events = _Events({}, {})
    inputs: list[str] = []
    outputs: list[str] = []
    moves: list[Move] = []
    for participant, where in grid.locations.items():
        actions = grid.actions[participant]
        idle = actions.count("NONE") == len(actions)
        if idle and where.count(where[0]) == len(where):
            continue
        name = display_name(participant)
        if not idle:
            if is_input(actions):
                inputs.append(name)
            if is_output(actions):
                outputs.append(name)
        _transitions(name, where, actions, events, moves)
    conversions = _conversions(events, grid.steps)
    return Summary(grid.process_id, tuple(inputs), tuple(outputs), tuple(conversions), tuple(moves))


def _transitions(name: str, where: list[str], actions: list[str], events: _Events, moves: list[Move]) -> None:
    before = where[0]
    for step, action in enumerate(actions, 1):
        after = where[step]
        if before != after:
            if before == ABSENT:
                events.created.setdefault(step, []).append((name, after))
            elif after == ABSENT:
                events.destroyed.setdefault(step, []).append((name, before))
            elif action != "MOVE":
                moves.append(Move(name, before, after, step))
        if action == "MOVE":
            moves.append(Move(name, before, after, step))
        before = after


def _conversions(events: _Events, steps: int) -> list[Conversion]:
    """Find conversions by the first of three rules that applies to a step. Rules that span two steps are not applied to
    the last two.

    Some names and all locations are in CPython's set order, because the reference takes them from sets.
    """
    conversions: list[Conversion] = []
    created, destroyed = events
    if not created or not destroyed:
        return conversions
    for step in sorted(created.keys() | destroyed.keys()):
        new, gone = created.get(step), destroyed.get(step)
        if new and gone:
            conversions.append(_conversion(_names(gone), _names(new), new + gone, step))
        elif step >= steps - 1:
            continue
        elif gone and step + 1 not in destroyed:
            later = created.get(step + 1, [])
            if names := difference_order(_names(later), _names(gone)):
                conversions.append(_conversion(_names(gone), names, later + gone, step))
        elif new and not gone and step + 1 not in created:
            later = destroyed.get(step + 1, [])
            if names := difference_order(_names(later), _names(new)):
                conversions.append(_conversion(names, _names(new), new + later, step))
    return conversions


def _names(events_of_step: list[tuple[str, str]]) -> list[str]:
    return [name for name, _ in events_of_step]


def _conversion(
    destroyed: list[str], created: list[str], events_of_step: list[tuple[str, str]], step: int
) -> Conversion:
    locations = set_order([where for _, where in events_of_step])
    return Conversion(" AND ".join(destroyed), " AND ".join(created), " AND ".join(locations), step)
