"""Values for the pages of runs and servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Case, Count, When

from gym.agents.comparing import distinct_names
from gym.agents.models import AgentRun, CaseIteration, CaseRun, FailureMode, Naming, tokens_of
from gym.agents.selectors import evidence_of, flipping_cases
from lmgym.agents.assessor import Assessment, Assessor
from lmgym.agents.checks import VERDICTS
from lmgym.agents.failures import Contradiction, Failure, Failures
from lmgym.agents.pass_rates import AtK, Evidence, at_k, evidence
from lmgym.agents.results import CheckResult, IterationResult, TurnResult
from models_registry.names import disambiguate

MAX_COLUMNS = 4
ITERATIONS_PER_PAGE = 100
CHUNK_SIZE = 50
"""Number of iterations loaded at a time for totals."""


@dataclass
class CaseRow:
    case_run: CaseRun
    evidence: Evidence
    done: int
    flaky: bool


def rows_of(run: AgentRun) -> list[CaseRow]:
    flips = flipping_cases(run)
    rows = run.case_runs.select_related("case").annotate(n_done=Count("iterations"))
    return [CaseRow(row, evidence_of(row), row.n_done, row.is_mixed or row.case_id in flips) for row in rows]


def at_k_of_run(run: AgentRun) -> list[AtK]:
    """Return pass@k and pass^k averaged over a run's finished cases, except cases that stop early."""
    finished = [row for row in run.case_runs.all() if row.outcome]
    return at_k([(0, 0) if row.early_stop else (row.passed, row.n) for row in finished])


@dataclass
class Totals:
    """Numbers of cases and iterations in a run: passed, with a verdict, and without a verdict."""

    cases: Evidence
    iterations: Evidence
    seconds: float


def totals_of(run: AgentRun) -> Totals:
    rows = [row for row in run.case_runs.all() if row.outcome]
    passed, counted = (sum(row.outcome in outcomes for row in rows) for outcomes in (("pass",), VERDICTS))
    cases = evidence(passed, counted, 1.0, errors=len(rows) - counted)
    early_stop = any(row.early_stop for row in rows)
    passes, made = sum(row.passed for row in rows), sum(row.n for row in rows)
    errors = sum(row.errors for row in rows)
    iterations = evidence(passes, made, 1.0, errors=errors, early_stop=early_stop)
    return Totals(cases, iterations, sum(row.seconds for row in rows))


@dataclass
class CheckRow:
    """Outcome counts of a check over all iterations. `n`: number of outcomes with a verdict."""

    first: CheckResult
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return sum(n for outcome, n in self.counts.items() if outcome in VERDICTS)

    @property
    def passed(self) -> int:
        return self.counts.get("pass", 0)


@dataclass
class Overall:
    """Totals over all iterations. `latency`: median and maximum seconds to an answer, None without answers; `waited`:
    total seconds spent waiting for busy servers."""

    checks: list[CheckRow]
    latency: tuple[float, float] | None
    several_connections: bool
    failures: list[Failure]
    assessor: Assessor
    waited: float
    n_iterations: int

    @property
    def contradictions(self) -> list[Contradiction]:
        return self.assessor.contradictions


def overall(case_run: CaseRun) -> Overall:
    """Compute totals over all iterations, read in chunks because there may be a thousand, each with a transcript."""
    failures, assessor = Failures(), Assessor()
    rows: dict[tuple[Any, ...], CheckRow] = {}
    seconds: list[float] = []
    waited, n = 0.0, 0
    several = False
    stored = case_run.iterations.order_by("number").values_list("data", flat=True)
    for data in stored.iterator(chunk_size=CHUNK_SIZE):
        iteration = IterationResult.from_dict(data)
        n += 1
        failures.add(iteration)
        assessor.add(iteration)
        for check in iteration.checks:
            key = (check.connection, check.interaction, check.where, check.element)
            row = rows.setdefault(key, CheckRow(check))
            row.counts[check.outcome] = row.counts.get(check.outcome, 0) + 1
        seconds += [turn.seconds for turn in iteration.turns if not turn.trouble]
        waited += iteration.waited
        several = several or any(turn.connection for turn in iteration.turns)
    latency = (median(seconds), max(seconds)) if seconds else None
    return Overall(list(rows.values()), latency, several, list(failures), assessor, waited, n)


@dataclass
class TurnRow:
    """A turn of the conversation in all displayed iterations. `answers`: (name of the run if there are two, iteration,
    answer, checks)."""

    connection: int
    interaction: int
    user_text: str | None
    answers: list[tuple[str, IterationResult, TurnResult | None, list[CheckResult]]]


def case_context(
    case_run: CaseRun,
    chosen: list[str],
    page: str = "",
    other: CaseRun | None = None,
    *,
    naming: Naming | None = None,
) -> dict[str, Any]:
    """Build the context for the page of a case in a run; see `run_views.case_run`.

    Args:
        chosen: numbers of the iterations to show, as sent by the browser.
        page: page of the list of iterations, as sent by the browser.
        other: the case in another run, with transcripts to show side by side.
        naming: a model's naming of the failures.
    """
    evidence = evidence_of(case_run)
    sums = overall(case_run)
    ended = case_run.iterations.order_by("number").only("case_run", "number", "outcome")
    paginator = Paginator(ended, ITERATIONS_PER_PAGE)
    paginator.count = sums.n_iterations  # already known, saves a query
    on_page = paginator.get_page(page)
    numbers = {int(number) for number in chosen if number.isdecimal() and len(number) < 6}
    rows = _side_by_side(case_run, numbers, on_page[0]) if on_page else []
    rows = rows[: MAX_COLUMNS // 2] if other is not None else rows
    listed = {row.number for row in on_page}
    columns = [IterationResult.from_dict(row.data) for row in rows]
    named = [("", column) for column in columns]
    if other is not None and columns:
        named = _of_two_runs(case_run, columns, other)
    return {
        "run": case_run.run,
        "case_run": case_run,
        "evidence": evidence,
        "at_k": at_k_of_case(evidence),
        "checks": sums.checks,
        "assessment": _assessment(case_run, sums.assessor, _modes_of(case_run), naming),
        "contradictions": sums.contradictions,
        "naming": naming,
        "page": on_page,
        "numbers": {row.number for row in rows},
        "elsewhere": [row for row in rows if row.number not in listed],
        "columns": columns,
        "other": other,
        "turns": _turn_rows(named),
        "tokens": tokens_of([case_run]),
        "latency": sums.latency,
        "waited": sums.waited,
        "several_connections": sums.several_connections,
    }


def at_k_of_case(evidence: Evidence) -> list[AtK]:
    """Return pass@k and pass^k for a case; empty if the case stops early."""
    return [] if evidence.early_stop else at_k([(evidence.passed, evidence.n)])


def _side_by_side(case_run: CaseRun, chosen: set[int], first: CaseIteration) -> list[CaseIteration]:
    """Return the iterations to show: the first few chosen ones, or by default the first on the page and the next with a
    different outcome (or simply the next)."""
    same_outcome = Case(When(outcome=first.outcome, then=1), default=0)
    later = case_run.iterations.filter(number__gt=first.number).order_by(same_outcome, "number")
    default = {first.number, *later.values_list("number", flat=True)[:1]}
    rows = case_run.iterations.filter(number__in=chosen | default).order_by("number")
    candidates = list(rows[: MAX_COLUMNS + len(default)])
    return [row for row in candidates if row.number in chosen][:MAX_COLUMNS] or candidates


def _of_two_runs(
    case_run: CaseRun, columns: list[IterationResult], other: CaseRun
) -> list[tuple[str, IterationResult]]:
    """Pair each iteration with the iteration of the same number in another run, under the runs' names."""
    disambiguate([case_run.run.server.model, other.run.server.model])
    ours, theirs = distinct_names([case_run.run, other.run])
    rows = other.iterations.filter(number__in=[column.number for column in columns])
    others = {row.number: IterationResult.from_dict(row.data) for row in rows}
    pairs = []
    for column in columns:
        pairs.append((ours, column))
        if column.number in others:
            pairs.append((theirs, others[column.number]))
    return pairs


def _turn_rows(columns: list[tuple[str, IterationResult]]) -> list[TurnRow]:
    places = sorted({(turn.connection, turn.interaction) for _, column in columns for turn in column.turns})
    rows = []
    for place in places:
        answers = []
        for name, column in columns:
            turn = next((turn for turn in column.turns if (turn.connection, turn.interaction) == place), None)
            checks = [check for check in column.checks if (check.connection, check.interaction) == place]
            answers.append((name, column, turn, checks))
        user_text = next((turn.user_text for _, _, turn, _ in answers if turn is not None), None)
        rows.append(TurnRow(*place, user_text, answers))
    return rows


def assessment_of(case_run: CaseRun) -> Assessment:
    """Return a case's failure modes, including a model's choices and names."""
    naming = Naming.objects.filter(case_run=case_run).first()
    return _assessment(case_run, overall(case_run).assessor, _modes_of(case_run), naming)


def assessments_of(run: AgentRun) -> list[tuple[CaseRun, Assessment]]:
    """Return the failure modes of all cases in a run, using few queries."""
    namings = {naming.case_run_id: naming for naming in Naming.objects.filter(case_run__run=run)}
    modes: dict[str, list[FailureMode]] = {}
    for mode in run.suite.failure_modes.all():
        modes.setdefault(mode.case_name, []).append(mode)
    assessed = []
    for row in run.case_runs.prefetch_related("iterations"):
        assessor = Assessor()
        for result in row.results():
            assessor.add(result)
        assessed.append((row, _assessment(row, assessor, modes.get(row.name, ()), namings.get(row.pk))))
    return assessed


def _modes_of(case_run: CaseRun) -> Iterable[FailureMode]:
    return case_run.run.suite.failure_modes.filter(case_name=case_run.name)


def _assessment(
    case_run: CaseRun, assessor: Assessor, modes: Iterable[FailureMode], naming: Naming | None
) -> Assessment:
    names = {mode.mode: mode.name for mode in modes}
    return assessor.assessment(case_run.agent, names, naming.chosen if naming else {})


# --- call graph ---

MAX_LINES = 200
MAX_LEVEL = 12


@dataclass(frozen=True)
class CallLine:
    """A line of the indented call tree. `again`: the agent's calls are already listed above."""

    level: int
    name: str
    kind: str
    again: bool = False


def call_tree(nodes: Sequence[dict[str, Any]]) -> list[CallLine]:
    """List the graph depth-first from its first node, followed by unreachable nodes."""
    known = {str(node["origin"]): node for node in nodes}
    lines: list[CallLine] = []
    seen: set[str] = set()

    def walk(name: str, level: int) -> None:
        if len(lines) >= MAX_LINES or level > MAX_LEVEL:
            return
        node = known.get(name, {})
        again = name in seen and bool(node.get("tools"))
        lines.append(CallLine(level, name, str(node.get("display_as", "")).replace("_", " "), again))
        if name in seen:
            return
        seen.add(name)
        for tool in node.get("tools", []):
            walk(str(tool), level + 1)

    for name in known:
        if name not in seen:
            walk(name, 0)
    return lines
