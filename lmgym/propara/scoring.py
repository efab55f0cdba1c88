"""The reference's scores, bit for bit: for pairs of items, for a process's four questions, and averaged over processes.

Items of conversions and moves have a step; items of inputs and outputs are names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmgym.propara.errors import ProcessFailure
from lmgym.propara.summary import Conversion, Move, Summary
from lmgym.propara.terms import location_overlap, participant_overlap

QUESTIONS = ("inputs", "outputs", "conversions", "moves")
PairScore = Callable[[Any, Any], float]


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class QuestionScore(NamedTuple):
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)


Scores = dict[str, QuestionScore]
"""Scores by question, in the order of QUESTIONS."""


# --- pairs of items ---


def conversion_score(answer: Conversion, prediction: Conversion) -> float:
    if answer.step != prediction.step:
        return 0.0
    where = location_overlap(answer.location, prediction.location)
    destroyed = participant_overlap(answer.destroyed, prediction.destroyed)
    created = participant_overlap(answer.created, prediction.created)
    return (where + destroyed + created) / 3


def move_score(answer: Move, prediction: Move) -> float:
    if answer.step != prediction.step:
        return 0.0
    participants = participant_overlap(answer.participants, prediction.participants)
    before = location_overlap(answer.before, prediction.before)
    after = location_overlap(answer.after, prediction.after)
    return (participants + before + after) / 3


PAIR_SCORES: dict[str, PairScore] = {
    "inputs": participant_overlap,
    "outputs": participant_overlap,
    "conversions": conversion_score,
    "moves": move_score,
}


def order_decides(answer: Conversion, prediction: Conversion) -> bool:
    """Return True if two conversions do not match only because names or places are in a different order."""
    for expected, predicted, overlap in (
        (answer.destroyed, prediction.destroyed, participant_overlap),
        (answer.created, prediction.created, participant_overlap),
        (answer.location, prediction.location, location_overlap),
    ):
        if expected == predicted or len(expected) != len(predicted) or " AND " not in expected:
            continue
        if sorted(expected.split(" AND ")) == sorted(predicted.split(" AND ")):
            try:
                if overlap(expected, predicted) != 1.0:
                    return True
            except ProcessFailure:
                return True
    return False


# --- scores of one process ---


def score(answer: Summary, prediction: Summary) -> Scores:
    """Score a process by question. Raises ProcessFailure where the reference crashes."""
    return {
        name: question_score(answer.items(name), prediction.items(name), PAIR_SCORES[name])
        for name in QUESTIONS
    }


def question_score(
    answers: Sequence[Any], predictions: Sequence[Any], pair_score: PairScore
) -> QuestionScore:
    """Score a question. Several items can have the same best partner. If the counts of answers and predictions are
    equal, the reference copies precision to recall."""
    if not answers:
        return QuestionScore(0.0, 1.0) if predictions else QuestionScore(1.0, 1.0)
    if not predictions:
        return QuestionScore(1.0, 0.0)
    best = _sum_of_best(predictions, answers, lambda mine, theirs: pair_score(theirs, mine))
    precision = best / len(predictions)
    if len(answers) == len(predictions):
        return QuestionScore(precision, precision)
    return QuestionScore(precision, _sum_of_best(answers, predictions, pair_score) / len(answers))


def by_step(items: Sequence[Any]) -> dict[int, list[Any]]:
    """Group items by step, because only items with the same step can score above 0. Names have step 0."""
    groups: dict[int, list[Any]] = {}
    for item in items:
        groups.setdefault(step_of(item), []).append(item)
    return groups


def step_of(item: Any) -> int:
    return getattr(item, "step", 0)


def _sum_of_best(items: Sequence[Any], others: Sequence[Any], pair_score: PairScore) -> float:
    """Sum the best scores from left to right, because float sums depend on the order. Items without a partner add 0."""
    partners = by_step(others)
    total = 0.0
    for item in items:
        total += max([0.0, *[pair_score(item, other) for other in partners.get(step_of(item), ())]])
    return total


class Overall(NamedTuple):
    precision: float
    recall: float
    f1: float


def overall(scores: Iterable[Sequence[float]]) -> Overall:
    """Average a process's precision and recall over some questions, and compute their F1."""
    rows = list(scores)
    precision = sum(row[0] for row in rows) / len(rows)
    recall = sum(row[1] for row in rows) / len(rows)
    return Overall(precision, recall, harmonic(precision, recall))


# --- means over processes ---


@dataclass(frozen=True)
class Averages:
    """Averages of each question, rounded to three decimals as in the reference. Overall values are their unrounded
    means."""

    questions: Scores

    @property
    def precision(self) -> float:
        return _mean_of_four([question.precision for question in self.questions.values()])

    @property
    def recall(self) -> float:
        return _mean_of_four([question.recall for question in self.questions.values()])

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)

    def rounded(self) -> dict[str, float]:
        return {
            "precision": round(self.precision, 3),
            "recall": round(self.recall, 3),
            "f1": round(self.f1, 3),
        }


def _mean_of_four(values: Sequence[float]) -> float:
    """Return the mean, without `sum`, which compensates for rounding errors since Python 3.12."""
    inputs, outputs, conversions, moves = values
    return (inputs + outputs + conversions + moves) / 4


def averages_of(processes: Iterable[Scores]) -> Averages:
    """Average over one or more processes, summed in the order of the answer file."""
    rows = list(processes)
    questions = {}
    for name in QUESTIONS:
        precision = recall = 0.0
        for scores in rows:
            precision += scores[name].precision
            recall += scores[name].recall
        questions[name] = QuestionScore(round(precision / len(rows), 3), round(recall / len(rows), 3))
    return Averages(questions)
