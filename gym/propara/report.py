"""Score a submission: texts in, a report out. Pure.

report = evaluate(answers_text, predictions_text)
report.f1, report.questions["moves"].recall, report.processes[0].pairs("moves")
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gym.propara.averages import Averages, QuestionAverage, averages_of
from gym.propara.check import check, read_rows
from gym.propara.errors import Corrupted, ProcessFailure, ProParaError
from gym.propara.grid import Grid, Grids, differences_message, participant_differences
from gym.propara.matching import QUESTIONS
from gym.propara.problem import Problem
from gym.propara.scoring import QuestionScore, Scores, score
from gym.propara.sentences import Sentences, read_sentences, sentence_problems
from gym.propara.stream import grids_of
from gym.propara.summary import Summary, summarise

EVALUATOR = "2018.2"
"""Changes whenever a number of any report could: the year of the reference's rules, and our count of corrections."""

if TYPE_CHECKING:
    from gym.propara.corrected import Corrected, ProcessCorrected
    from gym.propara.flags import Flag
    from gym.propara.trace import Match, Pair


@dataclass(frozen=True)
class ProcessReport:
    """One process: summaries, the reference's scores (or why there are none), and all that a page shows."""

    answer_grid: Grid
    prediction_grid: Grid
    answer: Summary
    prediction: Summary
    scores: dict[str, QuestionScore] | None
    error: ProcessFailure | None
    sentences: tuple[str, ...] = ()

    @property
    def process_id(self) -> int:
        return self.answer.process_id

    @cached_property
    def corrected(self) -> ProcessCorrected:
        from gym.propara.corrected import corrected_process

        return corrected_process(self.answer, self.prediction)

    def matches(self, question: str) -> tuple[list[Match], list[Match]]:
        """Each answer with its best prediction, each prediction with its best answer."""
        from gym.propara.trace import best_matches

        return best_matches(question, self.answer, self.prediction)

    def pairs(self, question: str) -> list[Pair]:
        """Every prediction against every answer of a question, with the parts of the score and the reason."""
        from gym.propara.trace import pairs

        return pairs(question, self.answer, self.prediction)

    def as_dict(self) -> dict[str, Any]:
        return {
            "process_id": self.process_id,
            "scores": {name: one.as_dict() for name, one in self.scores.items()} if self.scores else None,
            "error": {"code": self.error.code, "message": self.error.message} if self.error else None,
            "corrected": {name: one.as_dict() for name, one in self.corrected.scores.items()},
            "answer": self.answer.as_dict(),
            "prediction": self.prediction.as_dict(),
        }


@dataclass(frozen=True)
class Report:
    """The reference's numbers, and beside them, never mixed with them, the corrected metric and the warnings.

    precision, recall, f1 and averages are None when a process has no score (see `errors`).
    """

    processes: tuple[ProcessReport, ...]
    n_predictions: int
    averages: Averages | None
    predictions_text: str = field(repr=False, default="")
    answer_grids: Grids = field(repr=False, default_factory=dict)
    prediction_grids: Grids = field(repr=False, default_factory=dict)

    @property
    def precision(self) -> float | None:
        return self.averages.precision if self.averages else None

    @property
    def recall(self) -> float | None:
        return self.averages.recall if self.averages else None

    @property
    def f1(self) -> float | None:
        return self.averages.f1 if self.averages else None

    @property
    def questions(self) -> dict[str, QuestionAverage]:
        return self.averages.questions if self.averages else {}

    @property
    def n_answers(self) -> int:
        return len(self.processes)

    @property
    def errors(self) -> dict[int, ProcessFailure]:
        return {one.process_id: one.error for one in self.processes if one.error}

    @cached_property
    def corrected(self) -> Corrected:
        from gym.propara.corrected import corrected

        return corrected([one.corrected for one in self.processes])

    @cached_property
    def warnings(self) -> list[Flag]:
        from gym.propara.flags import flags

        return flags(self)

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; numbers at full precision."""
        return {
            "metric": "reference-exact",
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "rounded": self.averages.rounded() if self.averages else None,
            "questions": {
                name: {"precision": one.precision, "recall": one.recall, "f1": one.f1}
                for name, one in self.questions.items()
            },
            "n_predictions": self.n_predictions,
            "n_answers": self.n_answers,
            "errors": [
                {"process_id": pid, "code": error.code, "message": error.message}
                for pid, error in self.errors.items()
            ],
            "corrected": self.corrected.as_dict(),
            "warnings": [flag.as_dict() for flag in self.warnings],
            "processes": [one.as_dict() for one in self.processes],
        }


def evaluate(
    answers: str,
    predictions: str,
    sentences: str | None = None,
    *,
    answers_file: str = "answers",
    predictions_file: str = "predictions",
    sentences_file: str = "sentences",
) -> Report:
    """Score a prediction file against an answer file. Raises ProParaError with all problems at once."""
    wrong = sentence_problems(sentences or "", sentences_file)
    try:
        prediction_grids = grids_of(predictions, predictions_file)
        answer_grids = grids_of(answers, answers_file)
    except ProParaError as error:
        found = error.problems or _problems(answers, predictions, answers_file, predictions_file)
        error.problems = found + wrong
        raise
    if lines := participant_differences(answer_grids, prediction_grids, predictions_file):
        message = differences_message(lines, answers_file, predictions_file)
        raise Corrupted(message, check(answer_grids, predictions, predictions_file) + wrong)
    try:
        texts: Sentences = read_sentences(sentences, sentences_file) if sentences else {}
    except ProParaError as error:
        error.problems = wrong
        raise
    processes = tuple(
        _process(grid, prediction_grids[pid], texts.get(pid, ())) for pid, grid in answer_grids.items()
    )
    averages = _averages(processes)
    return Report(processes, len(prediction_grids), averages, predictions, answer_grids, prediction_grids)


def evaluate_one(
    answers: Grids, predictions: Grids, process_id: int, sentences: tuple[str, ...] = ()
) -> ProcessReport:
    """One process of two files that fit each other. Raises KeyError when there is none of this number."""
    return _process(answers[process_id], predictions[process_id], sentences)


def _problems(answers: str, predictions: str, answers_file: str, predictions_file: str) -> list[Problem]:
    problems = read_rows(answers, answers_file)[1]
    grids: Grids | None = None
    if not problems:
        try:
            grids = grids_of(answers, answers_file)
        except ProParaError as error:
            problems = [Problem(answers_file, 0, 0, "unreadable", str(error))]
    return check(grids, predictions, predictions_file) + problems


def _process(answer_grid: Grid, prediction_grid: Grid, sentences: tuple[str, ...]) -> ProcessReport:
    answer, prediction = summarise(answer_grid), summarise(prediction_grid)
    scores: dict[str, QuestionScore] | None = None
    failure: ProcessFailure | None = None
    try:
        scores = dict(zip(QUESTIONS, score(answer, prediction), strict=True))
    except ProcessFailure as error:
        failure = error
    return ProcessReport(answer_grid, prediction_grid, answer, prediction, scores, failure, sentences)


def _averages(processes: tuple[ProcessReport, ...]) -> Averages | None:
    scores: list[Scores] = []
    for one in processes:
        if one.scores is None:
            return None
        scores.append((*one.scores.values(),))  # type: ignore[arg-type]
    return averages_of(scores)
