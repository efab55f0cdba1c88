"""Background work: asking a server who it is, running cases, scoring stored answers again."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from functools import partial
from typing import Any, Self
from urllib.parse import quote

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from gym.conversations import permissions, scoring, services
from gym.conversations.cases import CaseError, TestCase, look_at, read_case
from gym.conversations.driver import Options, run_iterations
from gym.conversations.judging import VotingJudge
from gym.conversations.models import (
    ARROW,
    AgentRun,
    AgentServer,
    AgentSuite,
    CaseIteration,
    CaseRun,
    JudgeOpinion,
)
from gym.conversations.protocol import MAX_DEPTH, depth_of
from gym.conversations.redact import TOO_SHORT, Redactor, can_be_hidden, redactor
from gym.conversations.results import IterationResult
from gym.conversations.selectors import can_borrow
from gym.conversations.talking import ask_version, headers_hidden, judge_for, transport_for, version_in
from gym.conversations.transport import Deadline, Transport, TransportError
from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from gym.secrets import SecretError, reveal
from models_registry.backends import BackendError
from models_registry.models import RegisteredModel

CHECK_SECONDS = 20.0
MOST_VERSIONS = 4
MAX_AGENTS = 200
MAX_GRAPHS = 20
MAX_NODES = 100
WELL = frozenset(
    ("ok", "okay", "up", "healthy", "pass", "ready", "alive", "live", "running", "serving", "true")
)
"""What servers that are well say of their state."""
REMEMBERED = 20_000


@handler("check_agent", seconds=120)
def check_agent(context: JobContext) -> None:
    """Ask for health, version, agents and their graphs; write down what was found, or why there is no answer."""
    server = AgentServer.objects.select_related("model", "wraps").filter(pk=context.payload["server"]).first()
    if server is None:
        raise PermanentFailure("The agent was deleted.")
    clean = redactor([])
    try:
        transport = transport_for(server)
        clean = redactor(transport.secrets)
        found = context.beside(partial(ask_server, transport, clean))
        status, reason = RegisteredModel.Status.READY, ""
    except (TransportError, SecretError, BackendError) as error:
        found, status, reason = {}, RegisteredModel.Status.BROKEN, clean(str(error))
        context.log(reason)
    now = timezone.now()
    with context.finish():
        AgentServer.objects.filter(pk=server.pk).update(checked_at=now, **found)
        RegisteredModel.objects.filter(pk=server.model_id).update(
            status=status, status_reason=reason, checked_at=now
        )


def ask_server(transport: Transport, clean: Redactor) -> dict[str, Any]:
    """Values of AgentServer's fields. Only the list of agents has to be there. Raises TransportError."""
    deadline = Deadline(time.monotonic() + CHECK_SECONDS, "The check")

    def get(path: str) -> Any:
        told = transport.get(path, deadline)
        if depth_of(told) > MAX_DEPTH:
            raise TransportError("protocol", "The server's JSON is nested too deep.")
        return clean(told)

    version = ""
    try:
        health = get("/healthz")
    except TransportError as error:
        if error.trouble not in ("status", "encoding"):
            raise
    else:
        _require_well(health)
        version = version_in(health)
    listed = get("/api/v1/list")
    rows = listed.get("agents") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        raise TransportError("protocol", "The server gives no list of agents: it is no agent server.")
    agents = [_agent(row) for row in rows[:MAX_AGENTS] if isinstance(row, dict) and row.get("agent_name")]
    graphs: dict[str, Any] = {}
    for agent in agents[:MAX_GRAPHS]:
        try:
            graph = get(f"/api/v1/{quote(agent['agent_name'])}/connectivity")
        except TransportError:
            continue
        nodes = graph.get("connectivity_info") if isinstance(graph, dict) else None
        there = nodes[:MAX_NODES] if isinstance(nodes, list) else []
        graphs[agent["agent_name"]] = [_node(row) for row in there if isinstance(row, dict)]
    return {"version": version, "agents": agents, "graphs": graphs}


def _require_well(health: Any) -> None:
    """Raises TransportError when the server says that it is not well."""
    status = health.get("status") if isinstance(health, dict) else None
    if status is not None and str(status).lower() not in WELL:
        raise TransportError("protocol", f"The server says of itself that it is {str(status)[:40]!r}.")


def _agent(row: dict[str, Any]) -> dict[str, Any]:
    tags = row.get("tags") or []
    shown = [str(tag)[:40] for tag in tags[:10]] if isinstance(tags, list) else []
    return {
        "agent_name": str(row["agent_name"])[:200],
        "description": str(row.get("description", ""))[:500],
        "tags": shown,
    }


def _node(row: dict[str, Any]) -> dict[str, Any]:
    tools = row.get("tools") or []
    shown = [str(tool)[:200] for tool in tools[:50]] if isinstance(tools, list) else []
    return {
        "origin": str(row.get("origin", ""))[:200],
        "tools": shown,
        "display_as": str(row.get("display_as", ""))[:40],
    }


# --- runs ---


def _run_of(context: JobContext) -> AgentRun:
    found = AgentRun.objects.select_related("suite__judge", "server__model", "server__wraps", "rescored_from")
    run = found.filter(pk=context.payload["run"]).first()
    if run is None:
        raise PermanentFailure("The run was deleted.")
    suite, server = run.suite, run.server
    rights.require(
        context,
        {
            f"the tests {suite.slug}": lambda person: permissions.can_run_suite(person, suite),
            f"the agent {server.model.slug}": lambda person: can_borrow(person, server),
            f"the judge of {suite.slug}": lambda person: permissions.can_judge(person, suite),
        },
    )
    return run


def variables_of(suite: AgentSuite) -> dict[str, str]:
    """Raises SecretError."""
    found = {name: reveal(suite.variables, name) for name in suite.variables}
    for name, value in found.items():
        if value and not can_be_hidden(value):
            raise SecretError(f"The variable {name} is too short to be kept out of transcripts. {TOO_SHORT}")
    return found


class _Cache(dict[str, dict[str, Any]]):
    """What the judge said before, in memory; `keep` writes what is new. Filled by many threads, written by one."""

    def __init__(self, suite: AgentSuite) -> None:
        super().__init__(suite.opinions.values_list("key", "opinion")[:REMEMBERED])
        self.suite = suite
        self.kept = set(self)

    def keep(self) -> None:
        new = [(key, self[key]) for key in list(self) if key not in self.kept]
        rows = [JudgeOpinion(suite=self.suite, key=key, opinion=opinion) for key, opinion in new]
        JudgeOpinion.objects.bulk_create(rows, ignore_conflicts=True)
        self.kept |= {key for key, _ in new}


def _attempt_seconds() -> float:
    """A run ends itself, see _Clock; this is for one that does not."""
    return float(settings.GYM_AGENT_RUN_SECONDS) + 60


class _Clock:
    """Ends a run whose seconds are used up; all its attempts count together."""

    def __init__(self, context: JobContext, run: AgentRun) -> None:
        self.context = context
        self.run = run
        self.noted = time.monotonic()
        self.until = self.noted + settings.GYM_AGENT_RUN_SECONDS - run.spent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.note()

    def check(self) -> None:
        """Raise what the context raises, or PermanentFailure. Cheap: called several times a second."""
        self.context.check()
        if time.monotonic() >= self.until:
            raise PermanentFailure(services.run_out_of_time())

    def note(self) -> None:
        """Write down the seconds since the last time."""
        now = time.monotonic()
        AgentRun.objects.filter(pk=self.run.pk).update(spent=F("spent") + now - self.noted)
        self.noted = now


@handler("agent_run", seconds=_attempt_seconds)
def agent_run(context: JobContext) -> None:
    """Every case, every iteration; each is written as it ends, so that another worker can go on from there."""
    run = _run_of(context)
    cache = _Cache(run.suite)
    with _Clock(context, run) as clock:
        try:
            variables = variables_of(run.suite)
            transport = transport_for(run.server)
            options = _options(run, variables)
            judge = judge_for(run.suite, options.reading, cache, tuple(variables.values()))
        except (SecretError, BackendError) as error:
            raise PermanentFailure(str(error)) from error
        _note_version(context, run, transport)
        for case_run in run.case_runs.filter(outcome="").order_by("name"):
            clock.check()
            _run_case(clock, case_run, variables, transport, judge, options, cache)
            _note_version(context, run, transport)
    with context.finish():
        AgentRun.objects.filter(pk=run.pk).update(completed_at=timezone.now())


def _note_version(context: JobContext, run: AgentRun, transport: Transport) -> None:
    """Write down which version answers: at the start of every attempt and after every case, since a server may be
    deployed again on the way. Of many versions the first few are named."""
    told, known = ask_version(transport), run.versions
    if told is None or (not told and not known):
        return
    name = told or "version not told"
    if name not in known and len(known) >= MOST_VERSIONS:
        name = "others"
    if name in known:
        return
    run.server_version = ARROW.join([*known, name])
    with context.transaction():
        AgentRun.objects.filter(pk=run.pk).update(server_version=run.server_version)


def _options(run: AgentRun, variables: dict[str, str]) -> Options:
    given = run.options
    return Options(
        reading=given.get("reading", "document"),
        early_stop=given.get("early_stop", False),
        parallel=given.get("parallel", 4),
        secrets=tuple(variables.values()),
    )


def _run_case(
    clock: _Clock,
    case_run: CaseRun,
    variables: dict[str, str],
    transport: Transport,
    judge: VotingJudge | None,
    options: Options,
    cache: _Cache,
) -> None:
    context = clock.context
    case = _case_of(context, case_run, variables)
    if case is None:
        return
    before = case_run.results()
    numbers = sorted(set(range(1, case.ratio.iterations + 1)) - {result.number for result in before})
    resumed, spent = time.monotonic(), case_run.spent
    over = threading.Event()
    try:
        made = run_iterations(
            case, transport, judge, options, numbers=numbers, before=before, stop=over.is_set, spent=spent,
            tick=clock.check,
        )  # fmt: skip
        for result in made:
            with context.transaction(brings_forward=True):
                _store(case_run, result)
                cache.keep()
                case_run.spent = spent + time.monotonic() - resumed
                CaseRun.objects.filter(pk=case_run.pk).update(spent=case_run.spent)
                clock.note()
            _tell(context, case_run.run)
    finally:
        over.set()
    with context.transaction(brings_forward=True):
        summarise(case_run, case)


def _case_of(context: JobContext, case_run: CaseRun, variables: dict[str, str]) -> TestCase | None:
    """The case, or None where it cannot be read any more; that is its outcome then."""
    try:
        return read_case(case_run.text, variables)
    except CaseError as error:
        with context.transaction():
            problem = redactor(variables.values())(str(error))
            CaseRun.objects.filter(pk=case_run.pk).update(outcome="error", error=problem)
        return None


def _store(case_run: CaseRun, result: IterationResult) -> None:
    values = {"outcome": result.outcome, "data": result.as_dict()}
    CaseIteration.objects.update_or_create(case_run=case_run, number=result.number, defaults=values)


def summarise(case_run: CaseRun, case: TestCase) -> None:
    """Write the sums over the iterations that are there."""
    result = case_run.result(case)
    case_run.outcome = result.outcome
    case_run.passed, case_run.made, case_run.errors = result.passed, result.n, result.errors
    case_run.checks_made = result.n_checks
    case_run.seconds, case_run.tokens = result.seconds, result.tokens
    case_run.save()


@handler("agent_rescore", seconds=_attempt_seconds)
def agent_rescore(context: JobContext) -> None:
    """The answers of an earlier run, scored by the cases and the judge as they are now."""
    run = _run_of(context)
    before = run.rescored_from
    if before is None:
        raise PermanentFailure("The run whose answers are to be scored again was deleted.")
    cache = _Cache(run.suite)
    try:
        variables = variables_of(run.suite)
        hidden = headers_hidden(run.server)
        options = _options(run, variables)
        judge = judge_for(run.suite, options.reading, cache, tuple(variables.values()))
    except (SecretError, BackendError) as error:
        raise PermanentFailure(str(error)) from error
    clean = redactor([*variables.values(), *hidden])
    answers = {case_run.case_id: case_run for case_run in before.case_runs.all() if case_run.case_id}
    with _Clock(context, run) as clock:
        for case_run in run.case_runs.filter(outcome="").order_by("name"):
            clock.check()
            case = _case_of(context, case_run, variables)
            if case is None:
                continue
            earlier = answers.get(case_run.case_id)
            named = _named(earlier, variables) if earlier else ()
            # A ratio that now wants fewer iterations is about the first of them.
            for result in earlier.results()[: case.ratio.iterations] if earlier else []:
                clock.check()
                again = context.beside(
                    partial(scoring.rescore, case, result, judge, options.reading, clean, named)
                )
                with context.transaction(brings_forward=True):
                    _store(case_run, again)
                    cache.keep()
                    clock.note()
                _tell(context, run)
            with context.transaction(brings_forward=True):
                summarise(case_run, case)
    with context.finish():
        AgentRun.objects.filter(pk=run.pk).update(completed_at=timezone.now())


def _named(case_run: CaseRun, variables: dict[str, str]) -> Collection[str]:
    """The variables that the case named then; all of them where it cannot be read any more."""
    case, _ = look_at(case_run.text, variables)
    return case.variables if case is not None else tuple(variables)


def _tell(context: JobContext, run: AgentRun) -> None:
    context.progress(CaseIteration.objects.filter(case_run__run=run).count(), unit="iterations")
