"""Scores of well-formed files straight from their rows, process by process, without grids and summaries. Pure.

Most rows say that nothing changes. Where each location before is the location after of the row before, and each action
says what the locations say, the few others tell everything: inputs are what is destroyed and never created, outputs the
reverse, and a move is a MOVE. Processes that are the same in both files are only checked. A process whose rows are not
like that goes through grid and summary (gym.propara.stream, gym.propara.summary); rows that the reference might refuse
raise Unusual. Both ways give the same numbers: the recorded cases and tests/propara/test_quick.py say so.

Imports little: the command line loads it before anything else.
"""

from __future__ import annotations

from itertools import compress
from operator import ne

from gym.propara.blocks import NUMBERS, STEPS, Unusual, blocks, table
from gym.propara.errors import ProcessFailure
from gym.propara.events import action_problem, conversions, display_name
from gym.propara.matching import conversion_score, move_score, order_decides, question_score, stepped_score
from gym.propara.terms import LONG_RUN, participant_overlap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from gym.propara.blocks import Stream
    from gym.propara.events import Happenings

    Change = tuple[tuple[int, int], tuple[str, str, str]]
    """Index of the participant and step; action, location before and after."""
    Changes = tuple[list[str], int, list[Change]]
    """Participants, number of steps, and what changes, in the order of the rows."""
    Facts = tuple[list[str], list[str], list[str], Sequence[Any], Sequence[Any]]
    """Participants, inputs, outputs, conversions, moves."""
    Known = set[tuple[str, str, str]]
    """Combinations of action and locations that were found to be valid."""
    Pair = tuple[float, float]
    """Precision and recall."""

_MEMO_LIMIT = 50_000
_NOWHERE = ("-", "")
_RIGHT = (1.0, 1.0)


class _OrderDecides(Exception):
    """Conversions name the same in another order, so it must be that of the reference."""


class _Shown(dict[str, str]):
    """Names as they are shown, kept for a while."""

    def __missing__(self, name: str) -> str:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        shown = self[name] = display_name(name)
        return shown


_SHOWN = _Shown()
_ALL_RIGHT = (_RIGHT,) * 4


def scores(answers: Stream, predictions: Stream, seen: set[int] | None = None) -> Iterator[Sequence[Pair]]:
    """Of the four questions for each process, where both files have the same processes and participants in one order.
    `seen` gets the numbers of the processes. Raises Unusual, or ProcessFailure where the reference divides by zero."""
    known: Known = set()
    theirs = blocks(predictions)
    for process, block in blocks(answers, seen):
        other, rows = next(theirs, ("", ""))
        if process != other:
            raise Unusual
        single = _single_terms(block)
        if single and block == rows:
            _check(process, block, known)
            yield _ALL_RIGHT
            continue
        answer = changes(process, block)
        prediction = changes(process, rows)
        if answer and prediction and single and _single_terms(rows):
            try:
                yield _score(_facts(*answer), _facts(*prediction), _unless_order_decides, single=True)
                continue
            except (_OrderDecides, ProcessFailure):
                pass
        yield _score(
            _facts(*answer, exact=True) if answer else _by_grid(process, block),
            _facts(*prediction, exact=True) if prediction else _by_grid(process, rows),
            conversion_score,
            single=single and _single_terms(rows),
        )
    if next(theirs, None) is not None:
        raise Unusual


def _single_terms(block: str) -> bool:
    """Whether equal items score 1: single terms overlap by 0 or 1, and conversions of one process share no step. (Where
    the reference's stemmer cannot take a long run of y, there is more to look at.)"""
    return "AND" not in block and (len(block) < LONG_RUN or "yyyy" not in block.lower())


def changes(process: str, block: str) -> Changes | None:
    """What changes in a process; None where it takes a grid to say. Rows where nothing changes are valid."""
    steps, names, actions, before, after = table(process, block)
    n, rows = STEPS.get(steps[-1], 0), len(steps)
    if not n or rows % n or steps != NUMBERS[:n] * (rows // n) or "\tnull" in block or "\tunk" in block:
        return None
    participants = names[::n]
    same = names[:-1]
    same[n - 1 :: n] = participants[1:]
    if names[1:] != same or len(set(participants)) < len(participants):
        return None
    goes_on = after[:-1]
    goes_on[n - 1 :: n] = before[n::n]
    if before[1:] != goes_on:
        return None
    differs = [*map(ne, before, after)]
    triples = [*compress(zip(actions, before, after, strict=True), differs)]
    if actions.count("NONE") + len(triples) != rows:
        return None
    return participants, n, [*zip(compress(_places(n, rows), differs), triples, strict=True)]


def _places(n: int, rows: int) -> list[tuple[int, int]]:
    """Index of the participant and step of each row, for at least so many rows."""
    places = _PLACES.get(n)
    if places is None or len(places) < rows:
        places = _PLACES[n] = [(row // n, row % n + 1) for row in range(max(rows, 10 * n))]
    return places


_PLACES: dict[int, list[tuple[int, int]]] = {}


def _check(process: str, block: str, known: Known) -> None:
    """Would the reference take these rows?"""
    steps, _, actions, before, after = table(process, block)
    triples = set(zip(actions, before, after, strict=True)) - known
    if not STEPS.keys() >= set(steps) or any(action_problem(*triple) for triple in triples):
        raise Unusual
    if len(known) > _MEMO_LIMIT:
        known.clear()
    known |= triples


def _facts(participants: list[str], n: int, changed: list[Change], *, exact: bool = False) -> Facts:
    """Raises Unusual where an action does not say what the locations say."""
    names = [_SHOWN[name] for name in participants]
    created: Happenings = {}
    destroyed: Happenings = {}
    moves: list[tuple[str, str, str, int]] = []
    new: dict[int, None] = {}
    gone: dict[int, None] = {}
    for (who, step), (action, before, after) in changed:
        if before == "?":
            before = "unk"
        if after == "?":
            after = "unk"
        if action == "MOVE" and before not in _NOWHERE and after not in _NOWHERE:
            moves.append((names[who], before, after, step))
        elif action == "CREATE" and before == "-" and after:
            created.setdefault(step, []).append((names[who], after))
            new[who] = None
        elif action == "DESTROY" and after == "-" and before:
            destroyed.setdefault(step, []).append((names[who], before))
            gone[who] = None
        else:
            raise Unusual
    inputs = [names[who] for who in gone if who not in new]
    outputs = [names[who] for who in new if who not in gone]
    return participants, inputs, outputs, conversions(created, destroyed, n, exact=exact), moves


def _by_grid(process: str, block: str) -> Facts:
    from gym.propara.stream import grid_of
    from gym.propara.summary import summarise

    grid = grid_of(process, block, set())
    told = summarise(grid)
    return (
        list(grid.locations),
        list(told.inputs),
        list(told.outputs),
        list(told.conversions),
        list(told.moves),
    )


def _unless_order_decides(answer: tuple[Any, ...], prediction: tuple[Any, ...]) -> float:
    score = conversion_score(answer, prediction)
    if score != 1.0 and order_decides(answer, prediction):
        raise _OrderDecides
    return score


def _score(
    answer: Facts, prediction: Facts, converted_pair: Callable[[Any, Any], float], *, single: bool
) -> Sequence[Pair]:
    if answer[0] != prediction[0] and set(answer[0]) != set(prediction[0]):
        raise Unusual
    _, inputs, outputs, converted, moved = prediction
    return (
        _names(answer[1], inputs, single),
        _names(answer[2], outputs, single),
        _stepped(answer[3], converted, converted_pair, single),
        _stepped(answer[4], moved, move_score, single),
    )


def _names(answers: Sequence[str], predictions: Sequence[str], single: bool) -> Pair:
    if single and answers == predictions:
        return _RIGHT
    return question_score(answers, predictions, participant_overlap)


def _stepped(
    answers: Sequence[Any], predictions: Sequence[Any], pair: Callable[[Any, Any], float], single: bool
) -> Pair:
    if single and answers == predictions:
        return _RIGHT
    return stepped_score(answers, predictions, pair, at_most_one=single)
