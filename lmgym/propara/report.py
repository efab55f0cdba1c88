"""Score a submission: texts in, a report out; and the part of it that is stored. Pure.

report = evaluate(answers_text, predictions_text)
report.f1, report.questions["moves"].recall, report.processes[0].pairs("moves")
"""

from __future__ import annotations

from collections import Counter
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
from lmgym.propara.mistakes import confusion, mistakes
from lmgym.propara.process_report import ProcessReport, evaluate_process
from lmgym.propara.scoring import QUESTIONS, Averages, Scores, averages_of, overall
from lmgym.propara.submission_warnings import SubmissionWarning, submission_warnings

EVALUATOR = "2018.3"
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

    @classmethod
    def of(cls, processes: Sequence[ProcessReport]) -> Report:
        """Of processes that were evaluated one by one; it knows no file, and so no warnings."""
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
            "questions": {name: {**one._asdict(), "f1": one.f1} for name, one in self.questions.items()},
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
    wrong = sentence_problems(sentences or "", sentences_file, lenient=True)
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
    return Report(
        processes, len(prediction_grids), _averages(processes), predictions, answer_grids, prediction_grids
    )


def _averages(processes: Sequence[ProcessReport]) -> Averages | None:
    """None where a process has no score."""
    scores = [one.scores for one in processes if one.scores]
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


# --- what is stored, so that pages need not score again ---

RESAMPLES = 10_000
MAX_WARNINGS = 500


def digest(report: Report, resamples: int = RESAMPLES) -> dict[str, Any]:
    """The keys are those of docs/propara.md, "What the API says about a report"."""
    warnings = report.warnings
    by_process = Counter(flag.process_id for flag in warnings)
    processes = [_process(one, by_process[one.process_id]) for one in report.processes]
    kinds: Counter[str] = Counter()
    for row in processes:
        kinds.update(row["mistakes"])
    return {
        "reference": report.reference_as_dict() if report.averages else None,
        "corrected": report.corrected.as_dict(),
        "intervals": _intervals(report, resamples),
        "n_predictions": report.n_predictions,
        "n_answers": report.n_answers,
        "errors": report.errors_as_dicts(),
        "warnings": [flag.as_dict() for flag in _kept(warnings)],
        "warning_counts": dict(Counter(flag.code for flag in warnings)),
        "mistake_counts": dict(kinds),
        "confusion": confusion((one.answer_grid, one.prediction_grid) for one in report.processes),
        "processes": processes,
    }


def _kept(warnings: list[SubmissionWarning]) -> list[SubmissionWarning]:
    """At most MAX_WARNINGS in their order; the first of each kind in each process before others of the kind."""
    seen: set[tuple[str, int | None]] = set()
    later = []
    for flag in warnings:
        key = flag.code, flag.process_id
        later.append(key in seen)
        seen.add(key)
    ranked = sorted(range(len(warnings)), key=lambda k: later[k])[:MAX_WARNINGS]
    return [warnings[k] for k in sorted(ranked)]


def _intervals(report: Report, resamples: int) -> dict[str, Any] | None:
    """None where there is no score, and for a single process, which says nothing about others."""
    if report.averages is None or report.n_answers < 2:
        return None
    from lmgym.propara.bootstrap import bootstrap

    return bootstrap(report, resamples).as_dict()


def _process(one: ProcessReport, n_warnings: int) -> dict[str, Any]:
    found = Counter(mistake.code for mistake in mistakes(one.answer_grid, one.prediction_grid))
    return {
        "id": one.process_id,
        "scores": _pairs(one.scores) if one.scores else None,
        "f1": overall(one.scores.values()).f1 if one.scores else None,
        "corrected": _pairs(one.corrected),
        "corrected_f1": overall(one.corrected.values()).f1,
        "error": one.error.message if one.error else "",
        "mistakes": dict(found),
        "warnings": n_warnings,
    }


def _pairs(scores: Scores) -> dict[str, list[float]]:
    return {name: list(scores[name]) for name in QUESTIONS}
