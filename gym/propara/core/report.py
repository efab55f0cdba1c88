"""Score a submission: texts in, a report out. Pure.

report = evaluate(answers_text, predictions_text)
report.f1, report.questions["moves"].recall, report.processes[0].pairs("moves")
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gym.propara.core.check import check, read_rows
from gym.propara.core.corrected import Corrected, corrected
from gym.propara.core.errors import Corrupted, Problem, ProcessFailure, ProParaError
from gym.propara.core.grid import Grids, differences_message, participant_differences, read_grids
from gym.propara.core.process_report import ProcessReport, evaluate_process
from gym.propara.core.scoring import Averages, Scores, averages_of
from gym.propara.core.sentences import Sentences, read_sentences, sentence_problems
from gym.propara.core.submission_warnings import SubmissionWarning, submission_warnings

EVALUATOR = "2018.2"
"""Changes whenever a number of any report could: the year of the reference's rules, and our count of corrections."""


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
    def questions(self) -> Scores:
        return self.averages.questions if self.averages else {}

    @property
    def n_answers(self) -> int:
        return len(self.processes)

    @property
    def errors(self) -> dict[int, ProcessFailure]:
        return {one.process_id: one.error for one in self.processes if one.error}

    @cached_property
    def corrected(self) -> Corrected:
        return corrected([one.corrected for one in self.processes])

    @cached_property
    def warnings(self) -> list[SubmissionWarning]:
        return submission_warnings(
            self.predictions_text, self.answer_grids, self.prediction_grids, self.processes
        )

    def reference_as_dict(self) -> dict[str, Any]:
        return {
            "metric": "reference-exact",
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "rounded": self.averages.rounded() if self.averages else None,
            "questions": {name: {**one.as_dict(), "f1": one.f1} for name, one in self.questions.items()},
        }

    def errors_as_dicts(self) -> list[dict[str, Any]]:
        return [
            {"process_id": pid, "code": error.code, "message": error.message}
            for pid, error in self.errors.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; numbers at full precision."""
        return {
            **self.reference_as_dict(),
            "n_predictions": self.n_predictions,
            "n_answers": self.n_answers,
            "errors": self.errors_as_dicts(),
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
        prediction_grids = read_grids(predictions, predictions_file)
        answer_grids = read_grids(answers, answers_file)
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
        evaluate_process(grid, prediction_grids[pid], texts.get(pid, ()))
        for pid, grid in answer_grids.items()
    )
    scores = [one.scores for one in processes if one.scores]
    averages = averages_of(scores) if len(scores) == len(processes) else None
    return Report(processes, len(prediction_grids), averages, predictions, answer_grids, prediction_grids)


def _problems(answers: str, predictions: str, answers_file: str, predictions_file: str) -> list[Problem]:
    problems = read_rows(answers, answers_file)[1]
    grids: Grids | None = None
    if not problems:
        try:
            grids = read_grids(answers, answers_file)
        except ProParaError as error:
            problems = [Problem(answers_file, 0, 0, "unreadable", str(error))]
    return check(grids, predictions, predictions_file) + problems
