"""What is kept of a report: aggregates, one line per process, intervals. JSON-able, so that pages need not score again.

Pure. The reference's numbers and the corrected metric stay in boxes of their own, with their names.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from gym.propara.averages import harmonic
from gym.propara.flags import Flag
from gym.propara.matching import QUESTIONS
from gym.propara.mistakes import confusion, mistakes
from gym.propara.report import ProcessReport, Report
from gym.propara.scoring import QuestionScore

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
        "reference": _reference(report),
        "corrected": report.corrected.as_dict(),
        "intervals": _intervals(report, resamples),
        "n_predictions": report.n_predictions,
        "n_answers": report.n_answers,
        "errors": [
            {"process_id": pid, "code": error.code, "message": error.message}
            for pid, error in report.errors.items()
        ],
        "warnings": [flag.as_dict() for flag in _kept(warnings)],
        "warning_counts": dict(Counter(flag.code for flag in warnings)),
        "mistake_counts": dict(kinds),
        "confusion": confusion((one.answer_grid, one.prediction_grid) for one in report.processes),
        "processes": processes,
    }


def _kept(warnings: list[Flag]) -> list[Flag]:
    """At most MAX_WARNINGS in their order; the first of each kind in each process before others of the kind."""
    seen: set[tuple[str, int | None]] = set()
    later = []
    for flag in warnings:
        key = flag.code, flag.process_id
        later.append(key in seen)
        seen.add(key)
    ranked = sorted(range(len(warnings)), key=lambda k: later[k])[:MAX_WARNINGS]
    return [warnings[k] for k in sorted(ranked)]


def _reference(report: Report) -> dict[str, Any] | None:
    if report.averages is None:
        return None
    return {
        "metric": "reference-exact",
        "precision": report.precision,
        "recall": report.recall,
        "f1": report.f1,
        "rounded": report.averages.rounded(),
        "questions": {
            name: {"precision": one.precision, "recall": one.recall, "f1": one.f1}
            for name, one in report.questions.items()
        },
    }


def _intervals(report: Report, resamples: int) -> dict[str, Any] | None:
    """None where there is no score, and for a single process, which says nothing about others."""
    if report.averages is None or report.n_answers < 2:
        return None
    from gym.propara.bootstrap import bootstrap

    return bootstrap(report, resamples).as_dict()


def _process(one: ProcessReport, n_warnings: int) -> dict[str, Any]:
    found = Counter(mistake.code for mistake in mistakes(one.answer_grid, one.prediction_grid))
    return {
        "id": one.process_id,
        "scores": _pairs(one.scores) if one.scores else None,
        "f1": overall(one.scores) if one.scores else None,
        "corrected": _pairs(one.corrected.scores),
        "corrected_f1": overall(one.corrected.scores),
        "error": one.error.message if one.error else "",
        "mistakes": dict(found),
        "warnings": n_warnings,
    }


def _pairs(scores: dict[str, QuestionScore]) -> dict[str, list[float]]:
    return {name: [scores[name].precision, scores[name].recall] for name in QUESTIONS}


def overall(scores: dict[str, QuestionScore]) -> float:
    """F1 of one process: of the means of its four precisions and four recalls."""
    precision = sum(scores[name].precision for name in QUESTIONS) / len(QUESTIONS)
    recall = sum(scores[name].recall for name in QUESTIONS) / len(QUESTIONS)
    return harmonic(precision, recall)
