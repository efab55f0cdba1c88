"""What pages of runs show, put together from rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from gym.conversations.assessor import Assessment, assess
from gym.conversations.cases import Ratio
from gym.conversations.figures import Comparison, Evidence, compare, evidence, pass_at_k, pass_hat_k
from gym.conversations.models import AgentRun, CaseRun
from gym.conversations.results import CaseResult, CheckResult, IterationResult, TurnResult
from gym.conversations.selectors import evidence_of

MAX_COLUMNS = 4
KS = (1, 2, 3, 5, 10)


@dataclass
class CaseRow:
    case_run: CaseRun
    evidence: Evidence
    done: int


def rows_of(run: AgentRun) -> list[CaseRow]:
    from django.db.models import Count

    rows = run.case_runs.select_related("case").annotate(n_done=Count("iterations"))
    return [CaseRow(row, evidence_of(row), row.n_done) for row in rows]


@dataclass
class Totals:
    """Cases and iterations of a run: passed of made, with interval."""

    cases: Evidence
    iterations: Evidence
    seconds: float


def totals_of(run: AgentRun) -> Totals:
    rows = [row for row in run.case_runs.all() if row.outcome]
    passed = sum(row.outcome == "pass" for row in rows)
    iterations = evidence(sum(row.passed for row in rows), sum(row.made for row in rows), 1.0)
    return Totals(evidence(passed, len(rows), 1.0), iterations, sum(row.seconds for row in rows))


def result_of(case_run: CaseRun) -> CaseResult:
    """The result as the pure modules know it, from rows alone: variables are not needed for it."""
    ratio = Ratio(case_run.needed, max(1, case_run.asked), f"{case_run.needed}/{case_run.asked}")
    reading = case_run.run.options.get("reading", "document")
    iterations = tuple(case_run.results())
    return CaseResult(case_run.agent, ratio, reading, iterations, max(1, case_run.asked), case_run.error)


@dataclass
class CheckRow:
    """One check over all iterations: how often each outcome, and single results."""

    first: CheckResult
    counts: dict[str, int] = field(default_factory=dict)
    results: list[tuple[int, CheckResult]] = field(default_factory=list)

    @property
    def made(self) -> int:
        return sum(n for outcome, n in self.counts.items() if outcome != "skipped")

    @property
    def passed(self) -> int:
        return self.counts.get("pass", 0)


def check_rows(iterations: list[IterationResult]) -> list[CheckRow]:
    rows: dict[tuple[Any, ...], CheckRow] = {}
    for iteration in iterations:
        for check in iteration.checks:
            key = (check.connection, check.interaction, check.where, check.element)
            row = rows.setdefault(key, CheckRow(check))
            row.counts[check.outcome] = row.counts.get(check.outcome, 0) + 1
            row.results.append((iteration.number, check))
    return list(rows.values())


@dataclass
class TurnRow:
    """One turn of the conversation in each iteration that is shown."""

    connection: int
    interaction: int
    said: str | None
    answers: list[tuple[IterationResult, TurnResult | None, list[CheckResult]]]


def case_context(case_run: CaseRun, chosen: list[str]) -> dict[str, Any]:
    """Everything the page of one case of a run shows."""
    iterations = case_run.results()
    wanted = [int(number) for number in chosen if number.isdigit() and len(number) < 6]
    columns = [iteration for iteration in iterations if iteration.number in wanted][:MAX_COLUMNS]
    if not columns:
        columns = _telling(iterations)
    seconds = sorted(turn.seconds for iteration in iterations for turn in iteration.turns if not turn.trouble)
    found = evidence_of(case_run)
    return {
        "run": case_run.run,
        "case_run": case_run,
        "evidence": found,
        "ks": [
            (k, pass_at_k(found.n, found.passed, k), pass_hat_k(found.n, found.passed, k))
            for k in KS
            if k <= found.n
        ],
        "checks": check_rows(iterations),
        "iterations": iterations,
        "columns": columns,
        "turns": _turn_rows(columns),
        "latency": (median(seconds), seconds[-1]) if seconds else None,
        "several_connections": any(turn.connection for iteration in iterations for turn in iteration.turns),
    }


def _telling(iterations: list[IterationResult]) -> list[IterationResult]:
    """Two iterations that ended differently, or the first two."""
    first = iterations[:1]
    other = [iteration for iteration in iterations[1:] if first and iteration.outcome != first[0].outcome]
    return first + (other or iterations[1:])[:1]


def _turn_rows(columns: list[IterationResult]) -> list[TurnRow]:
    places = sorted({(turn.connection, turn.interaction) for column in columns for turn in column.turns})
    rows = []
    for place in places:
        answers = []
        for column in columns:
            turn = next((turn for turn in column.turns if (turn.connection, turn.interaction) == place), None)
            checks = [check for check in column.checks if (check.connection, check.interaction) == place]
            answers.append((column, turn, checks))
        said = next((turn.said for _, turn, _ in answers if turn is not None), None)
        rows.append(TurnRow(*place, said, answers))
    return rows


def assessment_of(case_run: CaseRun) -> Assessment:
    """Failure modes, with the names and mergers of the suite's people."""
    notes = case_run.run.suite.failure_modes.filter(case_name=case_run.name)
    names = {note.mode: note.name for note in notes if note.name}
    merged = {note.mode: note.merged_into for note in notes if note.merged_into}
    return assess(result_of(case_run), names=names, merged=merged)


@dataclass
class CompareRow:
    name: str
    first: CaseRun | None
    second: CaseRun | None
    comparison: Comparison | None
    same_text: bool


def compared(first: AgentRun, second: AgentRun) -> tuple[list[CompareRow], Comparison]:
    """Case by case by name, and all iterations of the cases that both made."""
    ours = {row.name: row for row in first.case_runs.all()}
    theirs = {row.name: row for row in second.case_runs.all()}
    rows = []
    sums = [0, 0, 0, 0]
    for name in sorted({*ours, *theirs}):
        one, two = ours.get(name), theirs.get(name)
        found = None
        if one is not None and two is not None:
            found = compare((one.passed, one.made), (two.passed, two.made))
            sums = [a + b for a, b in zip(sums, (one.passed, one.made, two.passed, two.made), strict=True)]
        same = one is not None and two is not None and one.text == two.text
        rows.append(CompareRow(name, one, two, found, same))
    return rows, compare((sums[0], sums[1]), (sums[2], sums[3]))
