"""Scores of one process and their averages, bit for bit as the reference computes them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gym.propara.summary import QUESTIONS, Conversion, Move, Summary
from gym.propara.terms import location_overlap, participant_overlap


class QuestionScore(NamedTuple):
    precision: float
    recall: float

    def as_dict(self) -> dict[str, float]:
        return {"precision": self.precision, "recall": self.recall}


Scores = tuple[QuestionScore, QuestionScore, QuestionScore, QuestionScore]
"""In the order of QUESTIONS."""


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
    who = participant_overlap(answer.participants, prediction.participants)
    before = location_overlap(answer.before, prediction.before)
    after = location_overlap(answer.after, prediction.after)
    return (who + before + after) / 3


PAIR_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "inputs": participant_overlap,
    "outputs": participant_overlap,
    "conversions": conversion_score,
    "moves": move_score,
}


def question_score(
    answers: Sequence[Any], predictions: Sequence[Any], pair: Callable[[Any, Any], float]
) -> QuestionScore:
    """Best partners, several predictions may share one; with equal counts recall is precision (a short cut)."""
    if not answers:
        return QuestionScore(0.0, 1.0) if predictions else QuestionScore(1.0, 1.0)
    if not predictions:
        return QuestionScore(1.0, 0.0)
    right = 0.0
    for prediction in predictions:
        right += max(0.0, *[pair(answer, prediction) for answer in answers])
    precision = right / len(predictions)
    if len(answers) == len(predictions):
        return QuestionScore(precision, right / len(answers))
    found = 0.0
    for answer in answers:
        found += max(0.0, *[pair(answer, prediction) for prediction in predictions])
    return QuestionScore(precision, found / len(answers))


def stepped_score(
    answers: Sequence[Any], predictions: Sequence[Any], pair: Callable[[Any, Any], float]
) -> QuestionScore:
    """As `question_score`, for items that score 0 unless their steps are the same: looks at those pairs alone."""
    if not answers or not predictions:
        return question_score(answers, predictions, pair)
    right = _best_of_each(predictions, by_step(answers), lambda mine, theirs: pair(theirs, mine))
    precision = right / len(predictions)
    if len(answers) == len(predictions):
        return QuestionScore(precision, right / len(answers))
    return QuestionScore(precision, _best_of_each(answers, by_step(predictions), pair) / len(answers))


def by_step(items: Sequence[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for item in items:
        found.setdefault(item.step, []).append(item)
    return found


def _best_of_each(
    items: Sequence[Any], others: dict[int, list[Any]], pair: Callable[[Any, Any], float]
) -> float:
    """Sum of the best scores, from left to right; an item without a partner in its step adds 0."""
    total = 0.0
    for item in items:
        best = 0.0
        for other in others.get(item.step, ()):
            one = pair(item, other)
            if one > best:
                best = one
        total += best
    return total


def score(answer: Summary, prediction: Summary) -> Scores:
    """The four questions of one process; raises ProcessFailure where the reference crashes."""
    return (
        question_score(answer.inputs, prediction.inputs, participant_overlap),
        question_score(answer.outputs, prediction.outputs, participant_overlap),
        stepped_score(answer.conversions, prediction.conversions, conversion_score),
        stepped_score(answer.moves, prediction.moves, move_score),
    )


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class QuestionAverage(NamedTuple):
    """Precision and recall are rounded to three decimals, as the reference has them; raw_* are not."""

    precision: float
    recall: float
    raw_precision: float
    raw_recall: float

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)


class Averages(NamedTuple):
    questions: dict[str, QuestionAverage]
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)

    def rounded(self) -> dict[str, float]:
        return {
            "precision": round(self.precision, 3),
            "recall": round(self.recall, 3),
            "f1": round(self.f1, 3),
        }


class Averager:
    """Sums in the order of the answers file; keeps eight numbers however many processes there are."""

    def __init__(self) -> None:
        self.n = 0
        self._sums = [0.0] * (2 * len(QUESTIONS))

    def add(self, scores: Scores) -> None:
        self.n += 1
        sums = self._sums
        for k, (precision, recall) in enumerate(scores):
            sums[2 * k] += precision
            sums[2 * k + 1] += recall

    def averages(self) -> Averages:
        means = [total / self.n for total in self._sums]
        questions = {
            name: QuestionAverage(round(p, 3), round(r, 3), p, r)
            for name, p, r in zip(QUESTIONS, means[::2], means[1::2], strict=True)
        }
        i, o, c, m = questions.values()
        return Averages(
            questions,
            (i.precision + o.precision + c.precision + m.precision) / 4,
            (i.recall + o.recall + c.recall + m.recall) / 4,
        )


def averages_of(scores: Iterable[Scores]) -> Averages:
    averager = Averager()
    for one in scores:
        averager.add(one)
    return averager.averages()
