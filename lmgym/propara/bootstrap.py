"""How sure a score is: bootstrap over processes (Efron 1979), and paired for two systems. Pure, numpy.

Each resample draws as many processes as there are, with replacement. Averages are rounded to three decimals within each
resample, as the reference rounds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lmgym.propara.scoring import QUESTIONS, Averages, QuestionScore, Scores, averages_of
from lmgym.stats import holm, multinomial_sums, percentile_interval

if TYPE_CHECKING:
    from lmgym.propara.report import Report

Floats = NDArray[np.float64]
EQUAL = 1e-9
"""F1 of a process that differs by less is equal."""


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
class Difference:
    """Of F1, second less first: 95 % interval and two-sided p from paired resamples; `p_holm` is corrected for all
    differences of its kind that stand together."""

    value: float
    low: float
    high: float
    p_value: float
    p_holm: float

    @property
    def is_apart(self) -> bool:
        """Does the interval exclude 0?"""
        return self.low > 0 or self.high < 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "difference": self.value,
            "interval": [self.low, self.high],
            "p_value": self.p_value,
            "p_holm": self.p_holm,
        }


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same processes; differences are second less first. `better`: processes on which the second
    has the higher F1."""

    n: int
    overall: Difference
    questions: dict[str, Difference]
    better: int
    worse: int
    equal: int
    by_process: dict[int, float]

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.overall.as_dict(),
            "better": self.better,
            "worse": self.worse,
            "equal": self.equal,
            "questions": {name: one.as_dict() for name, one in self.questions.items()},
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


def compare(first: Report, *others: Report, resamples: int = 10_000, seed: int = 0) -> tuple[Comparison, ...]:
    """Each of the others against the first. All are resampled with the same processes."""
    ids = [process.process_id for process in first.processes]
    if any(ids != [process.process_id for process in other.processes] for other in others):
        raise ValueError("The reports are not about the same processes.")
    return compare_matrices(ids, matrix(first), *map(matrix, others), resamples=resamples, seed=seed)


def compare_matrices(
    ids: list[int], first: Floats, *others: Floats, resamples: int = 10_000, seed: int = 0
) -> tuple[Comparison, ...]:
    """As `compare`, from what `matrix` makes of reports."""
    found = [_compared(ids, first, other, resamples, seed) for other in others]
    overall = holm([one.overall.p_value for one in found])
    by_question = iter(holm([one.questions[name].p_value for one in found for name in QUESTIONS]))
    return tuple(
        replace(
            one,
            overall=replace(one.overall, p_holm=p),
            questions={name: replace(one.questions[name], p_holm=next(by_question)) for name in QUESTIONS},
        )
        for one, p in zip(found, overall, strict=True)
    )


def _compared(ids: list[int], first: Floats, second: Floats, resamples: int, seed: int) -> Comparison:
    averages = _resampled(np.hstack([first, second]), resamples, np.random.default_rng(seed))
    before, after = averages[:, :8], averages[:, 8:]
    scores = [_averages(values) for values in (first, second)]
    questions = {
        name: _difference(
            scores[1].questions[name].f1 - scores[0].questions[name].f1,
            _harmonic(after[:, 2 * k], after[:, 2 * k + 1])
            - _harmonic(before[:, 2 * k], before[:, 2 * k + 1]),
        )
        for k, name in enumerate(QUESTIONS)
    }
    each = _overall(second)[2] - _overall(first)[2]
    better, worse = int((each > EQUAL).sum()), int((each < -EQUAL).sum())
    return Comparison(
        len(ids),
        _difference(scores[1].f1 - scores[0].f1, _overall(after)[2] - _overall(before)[2]),
        questions,
        better,
        worse,
        len(ids) - better - worse,
        dict(zip(ids, each.tolist(), strict=True)),
    )


def _difference(value: float, resampled: Floats) -> Difference:
    """p is not corrected yet."""
    low, high = _interval(resampled)
    tail = min(float((resampled <= 0).mean()), float((resampled >= 0).mean()))
    p = min(1.0, 2 * max(tail, 1 / (len(resampled) + 1)))
    return Difference(value, low, high, p, p)


def _averages(values: Floats) -> Averages:
    """As the reference computes it: sums from left to right, averages rounded to three decimals."""
    return averages_of(_scores(row) for row in values.tolist())


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
