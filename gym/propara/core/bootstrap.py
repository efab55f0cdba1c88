"""How sure a score is: bootstrap over processes (Efron 1979), and paired for two systems. Pure, numpy.

Each resample draws as many processes as there are, with replacement. Averages are rounded to three decimals within each
resample, as the reference rounds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gym.lib.stats import multinomial_sums, percentile_interval
from gym.propara.core.scoring import QUESTIONS, QuestionScore, Scores, averages_of

if TYPE_CHECKING:
    from gym.propara.core.report import Report

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Intervals:
    """95 % percentile intervals."""

    resamples: int
    n: int
    precision: tuple[float, float]
    recall: tuple[float, float]
    f1: tuple[float, float]
    questions: dict[str, dict[str, tuple[float, float]]]

    def as_dict(self) -> dict[str, Any]:
        return {
            "confidence": 0.95,
            "resamples": self.resamples,
            "processes": self.n,
            "precision": list(self.precision),
            "recall": list(self.recall),
            "f1": list(self.f1),
            "questions": {
                name: {key: list(pair) for key, pair in one.items()} for name, one in self.questions.items()
            },
        }


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same processes; differences are first minus second."""

    n: int
    difference: float
    low: float
    high: float
    p_value: float
    wins: int
    losses: int
    ties: int
    by_process: dict[int, float]

    def as_dict(self) -> dict[str, Any]:
        return {
            "processes": self.n,
            "f1_difference": self.difference,
            "interval": [self.low, self.high],
            "p_value": self.p_value,
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "by_process": self.by_process,
        }


def matrix(report: Report) -> Floats:
    """Processes by (precision, recall) of the four questions."""
    if report.errors:
        raise ValueError(f"Process {next(iter(report.errors))} has no score.")
    return matrix_of(one.scores for one in report.processes if one.scores)


def matrix_of(processes: Iterable[Mapping[str, Sequence[float]]]) -> Floats:
    """As `matrix`, of scores by question."""
    rows = [[value for name in QUESTIONS for value in scores[name]] for scores in processes]
    return np.array(rows, dtype=np.float64)


def bootstrap(report: Report, resamples: int = 10_000) -> Intervals:
    return intervals(matrix(report), resamples)


def intervals(values: Floats, resamples: int) -> Intervals:
    """As `bootstrap`, from what `matrix` makes of a report."""
    averages = _resampled(values, resamples, np.random.default_rng(0))
    precision, recall, f1 = _overall(averages)
    questions: dict[str, dict[str, tuple[float, float]]] = {}
    for k, name in enumerate(QUESTIONS):
        p, r = averages[:, 2 * k], averages[:, 2 * k + 1]
        questions[name] = {
            "precision": _interval(p),
            "recall": _interval(r),
            "f1": _interval(_harmonic(p, r)),
        }
    bounds = (_interval(precision), _interval(recall), _interval(f1))
    return Intervals(resamples, len(values), *bounds, questions)


def compare(first: Report, second: Report, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Paired: both systems are resampled with the same processes. The p value is two-sided, from the resamples."""
    ids = [process.process_id for process in first.processes]
    if ids != [process.process_id for process in second.processes]:
        raise ValueError("The two reports are not about the same processes.")
    return compare_matrices(ids, matrix(first), matrix(second), resamples, seed)


def compare_matrices(
    ids: list[int], first: Floats, second: Floats, resamples: int = 10_000, seed: int = 0
) -> Comparison:
    """As `compare`, from what `matrix` makes of two reports."""
    n = len(ids)
    values = np.hstack([first, second])
    averages = _resampled(values, resamples, np.random.default_rng(seed))
    differences = _overall(averages[:, :8])[2] - _overall(averages[:, 8:])[2]
    low, high = _interval(differences)
    tail = min(float((differences <= 0).mean()), float((differences >= 0).mean()))
    each = _overall(first)[2] - _overall(second)[2]
    wins, losses = int((each > 1e-9).sum()), int((each < -1e-9).sum())
    return Comparison(
        n,
        _f1(first) - _f1(second),
        low,
        high,
        min(1.0, 2 * max(tail, 1 / (resamples + 1))),
        wins,
        losses,
        n - wins - losses,
        dict(zip(ids, each.tolist(), strict=True)),
    )


def _f1(values: Floats) -> float:
    """As the reference computes it: sums from left to right, averages rounded to three decimals."""
    return averages_of(_scores(row) for row in values.tolist()).f1


def _scores(row: list[float]) -> Scores:
    return {name: QuestionScore(*row[2 * k : 2 * k + 2]) for k, name in enumerate(QUESTIONS)}


def _resampled(values: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Averages over the processes of each resample."""
    return np.round(multinomial_sums(values, resamples, rng) / len(values), 3)


def _overall(averages: Floats) -> tuple[Floats, Floats, Floats]:
    precision = averages[:, 0:8:2].mean(axis=1)
    recall = averages[:, 1:8:2].mean(axis=1)
    return precision, recall, _harmonic(precision, recall)


def _harmonic(precision: Floats, recall: Floats) -> Floats:
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)


def _interval(values: Floats) -> tuple[float, float]:
    found = percentile_interval(values)
    return found.low, found.high
