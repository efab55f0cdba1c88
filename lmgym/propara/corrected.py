"""Corrected metric: the reference's four questions without the reference's flaws. Never mixed with the official metric.

Differences from the reference:

* the overlap of two sets of terms is bounded: each term has at most one partner, and equal terms count once (the
  Jaccard index with soft equality, in [0, 1]);
* each answer is matched with at most one prediction and vice versa, maximising the total score (Kuhn 1955; scipy's
  linear_sum_assignment);
* recall is computed even if the numbers of predictions and answers are equal;
* intermediate averages are not rounded;
* the order of rows, participants, processes and terms joined by AND does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum
from typing import Any

from lmgym.propara.scoring import QUESTIONS, QuestionScore, Scores, harmonic
from lmgym.propara.summary import Summary
from lmgym.propara.terms import location_terms, participant_terms

Canonical = tuple[tuple[str, ...], ...]
"""Sorted terms without duplicates."""
Item = tuple[int, tuple[Canonical, ...]]
"""Step (0 for names) and the parts to compare."""


@dataclass(frozen=True)
class Corrected:
    precision: float
    recall: float
    questions: Scores

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": "corrected",
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "questions": {
                name: {**score._asdict(), "f1": score.f1} for name, score in self.questions.items()
            },
        }


def corrected_process(answer: Summary, prediction: Summary) -> Scores:
    """Score one process by question."""
    return {name: _question(_items(name, answer), _items(name, prediction)) for name in QUESTIONS}


def corrected(processes: Sequence[Scores]) -> Corrected:
    """Average over processes, then over the four questions."""
    n = len(processes)
    questions = {
        name: QuestionScore(
            fsum(scores[name].precision for scores in processes) / n,
            fsum(scores[name].recall for scores in processes) / n,
        )
        for name in QUESTIONS
    }
    return Corrected(
        fsum(scores.precision for scores in questions.values()) / len(QUESTIONS),
        fsum(scores.recall for scores in questions.values()) / len(QUESTIONS),
        questions,
    )


@lru_cache(maxsize=16_384)
def bounded_overlap(answer: Canonical, prediction: Canonical) -> float:
    """Return the number of matched terms over the size of the union; 1 only if every term has a partner."""
    if answer == prediction:
        return 1.0
    shared = _most_partners(answer, prediction)
    return shared / (len(answer) + len(prediction) - shared)


def _canonical(terms: Iterable[frozenset[str]]) -> Canonical:
    return tuple(sorted({tuple(sorted(term)) for term in terms}))


@lru_cache(maxsize=16_384)
def _who(text: str) -> Canonical:
    return _canonical(participant_terms(text))


@lru_cache(maxsize=16_384)
def _where(text: str) -> Canonical:
    return _canonical(location_terms(text))


def _items(question: str, summary: Summary) -> list[Item]:
    """Return the items for a question, sorted to make the result independent of the order of rows."""
    items: list[Item]
    if question == "conversions":
        items = [
            (item.step, (_where(item.location), _who(item.destroyed), _who(item.created)))
            for item in summary.conversions
        ]
    elif question == "moves":
        items = [
            (item.step, (_who(item.participants), _where(item.before), _where(item.after)))
            for item in summary.moves
        ]
    else:
        items = [(0, (_who(name),)) for name in summary.items(question)]
    return sorted(items)


def _question(answers: list[Item], predictions: list[Item]) -> QuestionScore:
    if not answers:
        return QuestionScore(0.0, 1.0) if predictions else QuestionScore(1.0, 1.0)
    if not predictions:
        return QuestionScore(1.0, 0.0)
    total = _greatest_total(answers, predictions)
    return QuestionScore(min(1.0, total / len(predictions)), min(1.0, total / len(answers)))


def _greatest_total(answers: list[Item], predictions: list[Item]) -> float:
    """Return the greatest total score. Steps are matched separately, because pairs of different steps score 0."""
    totals: list[float] = []
    for step in sorted({step for step, _ in answers} & {step for step, _ in predictions}):
        theirs = [parts for at, parts in answers if at == step]
        mine = [parts for at, parts in predictions if at == step]
        totals.append(_assigned([[_pair(a, p) for p in mine] for a in theirs]))
    return fsum(totals)


def _pair(answer: tuple[Canonical, ...], prediction: tuple[Canonical, ...]) -> float:
    parts = [bounded_overlap(a, p) for a, p in zip(answer, prediction, strict=True)]
    return fsum(parts) / len(parts)


def _assigned(scores: list[list[float]]) -> float:
    """Return the greatest sum of scores with at most one score per row and column."""
    if len(scores) == 1:
        return max(scores[0])
    if len(scores[0]) == 1:
        return max(row[0] for row in scores)
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return fsum(scores[row][column] for row, column in zip(rows, columns, strict=True))


def _most_partners(answer: Canonical, prediction: Canonical) -> int:
    """Return the size of a maximum matching between terms that share an alternative (Hopcroft and Karp 1973; scipy)."""
    mine = [frozenset(term) for term in prediction]
    shared = [[not term.isdisjoint(other) for term in mine] for other in answer]
    if len(answer) == 1 or len(mine) == 1:
        return int(any(any(row) for row in shared))
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return int((maximum_bipartite_matching(csr_matrix(shared)) >= 0).sum())
