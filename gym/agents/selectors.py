"""Queries for agent servers, suites and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from gym.accounts.models import AnyUser
from gym.agents import permissions
from gym.agents.models import (
    AgentCase,
    AgentRun,
    AgentSchedule,
    AgentServer,
    AgentSuite,
    CaseIteration,
    CaseRun,
)
from gym.sharing.models import Visibility
from gym.sharing.selectors import worked_on_by
from lmgym.agents.cases import Problem, TestCase
from lmgym.agents.check_rows import places
from lmgym.agents.checks import OUTCOMES, VERDICTS
from lmgym.agents.pass_rates import Evidence, evidence
from lmgym.agents.results import IterationResult
from models_registry.models import RegisteredModel

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations
from models_registry.names import disambiguate
from models_registry.selectors import visible_to as visible_models

NO_VERDICT = tuple(outcome for outcome in OUTCOMES if outcome not in VERDICTS)
RUNS_SHOWN = 20
"""Maximum number of runs listed on other pages; a separate page lists all runs."""
HISTORY = 50
"""Number of newest runs of a case on one version of a server that are considered for flakiness."""


def visible_to(user: AnyUser) -> QuerySet[AgentSuite]:
    suites = AgentSuite.objects.select_related("owner", "judge")
    if not user.is_authenticated:
        return suites.filter(visibility=Visibility.PUBLIC)
    if user.is_staff:
        return suites
    return suites.filter(Q(visibility=Visibility.PUBLIC) | worked_on_by(user, AgentSuite))


def listed(user: AnyUser) -> QuerySet[AgentSuite]:
    return visible_to(user).annotate(
        n_cases=Count("cases", distinct=True), n_runs=Count("runs", distinct=True)
    )


def servers_visible_to(user: AnyUser) -> QuerySet[AgentServer]:
    return AgentServer.objects.filter(model__in=visible_models(user)).select_related(
        "model__owner", "model__check_job"
    )


def servers_lent_to(user: AnyUser) -> QuerySet[AgentServer]:
    """Return servers that a user may use: their own, and visible ones without secrets (with secrets, the owner would
    pay); all servers for staff, none for visitors."""
    if not user.is_authenticated:
        return AgentServer.objects.none()
    visible = servers_visible_to(user)
    return visible if user.is_staff else visible.filter(Q(model__owner=user) | Q(secrets={}))


def can_borrow(user: AnyUser, server: AgentServer) -> bool:
    return servers_lent_to(user).filter(pk=server.pk).exists()


def servers_usable_by(user: AnyUser) -> QuerySet[AgentServer]:
    """Return the servers of `servers_lent_to` that passed their last check."""
    return servers_lent_to(user).filter(model__status=RegisteredModel.Status.READY)


def runs_visible_to(user: AnyUser) -> QuerySet[AgentRun]:
    """Return runs whose suite and server are both visible."""
    return AgentRun.objects.filter(
        suite__in=visible_to(user), server__in=servers_visible_to(user)
    ).select_related("suite__owner", "server__model", "owner", "job", "rescored_from")


def with_sums(runs: QuerySet[AgentRun]) -> QuerySet[AgentRun]:
    """Annotate runs, newest first, with n_cases, cases_passed and cases_apart (cases without a verdict, which are not
    in n_cases), and with the numbers of iterations: passed, n (with a verdict) and errors."""
    apart = Q(case_runs__outcome__in=NO_VERDICT)
    return runs.annotate(
        n_cases=Count("case_runs", filter=~apart),
        cases_passed=Count("case_runs", filter=Q(case_runs__outcome="pass")),
        cases_apart=Count("case_runs", filter=apart),
        passed=Sum("case_runs__passed"),
        n=Sum("case_runs__n"),
        errors=Sum("case_runs__errors"),
    ).order_by("-created", "-pk")


def first_runs(runs: QuerySet[AgentRun]) -> tuple[list[AgentRun], bool]:
    """Return the newest runs with their totals, and whether there are more."""
    newest = runs.order_by("-created", "-pk").values("pk")[: RUNS_SHOWN + 1]
    rows = list(with_sums(runs.filter(pk__in=newest)))
    return rows[:RUNS_SHOWN], len(rows) > RUNS_SHOWN


def judges_for(user: AnyUser) -> QuerySet[RegisteredModel]:
    """Return servers, as registered models, whose agents the user may choose as judges."""
    return visible_models(user).filter(agent_server__in=servers_usable_by(user))


@dataclass
class Cell:
    """A case on a server: its newest result, and whether results differ."""

    newest: CaseRun | None
    evidence: Evidence | None
    flaky: bool


@dataclass
class Row:
    case: AgentCase
    cells: list[Cell]


@dataclass(frozen=True)
class Column:
    """A column of the matrix: a server, or one of its versions if `version` is not None (empty: it reported none)."""

    server: AgentServer
    version: str | None = None


def matrix(suite: AgentSuite, user: AnyUser, *, by_version: bool = False) -> tuple[list[Column], list[Row]]:
    """Return the newest results of all cases by server, or by version of each server."""
    by = ("case_id", "run__server_id", "run__server_version") if by_version else ("case_id", "run__server_id")
    finished = CaseRun.objects.filter(
        run__in=runs_visible_to(user), run__suite=suite, case__isnull=False
    ).exclude(outcome="")
    flipped = _flipped(finished)
    cells: dict[tuple[int, tuple[int, str | None]], Cell] = {}
    columns: dict[tuple[int, str | None], Column] = {}
    newest = CaseRun.objects.filter(pk__in=_latest(finished, by, 1).values("pk"))
    for row in newest.select_related("run__server__model").order_by("-run__created", "-pk"):
        run = row.run
        column = (run.server_id, run.server_version if by_version else None)
        columns.setdefault(column, Column(run.server, column[1]))
        flaky = row.is_mixed or _group(row) in flipped
        cells[row.case_id or 0, column] = Cell(row, evidence_of(row), flaky)
    disambiguate(column.server.model for column in columns.values())
    # Sorting is stable, so versions of a server stay newest first.
    keys = sorted(columns, key=lambda key: columns[key].server.model.name.lower())
    none = Cell(None, None, flaky=False)
    rows = [Row(case, [cells.get((case.pk, key), none) for key in keys]) for case in suite.cases.all()]
    return [columns[key] for key in keys], rows


def _latest(rows: QuerySet[CaseRun], by: Sequence[str], n: int) -> QuerySet[CaseRun]:
    """Select the newest n rows of every group."""
    order = [F("run__created").desc(), F("pk").desc()]
    place = Window(RowNumber(), partition_by=[F(name) for name in by], order_by=order)
    return rows.annotate(place=place).filter(place__lte=n).order_by()


def _group(row: CaseRun) -> tuple[Any, ...]:
    """Return a key shared by runs of a case that can differ only by chance."""
    return (row.case_id, row.run.server_id, row.run.server_version, row.text, row.run.options.get("reading"))


def _flipped(rows: QuerySet[CaseRun]) -> set[tuple[Any, ...]]:
    """Return the groups (`_group`) in which some of the newest runs passed and others did not. Rescored runs are
    excluded."""
    by = ("case_id", "run__server_id", "run__server_version")
    rows = rows.filter(run__rescored_from=None, outcome__in=VERDICTS).order_by()
    # Texts are long, so they are compared only for cases with both outcomes.
    passes, others = Count("pk", filter=Q(outcome="pass")), Count("pk", filter=~Q(outcome="pass"))
    mixed = set(
        rows.values("case")
        .alias(passes=passes, others=others)
        .filter(passes__gt=0, others__gt=0)
        .values_list("case", flat=True)
    )
    if not mixed:
        return set()
    # A list instead of a subquery, which PostgreSQL evaluates for every row if it has no statistics.
    made = _latest(rows.filter(case__in=mixed), by, HISTORY)
    groups = (
        CaseRun.objects.filter(pk__in=made.values("pk"))
        .order_by()
        .values_list(*by, "text", "run__options__reading")
    )
    return set(groups.alias(passes=passes, others=others).filter(passes__gt=0, others__gt=0))


class SuiteFlags(TypedDict):
    """Annotations added by `with_versions`."""

    has_versions: bool
    has_schedules: bool


def with_versions(
    suites: QuerySet[AgentSuite], user: AnyUser
) -> QuerySet[WithAnnotations[AgentSuite, SuiteFlags]]:
    """Annotate suites with `has_versions` (runs on several versions of a server) and `has_schedules`."""
    versions = Count("server_version", distinct=True)
    servers = runs_visible_to(user).filter(suite=OuterRef("pk")).order_by().values("server")
    return suites.annotate(
        has_versions=Exists(servers.annotate(n=versions).filter(n__gt=1)),
        has_schedules=Exists(AgentSchedule.objects.filter(suite=OuterRef("pk"))),
    )


def flipping_cases(run: AgentRun) -> set[int]:
    """Return the ids of a run's cases that both passed and failed in runs of the same text on the same server
    version."""
    rows = CaseRun.objects.filter(case__in=run.case_runs.values("case"), run__server=run.server_id)
    flipped = _flipped(rows.filter(run__server_version=run.server_version))
    return {row.case_id for row in run.case_runs.all() if row.case_id and _group(row) in flipped}


def evidence_of(case_run: CaseRun) -> Evidence:
    required = case_run.needed / case_run.planned if case_run.planned else case_run.required_rate
    return evidence(
        case_run.passed, case_run.n, required, errors=case_run.errors, early_stop=case_run.early_stop
    )


def flaky(history: Sequence[CaseRun]) -> bool:
    """Return True if iterations of the newest run, or verdicts of comparable runs (`_group`), differ."""
    if not history:
        return False
    rows = CaseRun.objects.filter(pk__in=[row.pk for row in history])
    return history[0].is_mixed or _group(history[0]) in _flipped(rows)


def places_of(case: AgentCase, user: AnyUser) -> list[list[tuple[str, str]]]:
    """Return the paths in the newest answers by turn (check_rows.places), for the form; empty without a run."""
    if case.pk is None:
        return []
    newest = (
        CaseIteration.objects.filter(case_run__case=case, case_run__run__in=runs_visible_to(user))
        .order_by("-case_run__run__created", "-case_run", "number")
        .first()
    )
    if newest is None:
        return []
    turns = [turn for turn in IterationResult.from_dict(newest.data).turns if not turn.connection]
    by_turn: list[list[tuple[str, str]]] = [
        [] for _ in range(1 + max((turn.interaction for turn in turns), default=-1))
    ]
    for turn in turns:
        by_turn[turn.interaction] = places(turn.structure, turn.sly_data)
    return by_turn


def parse_for_user(case: AgentCase, user: AnyUser) -> tuple[TestCase | None, list[Problem]]:
    """Parse a case and return it with its problems. Missing variables are only reported to users who may see their
    names."""
    return case.parse() if permissions.can_manage(user, case.suite) else case.parse_without_variables()


def history_of(case: AgentCase, user: AnyUser) -> list[CaseRun]:
    """Return the newest 50 runs in which the case has ended, newest first, with distinct labels for their servers."""
    case_runs = list(
        case.case_runs.filter(run__in=runs_visible_to(user))
        .exclude(outcome="")
        .select_related("run__server__model", "run__suite", "run__owner")
        .order_by("-run__created")[:50]
    )
    disambiguate(row.run.server.model for row in case_runs)
    return case_runs
