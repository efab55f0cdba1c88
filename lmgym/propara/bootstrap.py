"""Bootstrap over processes (Efron 1979): intervals of scores, and paired differences between systems.

Each resample draws n of the n processes with replacement; compared systems share the drawn processes. Averages are
rounded to three decimals within each resample, as in the reference. The seed is fixed, so the same files always give
the same intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.propara.report import Report
from lmgym.propara.scoring import QUESTIONS, Averages, QuestionScore, Scores, averages_of
from lmgym.stats import (
    BOOTSTRAP,
    Comparison,
    corrected,
    multinomial_sums,
    percentile_interval,
    two_sided_p,
)
from lmgym.text.columns import described, record

Floats = NDArray[np.float64]
EQUAL = 1e-9
"""Maximum difference between two F1 values of a process that count as equal."""


@dataclass(frozen=True)
class Bounds:
    """A 95% percentile interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Intervals:
    """Intervals of a system's scores over `n` processes. `questions` is keyed by question and score."""

    resamples: int
    n: int
    precision: Bounds
    recall: Bounds
    f1: Bounds
    questions: dict[str, dict[str, Bounds]]

    def as_dict(self) -> dict[str, Any]:
        return {"confidence": 0.95, **asdict(self)}


@dataclass(frozen=True)
class Question:
    """A question on which two systems are compared."""

    question: str = described("overall, inputs, outputs, conversions or moves")


@dataclass(frozen=True)
class SystemComparison:
    """F1 of a system (second) compared with the baseline (first). Differences are second − first.

    `overall.only_first` and `overall.only_second` count the processes on which the baseline or the system is better.
    `differences` contains the difference in F1 of each process.
    """

    overall: Comparison
    questions: dict[str, Comparison]
    differences: dict[int, float]

    @property
    def n(self) -> int:
        return len(self.differences)

    @property
    def n_equal(self) -> int:
        return self.n - (self.overall.only_first or 0) - (self.overall.only_second or 0)

    @property
    def rows(self) -> list[tuple[Question, Comparison]]:
        """Rows of the difference table: overall first, then by question."""
        return [
            (Question("overall"), self.overall),
            *((Question(name), row) for name, row in self.questions.items()),
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return `rows` as JSON objects."""
        return [record(*row) for row in self.rows]


def matrix(report: Report) -> Floats:
    """Return float64[processes, 8]: precision and recall of each question. Raises ValueError if a score is missing."""
    if report.errors:
        raise ValueError(f"Process {next(iter(report.errors))} has no score.")
    return matrix_of(process.scores for process in report.processes if process.scores)


def matrix_of(processes: Iterable[Mapping[str, Sequence[float]]]) -> Floats:
    """Build the array of `matrix` from each process's (precision, recall) by question."""
    rows = [[value for name in QUESTIONS for value in scores[name]] for scores in processes]
    return np.array(rows, dtype=np.float64)


def bootstrap(report: Report, resamples: int = 10_000) -> Intervals:
    """Compute the intervals of a report's scores. Raises ValueError if a process has no score."""
    return intervals(matrix(report), resamples)


def intervals(values: Floats, resamples: int) -> Intervals:
    """Compute intervals from an array as returned by `matrix`."""
    averages = _resampled(values, resamples, np.random.default_rng(0))
    precision, recall, f1 = _overall(averages)
    questions: dict[str, dict[str, Bounds]] = {}
    for k, name in enumerate(QUESTIONS):
        p, r = averages[:, 2 * k], averages[:, 2 * k + 1]
        questions[name] = {
            "precision": _bounds(p),
            "recall": _bounds(r),
            "f1": _bounds(_harmonic(p, r)),
        }
    return Intervals(resamples, len(values), _bounds(precision), _bounds(recall), _bounds(f1), questions)


def compare(
    *reports: Report, names: Sequence[str] = (), resamples: int = 10_000, seed: int = 0
) -> tuple[SystemComparison, ...]:
    """Compare the F1 of each report with the F1 of the first report, paired by process.

    Args:
        reports: two or more, on the same processes in the same order.
        names: names of the systems, in the order of the reports; default: "1", "2", …

    Returns:
        A comparison for each report except the first. `p_corrected` is Holm-corrected over all systems for overall
        differences, and over all systems and questions for differences by question. Few processes give no small p
        (`lmgym.stats.two_sided_p`), and a single one no interval.

    Raises:
        ValueError: the reports have different processes, or a process has no score.
    """
    ids = [process.process_id for process in reports[0].processes]
    if any(ids != [process.process_id for process in other.processes] for other in reports[1:]):
        raise ValueError("The reports have different processes.")
    labels = names or [str(number) for number in range(1, len(reports) + 1)]
    return compare_matrices(ids, labels, *map(matrix, reports), resamples=resamples, seed=seed)


def compare_matrices(
    ids: Sequence[int], names: Sequence[str], *matrices: Floats, resamples: int = 10_000, seed: int = 0
) -> tuple[SystemComparison, ...]:
    """Compare systems as `compare` does, from their arrays (see `matrix`)."""
    first, *others = zip(names, matrices, strict=True)
    comparisons = [_compared(ids, first, other, resamples, seed) for other in others]
    overall = corrected([comparison.overall for comparison in comparisons])
    questions = iter(corrected([row for comparison in comparisons for row in comparison.questions.values()]))
    return tuple(
        replace(comparison, overall=row, questions={name: next(questions) for name in QUESTIONS})
        for comparison, row in zip(comparisons, overall, strict=True)
    )


def _compared(
    ids: Sequence[int], first: tuple[str, Floats], second: tuple[str, Floats], resamples: int, seed: int
) -> SystemComparison:
    values = first[1], second[1]
    averages = _resampled(np.hstack(values), resamples, np.random.default_rng(seed))
    before, after = averages[:, :8], averages[:, 8:]
    scores = [_averages(matrix) for matrix in values]
    each = _overall(values[1])[2] - _overall(values[0])[2]

    def row(f1: tuple[float, float], resampled: Floats, **counts: int) -> Comparison:
        interval = percentile_interval(resampled) if len(ids) > 1 else None
        return Comparison(
            first=first[0],
            second=second[0],
            measure="f1",
            n=len(ids),
            first_value=f1[0],
            second_value=f1[1],
            difference=f1[1] - f1[0],
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            only_first=counts.get("only_first"),
            only_second=counts.get("only_second"),
            test=BOOTSTRAP.key,
            p=two_sided_p(resampled, len(ids)),
        )

    return SystemComparison(
        row(
            (scores[0].f1, scores[1].f1),
            _overall(after)[2] - _overall(before)[2],
            only_first=int((each < -EQUAL).sum()),
            only_second=int((each > EQUAL).sum()),
        ),
        {
            name: row(
                (scores[0].questions[name].f1, scores[1].questions[name].f1),
                _harmonic(after[:, 2 * k], after[:, 2 * k + 1])
                - _harmonic(before[:, 2 * k], before[:, 2 * k + 1]),
            )
            for k, name in enumerate(QUESTIONS)
        },
        dict(zip(ids, each.tolist(), strict=True)),
    )


def _averages(values: Floats) -> Averages:
    """Average as in the reference: sum from left to right, then round to three decimals."""
    return averages_of(_scores(row) for row in values.tolist())


def _scores(row: list[float]) -> Scores:
    return {name: QuestionScore(*row[2 * k : 2 * k + 2]) for k, name in enumerate(QUESTIONS)}


def _resampled(values: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Return float64[resamples, columns], the average over processes in each resample."""
    return np.round(multinomial_sums(values, resamples, rng) / len(values), 3)


def _overall(averages: Floats) -> tuple[Floats, Floats, Floats]:
    precision = averages[:, 0:8:2].mean(axis=1)
    recall = averages[:, 1:8:2].mean(axis=1)
    return precision, recall, _harmonic(precision, recall)


def _harmonic(precision: Floats, recall: Floats) -> Floats:
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)


def _bounds(values: Floats) -> Bounds:
    interval = percentile_interval(values)
    return Bounds(interval.low, interval.high)
