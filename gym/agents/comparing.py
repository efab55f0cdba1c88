"""Runs of agent tests compared with the first of them: case by case, by name, and check by check. Where two scored the
same answers, their iterations are pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils import timezone

from gym.agents.models import AgentRun, CaseIteration, CaseRun
from gym.agents.selectors import evidence_of
from lmgym.agents.checks import VERDICTS
from lmgym.agents.pass_rates import Comparison, compare, compare_paired, corrected

MOST_COMPARED = 5
MAX_CHECKS = 2_000


@dataclass
class CaseRow:
    """One case in two runs; None in a run that has no case of this name."""

    name: str
    first: CaseRun | None
    second: CaseRun | None
    comparison: Comparison | None
    same_text: bool

    @property
    def counts(self) -> list[str]:
        return [evidence_of(side).count if side else "" for side in (self.first, self.second)]


@dataclass
class CaseBeside:
    """One case in all runs: what the first made of it, and its row in each pair."""

    name: str
    first: CaseRun | None
    first_count: str
    rows: list[CaseRow | None]


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
        return _check_key(self.case, self.connection, self.interaction, self.where, self.element)


CheckKey = tuple[str, int, int, str, int]
"""Case, connection, interaction, place, element (-1: the only one)."""


@dataclass
class Pair:
    """A run compared with the first. `total`: all iterations of the cases with a verdict in both. `checks`: those that
    both runs made, the first MAX_CHECKS, those that differ most first."""

    run: AgentRun
    name: str
    cases: list[CaseRow]
    total: Comparison
    checks: list[CheckRow]


@dataclass(frozen=True)
class Compared:
    """p_holm is corrected for all rows of all pairs: cases, checks and totals each among themselves."""

    first: AgentRun
    name: str
    pairs: list[Pair]

    @property
    def runs(self) -> list[AgentRun]:
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

    def cases_beside(self) -> list[CaseBeside]:
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


def compare_runs(first: AgentRun, *others: AgentRun, by_check: bool = False) -> Compared:
    """Each of the others with the first. Without `by_check` no transcript is read, and `checks` are empty."""
    name, *names = names_apart([first, *others])
    pairs = [Pair(run, name, *_by_case(first, run), []) for run, name in zip(others, names, strict=True)]
    if by_check:
        verdicts = _verdicts_of(first)
        for pair in pairs:
            pair.checks = _by_check(first, verdicts, pair.run)
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
    return Compared(first, name, pairs)


def names_apart(runs: Sequence[AgentRun]) -> list[str]:
    """What to call them: by their servers, else their versions, else when they were made. Where no one of these tells
    all apart: by the server, if there are several, and the time to the second; those of one second get a number."""
    servers = [run.server.model.label for run in runs]
    times = [timezone.localtime(run.created) for run in runs]
    tellings = [
        servers,
        [run.server_version for run in runs],
        [f"{time:%d %b, %H:%M}" for time in times],
        [
            (f"{server}, " if len(set(servers)) > 1 else "") + f"{time:%d %b, %H:%M:%S}"
            for server, time in zip(servers, times, strict=True)
        ],
    ]
    for names in tellings:
        if all(names) and len(set(names)) == len(names):
            return names
    return numbered(names)


def numbered(names: Sequence[str]) -> list[str]:
    """With a number behind those that are alike."""
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _size(row: CheckRow) -> float:
    return abs(row.comparison.difference or 0.0)


def _counts(side: CaseRun | None) -> tuple[int, int, int] | tuple[None, None, None]:
    return (side.passed, side.made, side.errors) if side else (None, None, None)


def _differences(found: Comparison | None) -> list[Any]:
    if found is None:
        return [None] * len(DIFFERENCES)
    limits = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return [found.difference, *limits, found.p, found.p_holm, found.test]


# --- two runs, case by case ---


def _by_case(first: AgentRun, second: AgentRun) -> tuple[list[CaseRow], Comparison]:
    """All cases by name, and all iterations of those with a verdict in both."""
    ours = {row.name: row for row in first.case_runs.select_related("run")}
    theirs = {row.name: row for row in second.case_runs.select_related("run")}
    pairs = _pairs(first, second) if _answers_of(first) == _answers_of(second) else None
    rows = [_case_row(name, ours.get(name), theirs.get(name), pairs) for name in sorted({*ours, *theirs})]
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
    name: str, one: CaseRun | None, two: CaseRun | None, pairs: Mapping[str, list[tuple[bool, bool]]] | None
) -> CaseRow:
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


def _answers_of(run: AgentRun) -> int:
    """The run that asked for the answers that this one scores."""
    while run.rescored_from is not None:
        run = run.rescored_from
    return run.pk


def _pairs(first: AgentRun, second: AgentRun) -> dict[str, list[tuple[bool, bool]]]:
    """By case: whether each iteration passed in the first and in the second scoring of its answers. Those without a
    verdict in one of them are no pairs."""
    found: list[dict[tuple[str, int], bool]] = []
    for run in (first, second):
        made = CaseIteration.objects.filter(case_run__run=run, outcome__in=VERDICTS)
        rows = made.values_list("case_run__name", "number", "outcome")
        found.append({(name, number): outcome == "pass" for name, number, outcome in rows})
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    for name, number in sorted(found[0].keys() & found[1].keys()):
        pairs.setdefault(name, []).append((found[0][name, number], found[1][name, number]))
    return pairs


# --- two runs, check by check ---

Verdicts = dict[CheckKey, dict[int, bool]]


def _by_check(first: AgentRun, ours: Verdicts, second: AgentRun) -> list[CheckRow]:
    """The checks that both made. Checks without a verdict are in no rate."""
    paired = _answers_of(first) == _answers_of(second)
    early_stop = first.early_stop or second.early_stop
    theirs = _verdicts_of(second)
    rows = []
    for key in sorted(ours.keys() & theirs.keys()):
        one, two = ours[key], theirs[key]
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


def _check_key(case: str, connection: int, interaction: int, where: str, element: int | None) -> CheckKey:
    return case, connection, interaction, where, -1 if element is None else element


def _verdicts_of(run: AgentRun) -> Verdicts:
    """By check, which iterations passed it. Transcripts stay in the database."""
    found: Verdicts = {}
    made = CaseIteration.objects.filter(case_run__run=run)
    for case, number, checks in made.values_list("case_run__name", "number", "data__checks").iterator():
        for check in checks or ():
            if check["outcome"] in VERDICTS:
                places = (check["connection"], check["interaction"], check["where"], check["element"])
                found.setdefault(_check_key(case, *places), {})[number] = check["outcome"] == "pass"
    return found
