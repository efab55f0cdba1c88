"""How two summaries of a process compare, question by question, bit for bit as the reference has it. Pure.

Items are tuples whose last field is the step (summary.Conversion, summary.Move), or names (inputs, outputs). Scores are
pairs of precision and recall. Imports nothing but the comparison of terms: the command line loads it first.
"""

from __future__ import annotations

from gym.propara.errors import ProcessFailure
from gym.propara.terms import location_overlap, participant_overlap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

QUESTIONS = ("inputs", "outputs", "conversions", "moves")


def conversion_score(answer: tuple[Any, ...], prediction: tuple[Any, ...]) -> float:
    """Of (destroyed, created, location, step)."""
    if answer[3] != prediction[3]:
        return 0.0
    where = location_overlap(answer[2], prediction[2])
    destroyed = participant_overlap(answer[0], prediction[0])
    created = participant_overlap(answer[1], prediction[1])
    return (where + destroyed + created) / 3


def order_decides(answer: tuple[Any, ...], prediction: tuple[Any, ...]) -> bool:
    """Do two conversions name the same things in another order, and is that not simply a match?"""
    for one, other, overlap in (
        (answer[0], prediction[0], participant_overlap),
        (answer[1], prediction[1], participant_overlap),
        (answer[2], prediction[2], location_overlap),
    ):
        if one == other or len(one) != len(other) or " AND " not in one:
            continue
        if sorted(one.split(" AND ")) == sorted(other.split(" AND ")):
            try:
                if overlap(one, other) != 1.0:
                    return True
            except ProcessFailure:
                return True
    return False


def move_score(answer: tuple[Any, ...], prediction: tuple[Any, ...]) -> float:
    """Of (participants, before, after, step)."""
    if answer[3] != prediction[3]:
        return 0.0
    who = participant_overlap(answer[0], prediction[0])
    before = location_overlap(answer[1], prediction[1])
    after = location_overlap(answer[2], prediction[2])
    return (who + before + after) / 3


PAIR_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "inputs": participant_overlap,
    "outputs": participant_overlap,
    "conversions": conversion_score,
    "moves": move_score,
}


def question_score(
    answers: Sequence[Any], predictions: Sequence[Any], pair: Callable[[Any, Any], float]
) -> tuple[float, float]:
    """Best partners, several predictions may share one; with equal counts recall is precision (a short cut)."""
    if not answers:
        return (0.0, 1.0) if predictions else (1.0, 1.0)
    if not predictions:
        return 1.0, 0.0
    right = 0.0
    for prediction in predictions:
        right += max(0.0, *[pair(answer, prediction) for answer in answers])
    precision = right / len(predictions)
    if len(answers) == len(predictions):
        return precision, right / len(answers)
    found = 0.0
    for answer in answers:
        found += max(0.0, *[pair(answer, prediction) for prediction in predictions])
    return precision, found / len(answers)


def stepped_score(
    answers: Sequence[Any],
    predictions: Sequence[Any],
    pair: Callable[[Any, Any], float],
    *,
    at_most_one: bool = False,
) -> tuple[float, float]:
    """As `question_score`, for items that score 0 unless their steps are the same: looks at those pairs alone, and at
    none of an item that has its like on the other side if no pair is known to score above 1."""
    if not answers or not predictions:
        return question_score(answers, predictions, pair)
    right = _best_of_each(predictions, by_step(answers), lambda mine, theirs: pair(theirs, mine), at_most_one)
    precision = right / len(predictions)
    if len(answers) == len(predictions):
        return precision, right / len(answers)
    return precision, _best_of_each(answers, by_step(predictions), pair, at_most_one) / len(answers)


def by_step(items: Sequence[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for item in items:
        found.setdefault(item[-1], []).append(item)
    return found


def _best_of_each(
    items: Sequence[Any],
    others: dict[int, list[Any]],
    pair: Callable[[Any, Any], float],
    at_most_one: bool,
) -> float:
    """Sum of the best scores, from left to right; an item without a partner in its step adds 0."""
    total = 0.0
    for item in items:
        partners = others.get(item[-1], ())
        if at_most_one and item in partners:
            total += 1.0
            continue
        best = 0.0
        for other in partners:
            one = pair(item, other)
            if one > best:
                best = one
        total += best
    return total
