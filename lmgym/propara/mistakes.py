"""Classify a prediction's mistakes by event, to explain its score. Scores are not affected.

Events are compared per participant. Events in the same step are compared first; the others are paired with the nearest
event of the same kind; unpaired events are missed or spurious.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from lmgym.propara.errors import ProcessFailure
from lmgym.propara.grid import ABSENT, ACTIONS, UNKNOWN, Grid
from lmgym.propara.terms import location_overlap

CODES = {
    "missed-create": "a creation is missed",
    "missed-move": "a move is missed",
    "missed-destroy": "a destruction is missed",
    "spurious-create": "a creation that is not in the answers",
    "spurious-move": "a move that is not in the answers",
    "spurious-destroy": "a destruction that is not in the answers",
    "wrong-step": "the right event in the wrong step",
    "wrong-action": "a different event in the same step",
    "wrong-location": "the right event at the wrong place",
}
Confusion = dict[str, dict[str, int]]
"""Number of steps by action in the answers, then by predicted action."""


class Mistake(NamedTuple):
    """A mistake. `offset`: for wrong-step, number of steps too late (positive) or too early (negative)."""

    code: str
    participant: str
    step: int
    message: str
    offset: int = 0

    @property
    def label(self) -> str:
        return label(self.code)


def label(code: str) -> str:
    """Return the readable label of a code."""
    return code.replace("-", " ")


def same_place(first: str, second: str) -> bool:
    """Return True if two locations share a name after normalisation. True also where the reference divides by
    zero, because all names match there.
    """
    if first == second:
        return True
    try:
        return location_overlap(first, second) != 0
    except ProcessFailure as failure:
        return failure.code == "division-by-zero"


def action_at(grid: Grid, participant: str, step: int) -> str:
    """Return the action at a step; NONE after the end of the grid."""
    actions = grid.actions.get(participant, [])
    return actions[step - 1] if 1 <= step <= len(actions) else "NONE"


def location_at(grid: Grid, participant: str, step: int) -> str:
    """Return the location after a step (0: before the first step); after the end of the grid, the last location;
    UNKNOWN for a participant that is not in the grid."""
    where = grid.locations.get(participant)
    return where[min(step, len(where) - 1)] if where else UNKNOWN


def mistakes(answer: Grid, prediction: Grid) -> list[Mistake]:
    """List mistakes in order of the answers' participants, then steps."""
    all_mistakes: list[Mistake] = []
    for participant in answer.participants:
        all_mistakes += sorted(
            _of_participant(answer, prediction, participant), key=lambda mistake: mistake.step
        )
    return all_mistakes


def _of_participant(answer: Grid, prediction: Grid, name: str) -> Iterable[Mistake]:
    theirs, mine = _events(answer, name), _events(prediction, name)
    for step in sorted(theirs.keys() & mine.keys()):
        expected, predicted = theirs.pop(step), mine.pop(step)
        if expected != predicted:
            yield Mistake("wrong-action", name, step, f"{expected} is predicted as {predicted}.")
        elif message := _location_mistake(answer, prediction, name, step, expected):
            yield Mistake("wrong-location", name, step, message)
    for step, action in sorted(theirs.items()):
        near = min((at for at in mine if mine[at] == action), key=lambda at: (abs(at - step), at), default=0)
        if near:
            del mine[near], theirs[step]
            late = "late" if near > step else "early"
            message = f"{action} is predicted in step {near}, {_steps(abs(near - step))} too {late}."
            yield Mistake("wrong-step", name, step, message, near - step)
    for step, action in theirs.items():
        yield Mistake(f"missed-{action.lower()}", name, step, f"Missed {_event(answer, name, step, action)}.")
    for step, action in mine.items():
        message = f"The answers have no {_event(prediction, name, step, action)}."
        yield Mistake(f"spurious-{action.lower()}", name, step, message)


def _events(grid: Grid, name: str) -> dict[int, str]:
    return {step: action for step, action in enumerate(grid.actions.get(name, ()), 1) if action != "NONE"}


def _location_mistake(answer: Grid, prediction: Grid, name: str, step: int, action: str) -> str:
    wrong = []
    for word, shift in _SIDES[action]:
        expected, predicted = (location_at(grid, name, step + shift) for grid in (answer, prediction))
        if not same_place(expected, predicted):
            wrong.append(f"{word} {_in_words(predicted)} instead of {_in_words(expected)}")
    return f"{action} {' and '.join(wrong)}." if wrong else ""


_SIDES = {"CREATE": (("at", 0),), "DESTROY": (("at", -1),), "MOVE": (("from", -1), ("to", 0))}
"""Locations in an event's description: preposition, and step relative to the event's step."""
_NOUNS = {"CREATE": "creation", "DESTROY": "destruction", "MOVE": "move"}


def _event(grid: Grid, name: str, step: int, action: str) -> str:
    """Describe an event, such as "move of water from kettle to cup"."""
    where = [f"{word} {_in_words(location_at(grid, name, step + shift))}" for word, shift in _SIDES[action]]
    return f"{_NOUNS[action]} of {name} {' '.join(where)}"


def _in_words(location: str) -> str:
    return {ABSENT: "nowhere", UNKNOWN: "an unknown place"}.get(location, location)


def _steps(n: int) -> str:
    return "one step" if n == 1 else f"{n} steps"


def confusion(pairs: Iterable[tuple[Grid, Grid]]) -> Confusion:
    """Count steps by the action in the answers and the predicted action."""
    counts: Counter[tuple[str, str]] = Counter()
    for answer, prediction in pairs:
        for name in answer.participants:
            predicted = prediction.actions.get(name, [])
            counts.update(zip(answer.actions[name], predicted, strict=False))
            for action in answer.actions[name][len(predicted) :]:
                counts[action, "NONE"] += 1
    return {
        expected: {predicted: counts[expected, predicted] for predicted in ACTIONS} for expected in ACTIONS
    }
