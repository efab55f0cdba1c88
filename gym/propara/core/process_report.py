"""One process of answers and predictions: summaries, scores, corrected scores, pairs with their reasons. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gym.propara.core.corrected import corrected_process
from gym.propara.core.errors import ProcessFailure
from gym.propara.core.grid import Grid
from gym.propara.core.pair_details import Match, Pair, best_matches, pairs
from gym.propara.core.scoring import Scores, score
from gym.propara.core.summary import Summary, summarise


@dataclass(frozen=True)
class ProcessReport:
    answer_grid: Grid
    prediction_grid: Grid
    answer: Summary
    prediction: Summary
    scores: Scores | None
    error: ProcessFailure | None
    sentences: tuple[str, ...] = ()

    @property
    def process_id(self) -> int:
        return self.answer.process_id

    @cached_property
    def corrected(self) -> Scores:
        return corrected_process(self.answer, self.prediction)

    def matches(self, question: str) -> tuple[list[Match], list[Match]]:
        """Each answer with its best prediction, each prediction with its best answer."""
        return best_matches(question, self.answer, self.prediction)

    def pairs(self, question: str) -> list[Pair]:
        """Every prediction against every answer of a question, with the parts of the score and the reason."""
        return pairs(question, self.answer, self.prediction)

    def as_dict(self) -> dict[str, Any]:
        return {
            "process_id": self.process_id,
            "scores": {name: one.as_dict() for name, one in self.scores.items()} if self.scores else None,
            "error": {"code": self.error.code, "message": self.error.message} if self.error else None,
            "corrected": {name: one.as_dict() for name, one in self.corrected.items()},
            "answer": self.answer.as_dict(),
            "prediction": self.prediction.as_dict(),
        }


def evaluate_process(
    answer_grid: Grid, prediction_grid: Grid, sentences: tuple[str, ...] = ()
) -> ProcessReport:
    answer, prediction = summarise(answer_grid), summarise(prediction_grid)
    scores: Scores | None = None
    failure: ProcessFailure | None = None
    try:
        scores = score(answer, prediction)
    except ProcessFailure as error:
        failure = error
    return ProcessReport(answer_grid, prediction_grid, answer, prediction, scores, failure, sentences)
