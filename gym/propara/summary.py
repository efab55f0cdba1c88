"""The four questions about a process: what goes in, what comes out, what becomes what, what moves where. Pure.

Inputs and outputs come from the actions alone, conversions from the location states alone, moves from both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gym.propara.events import conversions, display_name
from gym.propara.grid import ABSENT, Grid

if TYPE_CHECKING:
    from gym.propara.events import Happenings


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
        found: tuple[Any, ...] = getattr(self, question)
        return found

    def as_dict(self) -> dict[str, Any]:
        """As the reference's diagnostics have it: null where there is nothing."""
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
    """Destroyed, never created, and not moved after the last time it was destroyed."""
    if "DESTROY" not in actions or "CREATE" in actions:
        return False
    last = len(actions) - 1 - actions[::-1].index("DESTROY")
    return "MOVE" not in actions[last:]


def is_output(actions: list[str]) -> bool:
    """Created, never destroyed, and not moved before the first time it was created."""
    if "CREATE" not in actions or "DESTROY" in actions:
        return False
    return "MOVE" not in actions[: actions.index("CREATE")]


class _Events(NamedTuple):
    """By step: what came into being and what ceased to be, in the file's order of participants."""

    created: Happenings
    destroyed: Happenings


def summarise(grid: Grid) -> Summary:
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
    found = tuple(Conversion(*one) for one in conversions(events.created, events.destroyed, grid.steps))
    return Summary(grid.process_id, tuple(inputs), tuple(outputs), found, tuple(moves))


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
