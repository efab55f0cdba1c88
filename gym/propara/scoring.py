"""Scores of one process, with names for the numbers. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gym.propara.matching import conversion_score, move_score, question_score, stepped_score
from gym.propara.summary import Summary
from gym.propara.terms import participant_overlap


class QuestionScore(NamedTuple):
    precision: float
    recall: float

    def as_dict(self) -> dict[str, float]:
        return {"precision": self.precision, "recall": self.recall}


Scores = tuple[QuestionScore, QuestionScore, QuestionScore, QuestionScore]
"""In the order of QUESTIONS."""


def score(answer: Summary, prediction: Summary) -> Scores:
    """The four questions of one process; raises ProcessFailure where the reference crashes."""
    return (
        QuestionScore(*question_score(answer.inputs, prediction.inputs, participant_overlap)),
        QuestionScore(*question_score(answer.outputs, prediction.outputs, participant_overlap)),
        QuestionScore(*stepped_score(answer.conversions, prediction.conversions, conversion_score)),
        QuestionScore(*stepped_score(answer.moves, prediction.moves, move_score)),
    )
