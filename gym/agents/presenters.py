"""What the pages of runs and agents show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Case, Count, When

from gym.agents.comparing import names_apart
from gym.agents.models import AgentRun, CaseIteration, CaseRun, FailureMode, Naming, tokens_of
from gym.agents.selectors import evidence_of, flipping_cases
from lmgym.agents.assessor import Assessment, assess
from lmgym.agents.checks import VERDICTS
from lmgym.agents.failures import Contradiction, Contradictions, Failure, Failures
from lmgym.agents.pass_rates import Evidence, Repeats, evidence, repeats
from lmgym.agents.results import CheckResult, IterationResult, TurnResult
from models_registry.names import disambiguate

MAX_COLUMNS = 4
ITERATIONS_PER_PAGE = 100
AT_A_TIME = 50
"""Iterations in memory at a time while all are counted."""


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


def repeats_of(run: AgentRun) -> list[Repeats]:
    """pass@k and pass^k, mean over the cases of a run, without those that stop early."""
    finished = [row for row in run.case_runs.all() if row.outcome]
    return repeats([(0, 0) if row.early_stop else (row.passed, row.made) for row in finished])


@dataclass
class Totals:
    """Cases and iterations of a run: passed of those with a verdict, with interval, and those without."""

    cases: Evidence
    iterations: Evidence
    seconds: float


def totals_of(run: AgentRun) -> Totals:
    rows = [row for row in run.case_runs.all() if row.outcome]
    passed, counted = (sum(row.outcome in found for row in rows) for found in (("pass",), VERDICTS))
    cases = evidence(passed, counted, 1.0, errors=len(rows) - counted)
    early_stop = any(row.early_stop for row in rows)
    passes, made = sum(row.passed for row in rows), sum(row.made for row in rows)
    errors = sum(row.errors for row in rows)
    iterations = evidence(passes, made, 1.0, errors=errors, early_stop=early_stop)
    return Totals(cases, iterations, sum(row.seconds for row in rows))


@dataclass
class CheckRow:
    """One check over all iterations: how often each outcome. `made` are those with a verdict."""

    first: CheckResult
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def made(self) -> int:
        return sum(n for outcome, n in self.counts.items() if outcome in VERDICTS)

    @property
    def passed(self) -> int:
        return self.counts.get("pass", 0)


@dataclass
class Overall:
    """All iterations summed up. They are read one by one: there may be a thousand, each with a transcript."""

    checks: list[CheckRow]
    latency: tuple[float, float] | None
    several_connections: bool
    failures: list[Failure]
    contradictions: list[Contradiction]
    waited: float


def overall(case_run: CaseRun) -> Overall:
    """Checks; the median and the longest of the seconds to an answer; what failed, by turn and answer; where the judge
    contradicts itself; the seconds for which servers were busy."""
    failures, contradictions = Failures(), Contradictions()
    rows: dict[tuple[Any, ...], CheckRow] = {}
    seconds: list[float] = []
    waited = 0.0
    several = False
    stored = case_run.iterations.order_by("number").values_list("data", flat=True)
    for data in stored.iterator(chunk_size=AT_A_TIME):
        iteration = IterationResult.from_dict(data)
        failures.add(iteration)
        contradictions.add(iteration)
        for check in iteration.checks:
            key = (check.connection, check.interaction, check.where, check.element)
            row = rows.setdefault(key, CheckRow(check))
            row.counts[check.outcome] = row.counts.get(check.outcome, 0) + 1
        seconds += [turn.seconds for turn in iteration.turns if not turn.trouble]
        waited += iteration.waited
        several = several or any(turn.connection for turn in iteration.turns)
    latency = (median(seconds), max(seconds)) if seconds else None
    return Overall(list(rows.values()), latency, several, list(failures), list(contradictions), waited)


@dataclass
class TurnRow:
    """One turn of the conversation in each iteration that is shown. `answers`: name of the run where there are two,
    iteration, its answer, its checks."""

    connection: int
    interaction: int
    said: str | None
    answers: list[tuple[str, IterationResult, TurnResult | None, list[CheckResult]]]


def case_context(
    case_run: CaseRun, chosen: list[str], page: str = "", beside: CaseRun | None = None
) -> dict[str, Any]:
    """Everything the page of one case of a run shows. `beside`: the case in another run, whose transcripts stand beside
    these."""
    found = evidence_of(case_run)
    told = overall(case_run)
    ended = case_run.iterations.order_by("number").only("case_run", "number", "outcome")
    on_page = Paginator(ended, ITERATIONS_PER_PAGE).get_page(page)
    wanted = {int(number) for number in chosen if number.isdecimal() and len(number) < 6}
    rows = _side_by_side(case_run, wanted, on_page[0]) if on_page else []
    rows = rows[: MAX_COLUMNS // 2] if beside is not None else rows
    here = {row.number for row in on_page}
    columns = [IterationResult.from_dict(row.data) for row in rows]
    named = [("", column) for column in columns]
    if beside is not None and columns:
        named = _of_two_runs(case_run, columns, beside)
    return {
        "run": case_run.run,
        "case_run": case_run,
        "evidence": found,
        "repeats": repeats_of_case(found),
        "checks": told.checks,
        "failures": told.failures,
        "contradictions": told.contradictions,
        "page": on_page,
        "numbers": {row.number for row in rows},
        "elsewhere": [row for row in rows if row.number not in here],
        "columns": columns,
        "beside": beside,
        "turns": _turn_rows(named),
        "tokens": tokens_of([case_run]),
        "latency": told.latency,
        "waited": told.waited,
        "several_connections": told.several_connections,
    }


def repeats_of_case(found: Evidence) -> list[Repeats]:
    """pass@k and pass^k; none of a case that stops early."""
    return [] if found.early_stop else repeats([(found.passed, found.n)])


def _side_by_side(case_run: CaseRun, wanted: set[int], first: CaseIteration) -> list[CaseIteration]:
    """The iterations to show: the first few that are wanted; without any, the first of the page and the next one with
    another outcome, or else simply the next."""
    alike = Case(When(outcome=first.outcome, then=1), default=0)
    behind = case_run.iterations.filter(number__gt=first.number).order_by(alike, "number")
    telling = {first.number, *behind.values_list("number", flat=True)[:1]}
    rows = case_run.iterations.filter(number__in=wanted | telling).order_by("number")
    found = list(rows[: MAX_COLUMNS + len(telling)])
    return [row for row in found if row.number in wanted][:MAX_COLUMNS] or found


def _of_two_runs(
    case_run: CaseRun, columns: list[IterationResult], beside: CaseRun
) -> list[tuple[str, IterationResult]]:
    """Each followed by the iteration of the same number in the other run, under the names of the runs."""
    disambiguate([case_run.run.server.model, beside.run.server.model])
    ours, theirs = names_apart([case_run.run, beside.run])
    rows = beside.iterations.filter(number__in=[column.number for column in columns])
    others = {row.number: IterationResult.from_dict(row.data) for row in rows}
    found = []
    for column in columns:
        found.append((ours, column))
        if column.number in others:
            found.append((theirs, others[column.number]))
    return found


def _turn_rows(columns: list[tuple[str, IterationResult]]) -> list[TurnRow]:
    places = sorted({(turn.connection, turn.interaction) for _, column in columns for turn in column.turns})
    rows = []
    for place in places:
        answers = []
        for name, column in columns:
            turn = next((turn for turn in column.turns if (turn.connection, turn.interaction) == place), None)
            checks = [check for check in column.checks if (check.connection, check.interaction) == place]
            answers.append((name, column, turn, checks))
        said = next((turn.said for _, _, turn, _ in answers if turn is not None), None)
        rows.append(TurnRow(*place, said, answers))
    return rows


def assessment_of(case_run: CaseRun) -> Assessment:
    """Failure modes, with a model's choices and with the names and mergers made by people."""
    notes = case_run.run.suite.failure_modes.filter(case_name=case_run.name)
    return _assessment(case_run, notes, Naming.objects.filter(case_run=case_run).first())


def assessments_of(run: AgentRun) -> list[tuple[CaseRun, Assessment]]:
    """The failure modes of all cases of a run, in a few queries."""
    rows = list(run.case_runs.prefetch_related("iterations"))
    namings = {naming.case_run_id: naming for naming in Naming.objects.filter(case_run__run=run)}
    notes: dict[str, list[FailureMode]] = {}
    for note in run.suite.failure_modes.all():
        notes.setdefault(note.case_name, []).append(note)
    return [(row, _assessment(row, notes.get(row.name, ()), namings.get(row.pk))) for row in rows]


def _assessment(case_run: CaseRun, notes: Iterable[FailureMode], naming: Naming | None) -> Assessment:
    notes = list(notes)
    names = {note.mode: note.shown_name for note in notes if note.shown_name}
    merged = {note.mode: note.merged_into for note in notes if note.merged_into}
    chosen = naming.chosen if naming else {}
    return assess(case_run.result(), names=names, merged=merged, chosen=chosen)


# --- which agent calls which ---

MAX_LINES = 200
MAX_LEVEL = 12


@dataclass(frozen=True)
class CallLine:
    """A line of the indented list. `again`: its calls are listed further up."""

    level: int
    name: str
    kind: str
    again: bool = False


def call_tree(nodes: Sequence[dict[str, Any]]) -> list[CallLine]:
    """The graph from its first node, depth first; then the nodes not reached from there."""
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
