"""Reads of agent servers, suites and runs. All begin at what somebody may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, Q, QuerySet

from gym.conversations.figures import Evidence, evidence, is_flaky
from gym.conversations.models import AgentCase, AgentRun, AgentServer, AgentSuite, CaseRun, Visibility
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User

LATEST = 400


def visible_to(user: User | AnonymousUser) -> QuerySet[AgentSuite]:
    suites = AgentSuite.objects.select_related("owner", "judge")
    if not user.is_authenticated:
        return suites.filter(visibility=Visibility.PUBLIC)
    if user.is_staff:
        return suites
    return suites.filter(Q(visibility=Visibility.PUBLIC) | Q(owner=user))


def listed(user: User | AnonymousUser) -> QuerySet[AgentSuite]:
    return visible_to(user).annotate(
        n_cases=Count("cases", distinct=True), n_runs=Count("runs", distinct=True)
    )


def servers_visible_to(user: User | AnonymousUser) -> QuerySet[AgentServer]:
    return AgentServer.objects.filter(model__in=visible_models(user)).select_related(
        "model__owner", "model__check_job"
    )


def servers_usable_by(user: User | AnonymousUser) -> QuerySet[AgentServer]:
    """Servers somebody may send requests to, once they answered: their own, and public ones that hold no secrets and
    no model they may not see. Whose key a request carries pays for it."""
    if not user.is_authenticated:
        return AgentServer.objects.none()
    ready = servers_visible_to(user).filter(model__status=RegisteredModel.Status.READY)
    if user.is_staff:
        return ready
    ready = ready.filter(Q(wraps=None) | Q(wraps__in=visible_models(user)))
    return ready.filter(Q(model__owner=user) | Q(secrets={}))


def runs_visible_to(user: User | AnonymousUser) -> QuerySet[AgentRun]:
    """Runs of a suite and a server that both may be seen."""
    return AgentRun.objects.filter(
        suite__in=visible_to(user), server__in=servers_visible_to(user)
    ).select_related("suite__owner", "server__model", "owner", "job", "rescored_from")


def judges_for(user: User | AnonymousUser) -> QuerySet[RegisteredModel]:
    """Agents and models with surprisals that may judge."""
    if not user.is_authenticated:
        return RegisteredModel.objects.none()
    ready = visible_models(user).filter(status=RegisteredModel.Status.READY)
    agents = Q(agent_server__in=servers_usable_by(user))
    return ready.filter(agents | Q(backend__in=["causal", "ngram", "openai", "uniform"]))


@dataclass
class Cell:
    """A case on a server: the newest result, earlier ones, and whether they are of one mind."""

    newest: CaseRun | None
    history: list[CaseRun]
    evidence: Evidence | None
    flaky: bool


@dataclass
class Row:
    case: AgentCase
    cells: list[Cell]


def matrix(suite: AgentSuite, user: User | AnonymousUser) -> tuple[list[AgentServer], list[Row]]:
    """Cases by servers: what the finished runs said, newest first."""
    found = (
        CaseRun.objects.filter(run__in=runs_visible_to(user), run__suite=suite, case__isnull=False)
        .exclude(outcome="")
        .select_related("run__server__model")
        .order_by("-run__created", "-pk")[:LATEST]
    )
    by_place: dict[tuple[int, int], list[CaseRun]] = {}
    servers: dict[int, AgentServer] = {}
    for case_run in found:
        server = case_run.run.server
        servers[server.pk] = server
        by_place.setdefault((case_run.case_id or 0, server.pk), []).append(case_run)
    columns = sorted(servers.values(), key=lambda server: server.model.name.lower())
    rows = [
        Row(case, [cell_of(by_place.get((case.pk, server.pk), [])) for server in columns])
        for case in suite.cases.all()
    ]
    return columns, rows


def cell_of(history: list[CaseRun]) -> Cell:
    newest = history[0] if history else None
    return Cell(newest, history, evidence_of(newest) if newest else None, flaky(history))


def evidence_of(case_run: CaseRun) -> Evidence:
    return evidence(case_run.passed, case_run.made, case_run.required_rate)


def flaky(history: Iterable[CaseRun]) -> bool:
    """Does the verdict flip between runs of the same text, or do the iterations of the newest run differ?"""
    runs = list(history)
    if not runs:
        return False
    same = [case_run.outcome for case_run in runs if case_run.text == runs[0].text]
    return 0 < runs[0].passed < runs[0].made or is_flaky(same)


def history_of(case: AgentCase, user: User | AnonymousUser) -> list[CaseRun]:
    """Finished runs of a case, newest first."""
    return list(
        case.case_runs.filter(run__in=runs_visible_to(user))
        .exclude(outcome="")
        .select_related("run__server__model", "run__suite", "run__owner")
        .order_by("-run__created")[:50]
    )
