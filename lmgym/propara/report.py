"""Score a submission passed as texts.

report = evaluate(answers_text, predictions_text)
report.f1, report.questions["moves"].recall, report.processes[0].pairs("moves")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lmgym.propara.check import check, read_rows, sentence_problems
from lmgym.propara.corrected import Corrected, corrected
from lmgym.propara.errors import Corrupted, Problem, ProcessFailure, ProParaError
from lmgym.propara.grid import (
    Grids,
    Sentences,
    differences_message,
    participant_differences,
    read_grids,
    read_sentences,
)
from lmgym.propara.process_report import ProcessReport, evaluate_process
from lmgym.propara.scoring import Averages, Scores, averages_of
from lmgym.propara.submission_warnings import SubmissionWarning, submission_warnings

EVALUATOR = "2018.3"
"""Version of the evaluator: year of the reference's rules, then a counter. Increase it whenever a score can change."""


@dataclass(frozen=True)
class Report:
    """Report on a submission: the reference's scores and, separately, the corrected metric and warnings.

    If a process has no score (see `errors`), precision, recall, f1 and averages are None, and questions is empty.
    """

    processes: tuple[ProcessReport, ...]
    n_predictions: int
    averages: Averages | None
    predictions_text: str = field(repr=False, default="")
    answer_grids: Grids = field(repr=False, default_factory=dict)
    prediction_grids: Grids = field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, processes: Sequence[ProcessReport]) -> Report:
        """Build a report from evaluated processes. It has no warnings, because warnings require the file."""
        return cls(tuple(processes), len(processes), _averages(processes))

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
        return {process.process_id: process.error for process in self.processes if process.error}

    @cached_property
    def corrected(self) -> Corrected:
        return corrected([process.corrected for process in self.processes])

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
            "questions": {
                name: {**score._asdict(), "f1": score.f1} for name, score in self.questions.items()
            },
        }

    def errors_as_dicts(self) -> list[dict[str, Any]]:
        return [
            {"process_id": pid, "code": error.code, "message": error.message}
            for pid, error in self.errors.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the whole report as JSON values, with numbers at full precision."""
        return {
            **self.reference_as_dict(),
            "n_predictions": self.n_predictions,
            "n_answers": self.n_answers,
            "errors": self.errors_as_dicts(),
            "corrected": self.corrected.as_dict(),
            "warnings": [warning.as_dict() for warning in self.warnings],
            "processes": [process.as_dict() for process in self.processes],
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
    """Score a prediction file against an answer file.

    Args:
        answers: text of an action file.
        predictions: text of an action file; its participants must match those in the answers verbatim.
        sentences: text of a sentence file, for reports on processes.
        answers_file: name for the answer file in messages; `predictions_file` and `sentences_file` likewise.

    Raises:
        ProParaError: `problems` lists all problems of the three files.
    """
    sentence_errors = sentence_problems(sentences or "", sentences_file, lenient=True)
    try:
        prediction_grids = read_grids(predictions, predictions_file)
        answer_grids = read_grids(answers, answers_file)
    except ProParaError as error:
        problems = error.problems or _problems(answers, predictions, answers_file, predictions_file)
        error.problems = problems + sentence_errors
        raise
    if lines := participant_differences(answer_grids, prediction_grids, predictions_file):
        message = differences_message(lines, answers_file, predictions_file)
        raise Corrupted(message, check(answer_grids, predictions, predictions_file) + sentence_errors)
    try:
        texts: Sentences = read_sentences(sentences, sentences_file) if sentences else {}
    except ProParaError as error:
        error.problems = sentence_errors
        raise
    processes = tuple(
        evaluate_process(grid, prediction_grids[pid], texts.get(pid, ()))
        for pid, grid in answer_grids.items()
    )
    return Report(
        processes, len(prediction_grids), _averages(processes), predictions, answer_grids, prediction_grids
    )


def _averages(processes: Sequence[ProcessReport]) -> Averages | None:
    """Return the averages; None if a process has no score."""
    scores = [process.scores for process in processes if process.scores]
    return averages_of(scores) if len(scores) == len(processes) else None


def _problems(answers: str, predictions: str, answers_file: str, predictions_file: str) -> list[Problem]:
    problems = read_rows(answers, answers_file)[1]
    grids: Grids | None = None
    if not problems:
        try:
            grids = read_grids(answers, answers_file)
        except ProParaError as error:
            problems = [Problem(answers_file, 0, 0, "unreadable", str(error))]
    return check(grids, predictions, predictions_file) + problems
