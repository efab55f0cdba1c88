"""Runs of agent tests compared with the first of them: case by case, by name, and check by check. Where two scored the
same answers, their iterations are pairs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar

from lmgym.agents.pass_rates import Comparison, compare, compare_paired, corrected, evidence

R = TypeVar("R")
C = TypeVar("C")
"""A case of a run. Used: `passed`, `made` (iterations with a verdict), `errors` (those without), `early_stop`, `text`.
No protocol as its bound: inside import cycles mypy finds that Django models do not match one."""

CheckKey: TypeAlias = tuple[str, int, int, str, int]
"""Case, connection, interaction, place, element (-1: the only one)."""
Verdicts: TypeAlias = Mapping[CheckKey, Mapping[int, bool]]
"""By check, whether the iterations of these numbers passed it."""


@dataclass(frozen=True)
class RunOutcomes(Generic[R, C]):
    """One run. `answers`: equal in runs that scored the same answers. `iterations`: by case, whether the iterations of
    these numbers passed, those with a verdict; needed where answers are equal. `verdicts`: of checks, where they are
    to be compared."""

    run: R
    name: str
    answers: Hashable
    early_stop: bool
    cases: Mapping[str, C]
    iterations: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    verdicts: Verdicts = field(default_factory=dict)


MAX_CHECKS = 2_000


@dataclass
class CaseRow(Generic[C]):
    """One case in two runs; None in a run that has no case of this name."""

    name: str
    first: C | None
    second: C | None
    comparison: Comparison | None
    same_text: bool

    @property
    def counts(self) -> list[str]:
        sides: list[Any] = [self.first, self.second]
        return [
            evidence(side.passed, side.made, 1.0, errors=side.errors).count if side else "" for side in sides
        ]


@dataclass
class CaseBeside(Generic[C]):
    """One case in all runs: what the first made of it, and its row in each pair."""

    name: str
    first: C | None
    first_count: str
    rows: list[CaseRow[C] | None]


@dataclass
class CheckRow:
    """One check in two runs. `connection` and `interaction` count from 0."""

    case: str
    connection: int
    interaction: int
    where: str
    element: int | None
    comparison: Comparison

    @property
    def key(self) -> CheckKey:
        return check_key(self.case, self.connection, self.interaction, self.where, self.element)


@dataclass
class Pair(Generic[R, C]):
    """A run compared with the first. `total`: all iterations of the cases with a verdict in both. `checks`: those that
    both runs made, the first MAX_CHECKS, those that differ most first."""

    run: R
    name: str
    cases: list[CaseRow[C]]
    total: Comparison
    checks: list[CheckRow]


@dataclass(frozen=True)
class Compared(Generic[R, C]):
    """p_holm is corrected for all rows of all pairs: cases, checks and totals each among themselves."""

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
        """Which tests gave p, or why there is none, with the names of the runs."""
        found: dict[str, list[str]] = {}
        for pair in self.pairs:
            found.setdefault(pair.total.test, []).append(pair.name)
        return {test: ", ".join(names) for test, names in found.items()}

    def cases_beside(self) -> list[CaseBeside[C]]:
        by_name = [{row.name: row for row in pair.cases} for pair in self.pairs]
        found = []
        for name in sorted(set().union(*by_name)):
            rows = [rows.get(name) for rows in by_name]
            first = next((row for row in rows if row and row.first), None)
            found.append(
                CaseBeside(name, first.first if first else None, first.counts[0] if first else "", rows)
            )
        return found

    def checks_beside(self) -> list[tuple[CheckRow, list[CheckRow | None]]]:
        """By check: the first row that has it, and its row in each pair. Those that differ most come first."""
        by_key = [{row.key: row for row in pair.checks} for pair in self.pairs]
        keys = dict.fromkeys(key for rows in by_key for key in rows)
        found = [[rows.get(key) for rows in by_key] for key in keys]
        beside = [(next(row for row in rows if row), rows) for rows in found]
        return sorted(beside, key=lambda one: -max(_size(row) for row in one[1] if row))

    def cases_table(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a CSV file: a row for each case and pair."""
        sides = [
            f"{what}_{side}" for side in ("baseline", "run") for what in ("passed", "iterations", "errors")
        ]
        header = ["case", "baseline", "run", *sides, *DIFFERENCES, "same_text"]
        rows = []
        for pair in self.pairs:
            for row in pair.cases:
                counts = [_counts(side) for side in (row.first, row.second)]
                different = _differences(row.comparison)
                rows.append(
                    [row.name, self.name, pair.name, *counts[0], *counts[1], *different, row.same_text]
                )
        return header, rows

    def checks_table(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a CSV file: a row for each check and pair."""
        sides = [f"{what}_{side}" for side in ("baseline", "run") for what in ("passed", "iterations")]
        header = [
            "case",
            "connection",
            "interaction",
            "check",
            "element",
            "baseline",
            "run",
            *sides,
            *DIFFERENCES,
        ]
        return header, [
            [
                row.case, row.connection + 1, row.interaction + 1, row.where,
                None if row.element is None else row.element + 1, self.name, pair.name,
                *row.comparison.first, *row.comparison.second, *_differences(row.comparison),
            ]
            for pair in self.pairs
            for row in pair.checks
        ]  # fmt: skip


DIFFERENCES = ["difference", "ci_low_95", "ci_high_95", "p", "p_holm", "test"]


def compare_runs(first: RunOutcomes[R, C], others: Sequence[RunOutcomes[R, C]]) -> Compared[R, C]:
    """Each of the others with the first; p corrected by Holm."""
    pairs = [
        Pair(other.run, other.name, *_by_case(first, other), _by_check(first, other)) for other in others
    ]
    for pair, total in zip(pairs, corrected([pair.total for pair in pairs]), strict=True):
        pair.total = total or pair.total
    cases = [row for pair in pairs for row in pair.cases]
    for case, found in zip(cases, corrected([row.comparison for row in cases]), strict=True):
        case.comparison = found
    checks = [row for pair in pairs for row in pair.checks]
    for check, found in zip(checks, corrected([row.comparison for row in checks]), strict=True):
        check.comparison = found or check.comparison
    for pair in pairs:
        pair.checks = sorted(pair.checks, key=lambda row: -_size(row))[:MAX_CHECKS]
    return Compared(first.run, first.name, pairs)


def numbered(names: Sequence[str]) -> list[str]:
    """With a number behind those that are alike."""
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _size(row: CheckRow) -> float:
    return abs(row.comparison.difference or 0.0)


def _counts(side: Any) -> tuple[int, int, int] | tuple[None, None, None]:
    return (side.passed, side.made, side.errors) if side else (None, None, None)


def _differences(found: Comparison | None) -> list[Any]:
    if found is None:
        return [None] * len(DIFFERENCES)
    limits = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return [found.difference, *limits, found.p, found.p_holm, found.test]


# --- two runs, case by case ---


def _by_case(first: RunOutcomes[R, C], second: RunOutcomes[R, C]) -> tuple[list[CaseRow[C]], Comparison]:
    """All cases by name, and all iterations of those with a verdict in both."""
    pairs = _pairs(first, second) if first.answers == second.answers else None
    names = sorted({*first.cases, *second.cases})
    rows = [_case_row(name, first.cases.get(name), second.cases.get(name), pairs) for name in names]
    early_stop = first.early_stop or second.early_stop
    both = [found for row in rows if (found := row.comparison) and found.difference is not None]
    if pairs is not None:
        every = [pair for found in pairs.values() for pair in found]
        total = compare_paired(every, early_stop=early_stop)
    else:
        ones, twos = _summed([row.first for row in both]), _summed([row.second for row in both])
        total = compare(ones, twos, early_stop=early_stop)
    return rows, replace(total, errors=_summed([row.errors for row in both]))


def _case_row(
    name: str, one: Any, two: Any, pairs: Mapping[str, list[tuple[bool, bool]]] | None
) -> CaseRow[Any]:
    if one is None or two is None:
        return CaseRow(name, one, two, None, same_text=False)
    early_stop = one.early_stop or two.early_stop
    if pairs is not None:
        found = compare_paired(pairs.get(name, []), early_stop=early_stop)
    else:
        found = compare((one.passed, one.made), (two.passed, two.made), early_stop=early_stop)
    found = replace(found, errors=(one.errors, two.errors))
    return CaseRow(name, one, two, found, one.text == two.text)


def _summed(pairs: list[tuple[int, int]]) -> tuple[int, int]:
    return sum(one for one, _ in pairs), sum(two for _, two in pairs)


def _pairs(first: RunOutcomes[R, C], second: RunOutcomes[R, C]) -> dict[str, list[tuple[bool, bool]]]:
    """By case: whether each iteration passed in the first and in the second scoring of its answers. Those without a
    verdict in one of them are no pairs."""
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    for name in sorted(first.iterations.keys() & second.iterations.keys()):
        ours, theirs = first.iterations[name], second.iterations[name]
        if numbers := sorted(ours.keys() & theirs.keys()):
            pairs[name] = [(ours[number], theirs[number]) for number in numbers]
    return pairs


# --- two runs, check by check ---


def _by_check(first: RunOutcomes[R, C], second: RunOutcomes[R, C]) -> list[CheckRow]:
    """The checks that both made. Checks without a verdict are in no rate."""
    paired = first.answers == second.answers
    early_stop = first.early_stop or second.early_stop
    rows = []
    for key in sorted(first.verdicts.keys() & second.verdicts.keys()):
        one, two = first.verdicts[key], second.verdicts[key]
        if paired:
            pairs = [(one[number], two[number]) for number in sorted(one.keys() & two.keys())]
            found = compare_paired(pairs, early_stop=early_stop)
        else:
            found = compare(
                (sum(one.values()), len(one)), (sum(two.values()), len(two)), early_stop=early_stop
            )
        case, connection, interaction, where, element = key
        rows.append(CheckRow(case, connection, interaction, where, None if element < 0 else element, found))
    return rows


def check_key(case: str, connection: int, interaction: int, where: str, element: int | None) -> CheckKey:
    return case, connection, interaction, where, -1 if element is None else element
