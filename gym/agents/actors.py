"""Background jobs of agent tests: check a server, read its version for schedules, run cases, rescore stored answers,
ask an agent to name failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from gym.agents import permissions, schedules, services
from gym.agents.agent_adapters import fetch_version, headers_hidden, judge_for, transport_for, version_in
from gym.agents.models import (
    ARROW,
    AgentRun,
    AgentServer,
    AgentSuite,
    CaseIteration,
    CaseRun,
    FailureMode,
    Naming,
)
from gym.agents.selectors import can_borrow
from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.secrets import SecretError, reveal
from lmgym.agents.assessor import Choice, Known, choices, chooser, samples_of
from lmgym.agents.case_reader import parse_case, read_case
from lmgym.agents.cases import CaseError, TestCase, repeated
from lmgym.agents.driver import Options, run_iterations
from lmgym.agents.llm_judge import AgentJudge
from lmgym.agents.protocol import is_too_deep
from lmgym.agents.redact import TOO_SHORT, Redactor, can_be_hidden, redactor
from lmgym.agents.results import IterationResult
from lmgym.agents.retries import run_transport
from lmgym.agents.scoring import rescore
from lmgym.agents.transport import Deadline, Transport, TransportError
from models_registry.models import RegisteredModel

CHECK_SECONDS = 20.0
MAX_VERSIONS = 4
MAX_AGENTS = 200
MAX_GRAPHS = 20
MAX_NODES = 100
HEALTHY = frozenset(
    ("ok", "okay", "up", "healthy", "pass", "ready", "alive", "live", "running", "serving", "true")
)
"""Statuses reported by healthy servers."""
DEFAULT_NAMER = "namer"
PATIENCE = 3
"""Number of consecutive unanswered requests after which naming stops."""


@handler("check_agent", seconds=120)
def check_agent(context: JobContext) -> None:
    """Read health, version, agents and call graphs from a server, and store them or the reason for a failure."""
    server = AgentServer.objects.select_related("model").filter(pk=context.payload["server"]).first()
    if server is None:
        raise PermanentFailure("The server was deleted.")
    clean = redactor([])
    try:
        transport = transport_for(server)
        clean = redactor(transport.secrets)
        fields = context.run_cancellable(partial(read_server, transport, clean))
        status, reason = RegisteredModel.Status.READY, ""
    except (TransportError, SecretError) as error:
        fields, status, reason = {}, RegisteredModel.Status.BROKEN, clean(str(error))
        context.log(reason)
    now = timezone.now()
    with context.finish():
        AgentServer.objects.filter(pk=server.pk).update(checked_at=now, **fields)
        RegisteredModel.objects.filter(pk=server.model_id).update(
            status=status, status_reason=reason, checked_at=now
        )


@handler("agent_version", seconds=60)
def agent_version(context: JobContext) -> None:
    """Read a server's version and start schedules that wait for a new version. On failure nothing is started."""
    server = AgentServer.objects.select_related("model").filter(pk=context.payload["server"]).first()
    if server is None:
        raise PermanentFailure("The server was deleted.")
    try:
        version = context.run_cancellable(partial(fetch_version, transport_for(server))) or ""
    except (SecretError, TransportError) as error:
        version = ""
        context.log(str(error))
    with context.finish():
        schedules.start_on(server, version)


def read_server(transport: Transport, clean: Redactor) -> dict[str, Any]:
    """Return values for fields of AgentServer. A server may lack a health report and call graphs, but not the list of
    agents. Raises TransportError, also if the server reports an unhealthy status."""
    deadline = Deadline(time.monotonic() + CHECK_SECONDS, "The check")

    def get(path: str) -> Any:
        response = transport.get(path, deadline)
        if is_too_deep(response):
            raise TransportError("protocol", "The server's JSON is nested too deeply.")
        return clean(response)

    version = ""
    try:
        health = get("/healthz")
    except TransportError as error:
        if error.trouble not in ("status", "encoding"):
            raise
    else:
        _require_healthy(health)
        version = version_in(health)
    listed = get("/api/v1/list")
    rows = listed.get("agents") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        raise TransportError(
            "protocol", "The server returns no list of agents, so it is not an agent server."
        )
    agents = [_agent(row) for row in rows[:MAX_AGENTS] if isinstance(row, dict) and row.get("agent_name")]
    graphs: dict[str, Any] = {}
    for agent in agents[:MAX_GRAPHS]:
        try:
            graph = get(f"/api/v1/{quote(agent['agent_name'])}/connectivity")
        except TransportError:
            continue
        nodes = graph.get("connectivity_info") if isinstance(graph, dict) else None
        rows = nodes[:MAX_NODES] if isinstance(nodes, list) else []
        graphs[agent["agent_name"]] = [_node(row) for row in rows if isinstance(row, dict)]
    return {"version": version, "agents": agents, "graphs": graphs}


def _require_healthy(health: Any) -> None:
    """Raise TransportError if the server reports an unhealthy status."""
    status = health.get("status") if isinstance(health, dict) else None
    if status is not None and str(status).lower() not in HEALTHY:
        raise TransportError(
            "protocol", f"The server is not healthy: it reports the status {str(status)[:40]!r}."
        )


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


class _RunWork:
    """Common part of running and rescoring: variables, judge, time limit, and storage of iterations.

    Raises PermanentFailure if the run cannot continue.
    """

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.run = run = _run_of(context)
        self.noted = time.monotonic()
        self.until = self.noted + settings.GYM_AGENT_RUN_SECONDS - run.spent
        try:
            self.variables = variables_of(run.suite)
            secrets = tuple(self.variables.values())
            self.options = Options(run.reading, run.early_stop, run.parallel, secrets=secrets)
            self.judge = judge_for(run.suite, run.reading, secrets)
        except (SecretError, TransportError) as error:
            raise PermanentFailure(str(error)) from error

    def cases(self) -> Iterator[tuple[CaseRun, TestCase]]:
        """Yield unfinished cases and store their totals. A case that cannot be parsed ends as an error."""
        for case_run in self.run.case_runs.filter(outcome="").order_by("name"):
            self.check()
            try:
                case = repeated(read_case(case_run.text, self.variables, secret=True), self.run.iterations)
            except CaseError as error:
                problem = redactor(self.variables.values())(str(error))
                with self.context.transaction():
                    CaseRun.objects.filter(pk=case_run.pk).update(outcome="error", error=problem)
                continue
            yield case_run, case
            with self.context.transaction(brings_forward=True):
                summarise(case_run)

    def keep(self, case_run: CaseRun, result: IterationResult) -> None:
        with self.context.transaction(brings_forward=True):
            _store(case_run, result)
            CaseRun.objects.filter(pk=case_run.pk).update(spent=case_run.spent)
            self.note_time()
        done = CaseIteration.objects.filter(case_run__run=self.run).count()
        self.context.progress(done, unit="iterations")

    def check(self) -> None:
        """Raise the context's exceptions, or PermanentFailure if all attempts together exceed the run's time limit.

        Called several times a second, so it must be cheap.
        """
        self.context.check()
        if time.monotonic() >= self.until:
            raise PermanentFailure(services.run_out_of_time())

    def note_time(self) -> None:
        """Add the seconds since the last call to the run's total."""
        now = time.monotonic()
        AgentRun.objects.filter(pk=self.run.pk).update(spent=F("spent") + now - self.noted)
        self.noted = now


@contextmanager
def _work_on(context: JobContext) -> Iterator[_RunWork]:
    work = _RunWork(context)
    try:
        yield work
    finally:
        work.note_time()
    with context.finish():
        AgentRun.objects.filter(pk=work.run.pk).update(completed_at=timezone.now())


def _run_of(context: JobContext) -> AgentRun:
    runs = AgentRun.objects.select_related("suite__judge", "server__model", "rescored_from")
    run = runs.filter(pk=context.payload["run"]).first()
    if run is None:
        raise PermanentFailure("The run was deleted.")
    suite, server = run.suite, run.server
    rights.require(
        context,
        {
            f"the suite {suite.slug}": lambda person: permissions.can_run_suite(person, suite),
            f"the agent server {server.model.slug}": lambda person: can_borrow(person, server),
            f"the judge of {suite.slug}": lambda person: permissions.can_judge(person, suite),
        },
    )
    return run


def variables_of(suite: AgentSuite) -> dict[str, str]:
    """Decrypt a suite's variables. Raises SecretError if one cannot be decrypted or is too short to be hidden."""
    variables = {name: reveal(suite.variables, name) for name in suite.variables}
    for name, value in variables.items():
        if value and not can_be_hidden(value):
            raise SecretError(f"The value of the variable {name} is too short. {TOO_SHORT}")
    return variables


def _attempt_seconds() -> float:
    """Return the time limit of an attempt in seconds. It only catches runs that hang; `_RunWork.check` stops
    all others that run out of time."""
    return float(settings.GYM_AGENT_RUN_SECONDS) + 60


@handler("agent_run", seconds=_attempt_seconds)
def agent_run(context: JobContext) -> None:
    """Run all iterations of all cases. Each iteration is stored when it ends, so that another worker can continue."""
    with _work_on(context) as work:
        try:
            transport = run_transport(transport_for(work.run.server))
        except (SecretError, TransportError) as error:
            raise PermanentFailure(str(error)) from error
        _note_version(context, work.run, transport)
        for case_run, case in work.cases():
            _run_case(work, case_run, case, transport)
            _note_version(context, work.run, transport)


def _note_version(context: JobContext, run: AgentRun, transport: Transport) -> None:
    """Record the server's version at the start of an attempt and after every case, because a new version may be
    deployed during a run. After the first MAX_VERSIONS, others are recorded as "others"."""
    version, known = fetch_version(transport), run.versions
    if version is None or (not version and not known):
        return
    name = version or "version not reported"
    if name not in known and len(known) >= MAX_VERSIONS:
        name = "others"
    if name in known:
        return
    run.server_version = ARROW.join([*known, name])
    with context.transaction():
        AgentRun.objects.filter(pk=run.pk).update(server_version=run.server_version)


def _run_case(work: _RunWork, case_run: CaseRun, case: TestCase, transport: Transport) -> None:
    before = case_run.results()
    numbers = sorted(set(case_run.numbers) - {result.number for result in before})
    resumed, spent = time.monotonic(), case_run.spent
    over = threading.Event()
    try:
        made = run_iterations(
            case, transport, work.judge, work.options, numbers=numbers, before=before, stop=over.is_set,
            spent=spent, tick=work.check,
        )  # fmt: skip
        for result in made:
            case_run.spent = spent + time.monotonic() - resumed
            work.keep(case_run, result)
    finally:
        over.set()


def _store(case_run: CaseRun, result: IterationResult) -> None:
    values = {"outcome": result.outcome, "data": result.as_dict()}
    CaseIteration.objects.update_or_create(case_run=case_run, number=result.number, defaults=values)


def summarise(case_run: CaseRun) -> None:
    """Store the totals over all iterations run so far."""
    result = case_run.result()
    case_run.outcome = result.outcome
    case_run.passed, case_run.n, case_run.errors = result.passed, result.n, result.errors
    case_run.checks_made = result.checks_made
    case_run.seconds, case_run.tokens = result.seconds, result.tokens
    case_run.save()


@handler("agent_rescore", seconds=_attempt_seconds)
def agent_rescore(context: JobContext) -> None:
    """Score the answers of an earlier run by the current cases and judge. Earlier verdicts of the same judge are reused
    unless the run asks the judge again."""
    with _work_on(context) as work:
        before = work.run.rescored_from
        if before is None:
            raise PermanentFailure("The run whose answers were to be rescored was deleted.")
        try:
            clean = redactor([*work.variables.values(), *headers_hidden(work.run.server)])
        except SecretError as error:
            raise PermanentFailure(str(error)) from error
        made = before.case_runs.all()
        answers: dict[int | None, CaseRun] = {row.case_id: row for row in made if row.case_id}
        for case_run, case in work.cases():
            earlier = answers.get(case_run.case_id)
            if earlier is None:
                continue
            named = _variables_used(earlier, work.variables)
            # If the ratio now requires fewer iterations, only the first iterations are scored.
            for result in earlier.results()[: len(case_run.numbers)]:
                work.check()
                scored = partial(
                    rescore, case, result, work.judge, work.run.reading, clean, named,
                    ask_judge=work.run.ask_judge,
                )  # fmt: skip
                work.keep(case_run, context.run_cancellable(scored))


def _variables_used(case_run: CaseRun, variables: dict[str, str]) -> Collection[str]:
    """Return the variables that the case used in this run, or all variables if it can no longer be parsed."""
    case, _ = parse_case(case_run.text, variables, secret=True)
    return case.variables if case is not None else tuple(variables)


# --- naming failures ---


@handler("agent_naming", seconds=3600)
def agent_naming(context: JobContext) -> None:
    """Let an agent name a case's failures, and store each choice as it arrives. Failures without a choice stay in their
    group."""
    namings = Naming.objects.select_related("case_run__run__suite", "server__model")
    naming = namings.filter(pk=context.payload["naming"], job=context.job_id).first()
    if naming is None:
        raise PermanentFailure("The naming was cancelled.")
    if naming.server is None:
        raise PermanentFailure("The agent server was deleted.")
    suite, server = naming.case_run.run.suite, naming.server
    rights.require(
        context,
        {
            f"the suite {suite.slug}": lambda person: permissions.can_edit(person, suite),
            f"the agent server {server.model.slug}": lambda person: can_borrow(person, server),
        },
    )
    try:
        transport = transport_for(server)
    except (SecretError, TransportError) as error:
        raise PermanentFailure(str(error)) from error
    agent = naming.agent or server.chat_model or DEFAULT_NAMER
    clean = redactor(transport.secrets)
    ask = chooser(AgentJudge(transport, agent))
    chosen = dict(naming.chosen)  # choices of an interrupted attempt
    samples = [sample for sample in samples_of(naming.case_run.result()) if sample.place not in chosen]
    known = known_names(naming.case_run)
    silent = 0
    for choice in choices(
        samples, known, lambda sample, names: clean(context.run_cancellable(partial(ask, sample, names)))
    ):
        context.check()
        silent = silent + 1 if choice.trouble else 0
        if choice.mode:
            chosen[choice.place] = choice.mode
        with context.transaction(brings_forward=True):
            _write_choice(naming, choice, chosen, clean(choice.trouble))
        context.progress(len(chosen), unit="failures")
        if silent >= PATIENCE:
            raise PermanentFailure(f"The agent gave no answer: {clean(choice.trouble)}")
    with context.finish():
        Naming.objects.filter(pk=naming.pk).update(completed_at=timezone.now())


def known_names(case_run: CaseRun) -> Known:
    """Return modes named by models in any run of the case, by group."""
    rows = FailureMode.objects.filter(suite=case_run.run.suite_id, case_name=case_run.name)
    known: Known = {}
    for row in rows.exclude(group="").order_by("pk"):
        known.setdefault(row.group, {})[row.mode] = row.name
    return known


def _write_choice(naming: Naming, choice: Choice, chosen: dict[str, str], trouble: str) -> None:
    values = {"chosen": chosen, **({"trouble": trouble} if trouble else {})}
    Naming.objects.filter(pk=naming.pk).update(**values)
    if choice.new:
        row = naming.case_run
        place: dict[str, Any] = {"suite": row.run.suite, "case_name": row.name, "mode": choice.mode}
        proposal = {"group": choice.group, "name": choice.name}
        FailureMode.objects.update_or_create(**place, defaults=proposal)
