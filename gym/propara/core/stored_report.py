"""The stored part of a report: averages, a row per process, intervals. JSON-able, so that pages need not score again.

Pure. The reference's numbers and the corrected metric stay in boxes of their own, with their names.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from gym.propara.core.mistakes import confusion, mistakes
from gym.propara.core.process_report import ProcessReport
from gym.propara.core.report import Report
from gym.propara.core.scoring import QUESTIONS, Scores, overall
from gym.propara.core.submission_warnings import SubmissionWarning

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
    from gym.propara.core.bootstrap import bootstrap

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
