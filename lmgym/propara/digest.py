"""Part of a report, as JSON values, that the site stores so that pages do not have to score again.

The keys are documented in docs/propara.md, "Use the REST API". Changing them requires a migration of stored reports.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from lmgym.propara.mistakes import confusion, mistakes
from lmgym.propara.process_report import ProcessReport
from lmgym.propara.report import Report
from lmgym.propara.scoring import QUESTIONS, Scores, overall
from lmgym.propara.submission_warnings import SubmissionWarning

RESAMPLES = 10_000
MAX_WARNINGS = 500


def digest(report: Report, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Summarise a report: both metrics, intervals, errors, warnings, mistakes, confusion and one row per process."""
    warnings = report.warnings
    n_warnings = Counter(warning.process_id for warning in warnings)
    processes = [_process(process, n_warnings[process.process_id]) for process in report.processes]
    mistake_counts: Counter[str] = Counter()
    for row in processes:
        mistake_counts.update(row["mistakes"])
    return {
        **metrics(report, resamples),
        "n_predictions": report.n_predictions,
        "n_answers": report.n_answers,
        "errors": report.errors_as_dicts(),
        "warnings": [warning.as_dict() for warning in _kept(warnings)],
        "warning_counts": dict(Counter(warning.code for warning in warnings)),
        "mistake_counts": dict(mistake_counts),
        "confusion": confusion((item.answer_grid, item.prediction_grid) for item in report.processes),
        "processes": processes,
    }


def metrics(report: Report, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Return the official metric (None without a score) with its intervals, and the corrected metric."""
    return {
        "reference": report.reference_as_dict() if report.averages else None,
        "corrected": report.corrected.as_dict(),
        "intervals": _intervals(report, resamples),
    }


def _intervals(report: Report, resamples: int) -> dict[str, Any] | None:
    """Return intervals; None without a score, or for a single process, whose resamples are all equal."""
    if report.averages is None or report.n_answers < 2:
        return None
    from lmgym.propara.bootstrap import (
        bootstrap,  # numpy and scipy are imported only where intervals are needed
    )

    return bootstrap(report, resamples).as_dict()


def _kept(warnings: list[SubmissionWarning]) -> list[SubmissionWarning]:
    """Return at most MAX_WARNINGS in order, preferring the first of each kind in each process."""
    seen: set[tuple[str, int | None]] = set()
    is_repeated = []
    for warning in warnings:
        key = warning.code, warning.process_id
        is_repeated.append(key in seen)
        seen.add(key)
    ranked = sorted(range(len(warnings)), key=lambda k: is_repeated[k])[:MAX_WARNINGS]
    return [warnings[k] for k in sorted(ranked)]


def _process(process: ProcessReport, n_warnings: int) -> dict[str, Any]:
    codes = Counter(mistake.code for mistake in mistakes(process.answer_grid, process.prediction_grid))
    return {
        "process_id": process.process_id,
        "scores": _pairs(process.scores) if process.scores else None,
        "f1": overall(process.scores.values()).f1 if process.scores else None,
        "corrected": _pairs(process.corrected),
        "corrected_f1": overall(process.corrected.values()).f1,
        "error": process.error.message if process.error else "",
        "mistakes": dict(codes),
        "n_warnings": n_warnings,
    }


def _pairs(scores: Scores) -> dict[str, list[float]]:
    return {name: list(scores[name]) for name in QUESTIONS}
