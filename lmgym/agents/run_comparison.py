"""Compare runs of agent tests with a baseline, by case (matched by name) and by check.

Runs that scored the same answers are compared by pairs of iterations (McNemar's exact test), other runs as independent
samples (Fisher's exact test). Iterations without a verdict are excluded from rates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from lmgym.agents.pass_rates import evidence
from lmgym.stats import mcnemar_p
from lmgym.stats.comparison import FISHER, MCNEMAR, TESTS, Comparison, corrected
from lmgym.stats.intervals import rate_difference, wilson
from lmgym.text.columns import Row, described, table

R = TypeVar("R")
C = TypeVar("C")
"""A case of a run, with `passed`, `n` (iterations with a verdict), `errors` (iterations without), `outcome`,
`early_stop` and `text`. Not bound by a protocol, because mypy rejects Django models for it inside import cycles."""

CheckKey: TypeAlias = tuple[str, int, int, str, int]
"""Case, connection, interaction, path, element (-1: not in a list)."""
Verdicts: TypeAlias = Mapping[CheckKey, Mapping[int, bool]]
"""By check: {number of the iteration: True if it passed}."""
MAX_CHECKS = 2_000
EARLY_STOP = "no p: with early stopping the number of iterations is not fixed"
NO_VERDICT = "no p: at least one run has no iteration with a verdict"
ONE_RUN = "only one of the runs has this case"


@dataclass(frozen=True)
class RateComparison(Comparison):
    """Pass rates of two runs. Counts are None for a run without the case."""

    first_passed: int | None = described(
        "iterations of the first run that passed", "iterations", default=None
    )
    first_n: int | None = described("iterations of the first run with a verdict", "iterations", default=None)
    first_errors: int | None = described(
        "iterations of the first run without a verdict", "iterations", default=None
    )
    second_passed: int | None = described(
        "iterations of the second run that passed", "iterations", default=None
    )
    second_n: int | None = described(
        "iterations of the second run with a verdict", "iterations", default=None
    )
    second_errors: int | None = described(
        "iterations of the second run without a verdict", "iterations", default=None
    )

    @property
    def first_count(self) -> str:
        """passed/n and errors of the first run; empty without counts."""
        return _count(self.first_passed, self.first_n, self.first_errors)

    @property
    def second_count(self) -> str:
        return _count(self.second_passed, self.second_n, self.second_errors)

    @property
    def explanation(self) -> str:
        """Name of the test that gives p, or why there is no p."""
        return self.note or TESTS[self.test].label


def _count(passed: int | None, n: int | None, errors: int | None) -> str:
    if passed is None or n is None:
        return ""
    return evidence(passed, n, 1.0, errors=errors or 0).count


@dataclass(frozen=True)
class ComparedCase:
    """A case compared between two runs."""

    case: str = described("name of the case")
    same_text: bool = described("whether both runs used the same text of the case")
    first_outcome: str | None = described("outcome in the first run; empty: the run has no such case")
    second_outcome: str | None = described("outcome in the second run; empty: the run has no such case")


@dataclass(frozen=True)
class ComparedCheck:
    """A check made by both runs."""

    case: str = described("name of the case")
    connection: int = described("index of the connection in the case, from 0")
    interaction: int = described("index of the interaction in the case, from 0")
    where: str = described("path of the check in the interaction")
    element: int | None = described("index in a list of expectations, from 0; empty: no list")


@dataclass(frozen=True)
class RunOutcomes(Generic[R, C]):
    """Outcomes of one run. `answers`: key shared by runs that scored the same answers. `iterations`: by case, {number
    of an iteration with a verdict: True if it passed}; needed if `answers` are equal. `verdicts`: verdicts of checks,
    if checks are compared."""

    run: R
    name: str
    answers: Hashable
    early_stop: bool
    cases: Mapping[str, C]
    iterations: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    verdicts: Verdicts = field(default_factory=dict)


@dataclass
class CaseRow(Generic[C]):
    """One case in two runs. `first` or `second` is None if that run has no case with this name."""

    facts: ComparedCase
    first: C | None
    second: C | None
    comparison: RateComparison

    @property
    def name(self) -> str:
        return self.facts.case


@dataclass
class CaseInRuns(Generic[C]):
    """One case in all runs: the baseline's case, and its row in each pair."""

    name: str
    first: C | None
    first_count: str
    rows: list[CaseRow[C] | None]


@dataclass
class CheckRow:
    facts: ComparedCheck
    comparison: RateComparison


@dataclass
class Pair(Generic[R, C]):
    """A run compared with the baseline.

    `total`: all iterations of the cases with a verdict in both runs. `checks`: at most MAX_CHECKS checks made by both
    runs, largest differences first.
    """

    run: R
    name: str
    cases: list[CaseRow[C]]
    total: RateComparison
    checks: list[CheckRow]


@dataclass(frozen=True)
class Compared(Generic[R, C]):
    """Comparison of all runs. p is corrected over the rows of all pairs, separately for cases, checks and totals."""

    first: R
    name: str
    pairs: list[Pair[R, C]]

    @property
    def runs(self) -> list[R]:
        return [self.first, *(pair.run for pair in self.pairs)]

    @property
    def names(self) -> list[str]:
        return [self.name, *(pair.name for pair in self.pairs)]

    @property
    def tests(self) -> dict[str, str]:
        """Names of the runs by explanation: the test that gave p, or why there is no p."""
        names: dict[str, list[str]] = {}
        for pair in self.pairs:
            names.setdefault(pair.total.explanation, []).append(pair.name)
        return {test: ", ".join(runs) for test, runs in names.items()}

    def by_case(self) -> list[CaseInRuns[C]]:
        by_name = [{row.name: row for row in pair.cases} for pair in self.pairs]
        cases = []
        for name in sorted(set().union(*by_name)):
            rows = [rows.get(name) for rows in by_name]
            baseline = next((row for row in rows if row and row.first), None)
            first = baseline.first if baseline else None
            cases.append(CaseInRuns(name, first, baseline.comparison.first_count if baseline else "", rows))
        return cases

    def by_check(self) -> list[tuple[CheckRow, list[CheckRow | None]]]:
        """Return each check with its first row and its row in each pair (None if the pair lacks the check), largest
        differences first."""
        by_facts = [{row.facts: row for row in pair.checks} for pair in self.pairs]
        checks = dict.fromkeys(facts for rows in by_facts for facts in rows)
        in_pairs = [[rows.get(facts) for rows in by_facts] for facts in checks]
        lines = [(next(row for row in rows if row), rows) for rows in in_pairs]
        return sorted(lines, key=lambda line: -max(_size(row) for row in line[1] if row))

    def cases_table(self) -> tuple[list[str], list[Row]]:
        """Return header and rows, with one row per case and pair."""
        rows = [(row.facts, row.comparison) for pair in self.pairs for row in pair.cases]
        return table((ComparedCase, RateComparison), rows)

    def checks_table(self) -> tuple[list[str], list[Row]]:
        """Return header and rows, with one row per check and pair."""
        rows = [(row.facts, row.comparison) for pair in self.pairs for row in pair.checks]
        return table((ComparedCheck, RateComparison), rows)


def compare_runs(first: RunOutcomes[R, C], others: Sequence[RunOutcomes[R, C]]) -> Compared[R, C]:
    """Compare each of the other runs with the first. p is corrected by Holm's method."""
    pairs = [
        Pair(other.run, other.name, *_by_case(first, other), _by_check(first, other)) for other in others
    ]
    for pair, total in zip(pairs, corrected([pair.total for pair in pairs]), strict=True):
        pair.total = total
    _correct([row for pair in pairs for row in pair.cases])
    _correct([row for pair in pairs for row in pair.checks])
    for pair in pairs:
        pair.checks = sorted(pair.checks, key=lambda row: -_size(row))[:MAX_CHECKS]
    return Compared(first.run, first.name, pairs)


def _correct(rows: Sequence[CaseRow[Any] | CheckRow]) -> None:
    for row, comparison in zip(rows, corrected([row.comparison for row in rows]), strict=True):
        row.comparison = comparison


def numbered(names: Sequence[str]) -> list[str]:
    """Append a number to repeated names."""
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _size(row: CheckRow) -> float:
    return abs(row.comparison.difference or 0.0)


# --- two rates ---


@dataclass(frozen=True)
class Side:
    """Iterations of a run: `passed`, with a verdict (`n`), and without a verdict (`errors`)."""

    name: str
    passed: int
    n: int
    errors: int = 0

    @property
    def rate(self) -> float | None:
        return self.passed / self.n if self.n else None


def _comparison(
    first: Side,
    second: Side,
    *,
    n: int | None = None,
    low: float | None = None,
    high: float | None = None,
    changed: tuple[int | None, int | None] = (None, None),
    test: str = "",
    p: float | None = None,
    note: str = "",
) -> RateComparison:
    rate, other = first.rate, second.rate
    difference = None if rate is None or other is None else other - rate
    return RateComparison(
        first.name, second.name, "rate", n, rate, other, difference, low, high, changed[0], changed[1], test, p,
        note=note,
        first_passed=first.passed, first_n=first.n, first_errors=first.errors,
        second_passed=second.passed, second_n=second.n, second_errors=second.errors,
    )  # fmt: skip


def compare_rates(first: Side, second: Side, *, early_stop: bool = False) -> RateComparison:
    """Compare independent samples: Newcombe's interval (1998, method 10) and Fisher's exact test.

    The test is exact, because normal approximations fail for small n (Bowyer et al. 2025).
    """
    if not first.n or not second.n:
        return _comparison(first, second, note=NO_VERDICT)
    if early_stop:
        return _comparison(first, second, note=EARLY_STOP)
    from scipy.stats import fisher_exact

    counts = [[side.passed, side.n - side.passed] for side in (first, second)]
    limits, others = wilson(first.passed, first.n), wilson(second.passed, second.n)
    assert limits is not None
    assert others is not None
    interval = rate_difference(first.passed / first.n, limits, second.passed / second.n, others)
    p = float(fisher_exact(counts).pvalue)
    return _comparison(first, second, low=interval.low, high=interval.high, test=FISHER.key, p=p)


def compare_pairs(
    names: tuple[str, str],
    pairs: Sequence[tuple[bool, bool]],
    *,
    errors: tuple[int, int] = (0, 0),
    early_stop: bool = False,
) -> RateComparison:
    """Compare two scorings of the same iterations by McNemar's exact test (1947).

    The test uses the iterations that changed: if the scorings do not differ, both directions are equally likely.

    Args:
        names: names of both runs.
        pairs: for each iteration, whether it passed in the first and in the second scoring.
        errors: number of iterations without a verdict in each scoring.
        early_stop: iterations stopped once the ratio was decided, so there is no p.
    """
    n = len(pairs)
    first, second = (
        Side(name, sum(pair[side] for pair in pairs), n, errors[side]) for side, name in enumerate(names)
    )
    changed = (pairs.count((True, False)), pairs.count((False, True)))
    if not n:
        return _comparison(first, second, n=n, changed=changed, note=NO_VERDICT)
    if early_stop:
        return _comparison(first, second, n=n, changed=changed, note=EARLY_STOP)
    return _comparison(first, second, n=n, changed=changed, test=MCNEMAR.key, p=mcnemar_p(*changed))


# --- comparison by case ---


def _by_case(first: RunOutcomes[R, C], second: RunOutcomes[R, C]) -> tuple[list[CaseRow[C]], RateComparison]:
    """Compare cases by name, and all iterations of the cases with a verdict in both runs."""
    pairs = _pairs(first, second) if first.answers == second.answers else None
    rows = [_case_row(name, first, second, pairs) for name in sorted({*first.cases, *second.cases})]
    both = [row.comparison for row in rows if row.comparison.difference is not None]
    errors = (sum(row.first_errors or 0 for row in both), sum(row.second_errors or 0 for row in both))
    early_stop = first.early_stop or second.early_stop
    if pairs is not None:
        every = [pair for of_case in pairs.values() for pair in of_case]
        names = (first.name, second.name)
        return rows, compare_pairs(names, every, errors=errors, early_stop=early_stop)
    ours = Side(first.name, sum(row.first_passed or 0 for row in both), sum(row.first_n or 0 for row in both))
    theirs = Side(
        second.name, sum(row.second_passed or 0 for row in both), sum(row.second_n or 0 for row in both)
    )
    sides = (Side(side.name, side.passed, side.n, n) for side, n in zip((ours, theirs), errors, strict=True))
    return rows, compare_rates(*sides, early_stop=early_stop)


def _case_row(
    name: str,
    first: RunOutcomes[R, C],
    second: RunOutcomes[R, C],
    pairs: Mapping[str, list[tuple[bool, bool]]] | None,
) -> CaseRow[C]:
    first_case: Any = first.cases.get(name)
    second_case: Any = second.cases.get(name)
    facts = ComparedCase(
        name,
        first_case is not None and second_case is not None and first_case.text == second_case.text,
        None if first_case is None else first_case.outcome,
        None if second_case is None else second_case.outcome,
    )
    if first_case is None or second_case is None:
        return CaseRow(
            facts, first_case, second_case, _one_sided(first.name, first_case, second.name, second_case)
        )
    early_stop = first_case.early_stop or second_case.early_stop
    if pairs is not None:
        names, errors = (first.name, second.name), (first_case.errors, second_case.errors)
        comparison = compare_pairs(names, pairs.get(name, []), errors=errors, early_stop=early_stop)
    else:
        sides = (
            Side(run.name, case.passed, case.n, case.errors)
            for run, case in ((first, first_case), (second, second_case))
        )
        comparison = compare_rates(*sides, early_stop=early_stop)
    return CaseRow(facts, first_case, second_case, comparison)


def _one_sided(first: str, first_case: Any, second: str, second_case: Any) -> RateComparison:
    """Return the row of a case that is in only one of the runs."""
    counts = [
        None if case is None else (case.passed, case.n, case.errors) for case in (first_case, second_case)
    ]
    (passed, n, errors), (passes, m, failures) = (count or (None, None, None) for count in counts)
    return RateComparison(
        first, second, "rate", None, passed / n if n else None, passes / m if m else None, None, None, None,
        None, None, "", None, note=ONE_RUN, first_passed=passed, first_n=n, first_errors=errors,
        second_passed=passes, second_n=m, second_errors=failures,
    )  # fmt: skip


def _pairs(first: RunOutcomes[R, C], second: RunOutcomes[R, C]) -> dict[str, list[tuple[bool, bool]]]:
    """Return, by case, whether each iteration passed in the first and in the second scoring of its answers.
    Iterations without a verdict in either scoring are excluded."""
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    for name in sorted(first.iterations.keys() & second.iterations.keys()):
        ours, theirs = first.iterations[name], second.iterations[name]
        if numbers := sorted(ours.keys() & theirs.keys()):
            pairs[name] = [(ours[number], theirs[number]) for number in numbers]
    return pairs


# --- comparison by check ---


def _by_check(first: RunOutcomes[R, C], second: RunOutcomes[R, C]) -> list[CheckRow]:
    """Compare checks made by both runs."""
    paired = first.answers == second.answers
    early_stop = first.early_stop or second.early_stop
    rows = []
    for key in sorted(first.verdicts.keys() & second.verdicts.keys()):
        before, after = first.verdicts[key], second.verdicts[key]
        if paired:
            pairs = [(before[number], after[number]) for number in sorted(before.keys() & after.keys())]
            comparison = compare_pairs((first.name, second.name), pairs, early_stop=early_stop)
        else:
            sides = (
                Side(run.name, sum(made.values()), len(made))
                for run, made in ((first, before), (second, after))
            )
            comparison = compare_rates(*sides, early_stop=early_stop)
        case, connection, interaction, where, element = key
        facts = ComparedCheck(case, connection, interaction, where, None if element < 0 else element)
        rows.append(CheckRow(facts, comparison))
    return rows


def check_key(case: str, connection: int, interaction: int, where: str, element: int | None) -> CheckKey:
    return case, connection, interaction, where, -1 if element is None else element
