"""Use cases: register servers, write and import cases, queue and rescore runs, name failures, hand over suites."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Count, ProtectedError, Q

from gym.accounts.models import User
from gym.addresses import slug_from
from gym.agents import permissions
from gym.agents.models import (
    AgentCase,
    AgentRun,
    AgentSchedule,
    AgentServer,
    AgentSuite,
    CaseRun,
    Naming,
)
from gym.agents.pauses import note_changes
from gym.agents.quotas import AGENT_RUNS, AGENT_SUITES
from gym.agents.selectors import judges_for, parse_for_user, servers_lent_to, servers_usable_by
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.secrets import sealed
from gym.sharing.models import Visibility
from gym.sharing.selectors import shared_by
from gym.sharing.services import lock_object
from lmgym.agents.assessor import can_be_named, samples_of
from lmgym.agents.cases import MAX_ITERATIONS, READINGS, errors_in, repeated
from lmgym.agents.demo_server import least_seconds
from lmgym.agents.driver import Options
from lmgym.agents.transport import server_address_problem
from lmgym.agents.unsatisfiable import unsatisfiable_reason
from lmgym.text import count
from models_registry import permissions as model_permissions
from models_registry.models import AGENT, RegisteredModel
from models_registry.quotas import MODELS

CARD = ("slug", "title", "visibility", "description", "judge", "judge_agent", "judge_votes", "updated")
"""Columns that are written when an existing suite is saved; its variables are saved separately."""
MAX_CASES = 500
READING_SECONDS = 30
"""Maximum CPU time in seconds to read all cases of an upload."""
QUEUE = "agents"
"""Queue for jobs that mostly wait for other machines; every worker that serves it has a thread for it."""
MAX_NAMED_FAILURES = 1_000
Kind = AgentServer.Kind


def register_server(
    *,
    actor: User,
    name: str,
    slug: str = "",
    kind: str,
    url: str = "",
    chat_model: str = "",
    secret_headers: dict[str, str] | None = None,
    **card: Any,
) -> AgentServer:
    """Register a server as a model with the backend `agent` and queue its check.

    Any signed-in user may register a server, because GYM_NET_ALLOW limits which addresses the site contacts.
    """
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to register a server")
    _validate_config(kind, url)
    with MODELS.growing(actor, new=True):
        slug = slug or slug_from(name, "agent", 80)
        model = RegisteredModel(slug=slug, name=name, owner=actor, backend=AGENT, config={}, **card)
        model.full_clean(exclude=["facts", "config"])
        model.save()
        secrets = sealed({}, secret_headers or {})
        server = AgentServer.objects.create(
            model=model, kind=kind, url=url, chat_model=chat_model, secrets=secrets
        )
        queue_check(server, actor=actor)
    return server


def _validate_config(kind: str, url: str) -> None:
    if kind in (Kind.SERVER, Kind.CHAT) and (problem := server_address_problem(url)):
        raise ValidationError({"url": problem})


def change_server(
    server: AgentServer, *, actor: User, url: str, chat_model: str, secret_headers: dict[str, str | None]
) -> None:
    """Change the connection to a server.

    An empty secret keeps the stored value; None deletes it. A new address deletes all secrets that are not sent again,
    because they were meant for the old address.
    """
    if not model_permissions.can_manage(actor, server.model):
        raise PermissionDenied("this server belongs to another user")
    _validate_config(server.kind, url)
    with transaction.atomic():
        lock_object(server.model)
        server.refresh_from_db(fields=["url", "secrets"])
        kept = server.secrets if url == server.url else {}
        server.url, server.chat_model = url, chat_model
        server.secrets = sealed(kept, secret_headers)
        server.save(update_fields=["url", "chat_model", "secrets"])
        queue_check(server, actor=actor)


def queue_check(server: AgentServer, *, actor: User) -> None:
    """Queue a check, which reads the server's version, agents and call graphs. Does nothing while one is active."""
    if not model_permissions.can_edit(actor, server.model):
        raise PermissionDenied("this server belongs to another user")
    model = server.model
    if model.check_job is not None and model.check_job.is_active:
        return
    with transaction.atomic():
        model.status, model.status_reason = RegisteredModel.Status.UNCHECKED, ""
        model.check_job = jobs.enqueue(
            "check_agent", {"server": server.pk}, owner=actor, queue=SHORT, title=f"Check {model.name}"
        )
        model.save(update_fields=["status", "status_reason", "check_job"])


def delete_server(server: AgentServer, *, actor: User) -> None:
    """Delete a server with its card and secrets. A server with runs, or whose check is active, cannot be deleted."""
    model = server.model
    if not model_permissions.can_manage(actor, model):
        raise PermissionDenied("this server belongs to another user")
    if model.check_job is not None and model.check_job.is_active:
        raise ValidationError("The check of this server has not finished. Cancel it, or wait.")
    try:
        model.delete()
    except ProtectedError as error:
        raise ValidationError("This server has runs, so it cannot be deleted.") from error


def _require_edit(actor: User, suite: AgentSuite) -> None:
    if not permissions.can_edit(actor, suite):
        raise PermissionDenied("this suite belongs to another user")


def _require_manage(actor: User, suite: AgentSuite) -> None:
    if not permissions.can_manage(actor, suite):
        raise PermissionDenied(
            "only the owner and staff can delete a suite or change its visibility and secrets"
        )


def _require_steer(actor: User, run: AgentRun) -> None:
    if not permissions.can_steer(actor, run):
        raise PermissionDenied("this run belongs to another user")


def save_suite(
    suite: AgentSuite, *, actor: User, variables: dict[str, str | None] | None = None
) -> AgentSuite:
    """Create or change a suite. An empty variable keeps the stored value; None deletes it."""
    before = AgentSuite.objects.filter(pk=suite.pk).first()
    if before is None:
        if not actor.is_authenticated:
            raise PermissionDenied("sign in to write tests")
        suite.owner = actor
    else:
        _require_edit(actor, suite)
        if variables or suite.visibility != before.visibility:
            _require_manage(actor, suite)
    new_judge = before is None or suite.judge_id != before.judge_id
    if suite.judge is not None and new_judge and not judges_for(actor).filter(pk=suite.judge.pk).exists():
        raise ValidationError({"judge": "This judge is not ready, or you may not use it."})
    if suite.judge_agent and (new_judge or before is None or suite.judge_agent != before.judge_agent):
        _require_listed(suite)
    suite.slug = suite.slug or slug_from(suite.title, "agent-tests", 80)
    suite.full_clean(exclude=["owner"])
    with AGENT_SUITES.growing(suite.owner, actor=actor, new=before is None):
        if before is None:
            suite.variables = sealed({}, variables or {})
            suite.save()
        else:
            suite.save(update_fields=CARD)
            _save_variables(suite, variables)
    return suite


def _require_listed(suite: AgentSuite) -> None:
    """Raise ValidationError if the judge's server does not list the judging agent."""
    server = AgentServer.objects.filter(model=suite.judge).first() if suite.judge is not None else None
    if server is None or not server.answers_for(suite.judge_agent):
        if suite.judge is None:
            raise ValidationError({"judge_agent": "Choose a judge, or leave the judge agent empty."})
        raise ValidationError({"judge_agent": f"{suite.judge} does not list the agent {suite.judge_agent}."})


def _save_variables(suite: AgentSuite, variables: dict[str, str | None] | None) -> None:
    if variables:
        lock_object(suite)  # because variables are deleted when a suite gets another owner
        suite.variables = sealed(suite.variables, variables)
        suite.save(update_fields=["variables"])


def delete_suite(suite: AgentSuite, *, actor: User) -> None:
    _require_manage(actor, suite)
    if any(run.job is not None and run.job.is_active for run in suite.runs.select_related("job")):
        raise ValidationError("A run of this suite has not finished. Cancel it first.")
    suite.delete()


def save_case(case: AgentCase, *, actor: User) -> AgentCase:
    """Create or change a case. Its text must be a valid test case; warnings are accepted."""
    _require_edit(actor, case.suite)
    if case.pk is None and case.suite.cases.count() >= MAX_CASES:
        raise ValidationError(f"A suite can have at most {MAX_CASES} cases.")
    read, problems = parse_for_user(case, actor)
    if read is None:
        raise ValidationError({"text": errors_in(problems)})
    case.agent = read.agent
    case.full_clean()
    before = AgentCase.objects.filter(pk=case.pk).first()
    with AGENT_SUITES.growing(case.suite.owner, actor=actor):
        if before is None or (before.name, before.text) != (case.name, case.text):
            note_changes(case.suite, [case.name], actor=actor)
        case.save()
    return case


def delete_case(case: AgentCase, *, actor: User) -> None:
    """Delete a case. Runs keep its text and results."""
    _require_edit(actor, case.suite)
    case.delete()


def import_cases(suite: AgentSuite, files: dict[str, str], *, actor: User) -> list[AgentCase]:
    """Add or replace cases by name, either all or none. Raises ValidationError with all problems, PermissionDenied, and
    OverQuota."""
    _require_edit(actor, suite)
    problems = []
    agents = {}
    began = time.thread_time()
    for name, text in files.items():
        if time.thread_time() - began > READING_SECONDS:
            message = (
                f"Reading these cases takes more than {READING_SECONDS} seconds. Upload fewer cases at once."
            )
            raise ValidationError(message)
        case, findings = parse_for_user(AgentCase(suite=suite, text=text), actor)
        if case is None:
            problems += [f"{name}: {problem}" for problem in errors_in(findings)]
        else:
            agents[name] = case.agent
    existing = {case.name: case for case in suite.cases.all()}
    if len(set(existing) | set(files)) > MAX_CASES:
        problems.append(f"A suite can have at most {MAX_CASES} cases.")
    if problems:
        raise ValidationError(problems)
    saved = []
    changed = [name for name, text in files.items() if name not in existing or existing[name].text != text]
    with AGENT_SUITES.growing(suite.owner, actor=actor):
        if changed:
            note_changes(suite, changed, actor=actor)
        for name, text in files.items():
            row = existing.get(name) or AgentCase(suite=suite, name=name)
            row.text, row.agent = text, agents[name]
            row.full_clean()
            row.save()
            saved.append(row)
    return saved


def queue_run(
    suite: AgentSuite,
    server: AgentServer,
    *,
    actor: User,
    cases: list[AgentCase] | None = None,
    reading: str = "document",
    early_stop: bool = False,
    parallel: int = 4,
    iterations: int | None = None,
    schedule: AgentSchedule | None = None,
    unchecked: bool = False,
) -> AgentRun:
    """Queue a run of cases on a server.

    Args:
        cases: cases to run; default: all the suite's cases.
        iterations: iterations of each case, at its required rate; default: as specified in the case.
        schedule: the schedule that starts the run.
        unchecked: allow a server whose check is still queued.

    Raises:
        PermissionDenied, ValidationError, LimitReached, OverQuota
    """
    require_may_run(actor, suite, server, checked=not unchecked)
    if reading not in READINGS:
        raise ValidationError(f"There is no reading {reading!r}. Choose from: {', '.join(READINGS)}.")
    selected = list(suite.cases.all()) if cases is None else cases
    if not selected:
        raise ValidationError("There are no cases to run.")
    require_iterations(iterations)
    parallel = max(1, min(16, parallel))
    _require_short(
        selected, server, iterations, Options(reading=reading, early_stop=early_stop, parallel=parallel)
    )
    with AGENT_RUNS.growing(actor, new=True):
        options = {"reading": reading, "early_stop": early_stop, "parallel": parallel}
        options |= {} if iterations is None else {"iterations": iterations}
        run = AgentRun.objects.create(
            suite=suite, server=server, owner=actor, options=options, schedule=schedule
        )
        total = sum(len(_add_case(run, case).numbers) for case in selected)
        return _enqueue("agent_run", run, f"{suite.slug} on {server}", total, actor)


def _enqueue(kind: str, run: AgentRun, title: str, total: int, owner: User) -> AgentRun:
    """Enqueue the job. Runs queued by users belong to a batch, and the user is notified when it ends."""
    payload, batch = {"run": run.pk}, None if run.schedule_id else jobs.batch_of(owner)
    run.job = jobs.enqueue(kind, payload, owner=owner, queue=QUEUE, title=title, total=total, batch=batch)
    run.save(update_fields=["job"])
    return run


def queue_runs(
    suite: AgentSuite, servers: list[AgentServer], *, actor: User, **options: Any
) -> list[AgentRun]:
    """Queue a run of the same cases on each server, either all or none. Raises the same errors as `queue_run`; those
    about a server have the key `servers`."""
    try:
        with transaction.atomic():
            return [queue_run(suite, server, actor=actor, **options) for server in servers]
    except ValidationError as error:
        if "server" in getattr(error, "error_dict", {}):
            raise ValidationError({"servers": error.messages}) from error
        raise


def require_may_run(actor: User, suite: AgentSuite, server: AgentServer, *, checked: bool = True) -> None:
    """Raise PermissionDenied or ValidationError if `actor` may not start a run, which uses the suite's variables and
    judge and the server's keys.

    `checked`: the server must also be ready.
    """
    if not permissions.can_view(actor, suite) or not actor.is_authenticated:
        raise PermissionDenied("only signed-in users who can see this suite can run it")
    if not permissions.can_run_suite(actor, suite):
        raise PermissionDenied("this suite has its owner's secrets, so only the owner can run it")
    if not servers_lent_to(actor).filter(pk=server.pk).exists():
        raise ValidationError(
            {"server": f"You may not use {server}: it is private or has its owner's secrets."}
        )
    if checked and not server.model.is_ready:
        raise ValidationError(
            {"server": f"{server} is not ready (state: {server.model.get_status_display()})."}
        )
    if not permissions.can_judge(actor, suite):
        raise PermissionDenied(
            "the judge of this suite is private or has secrets, so only its owner can use it"
        )


def require_iterations(iterations: int | None) -> None:
    if iterations is not None and not 0 < iterations <= MAX_ITERATIONS:
        raise ValidationError(f"The number of iterations must be between 1 and {MAX_ITERATIONS:,}.")


def _require_short(
    cases: list[AgentCase], server: AgentServer, iterations: int | None, options: Options
) -> None:
    """Reject a run that cannot end in time. Only the demo agents' pauses are known in advance; runs on other servers
    are ended by the time limit."""
    if server.kind != Kind.EMBEDDED:
        return
    read = [case.parse()[0] for case in cases]
    seconds = sum(least_seconds(repeated(case, iterations), options) for case in read if case is not None)
    limit = settings.GYM_AGENT_RUN_SECONDS
    if seconds > limit:
        raise ValidationError(
            f"The pauses of these cases (SLEEP) take at least {seconds:,.0f} seconds with "
            f"{count(options.parallel, 'parallel iteration')}, but a run may take {limit:,} seconds "
            "(GYM_AGENT_RUN_SECONDS). Run fewer cases or iterations, or shorten the pauses."
        )


def _add_case(run: AgentRun, case: AgentCase) -> CaseRun:
    read, problems = case.parse()
    made = CaseRun(run=run, case=case, name=case.name, text=case.text, agent=case.agent)
    if read is None:
        made.error = "\n".join(errors_in(problems))
    else:
        read = repeated(read, run.iterations)
        made.planned, made.required_rate = read.ratio.iterations, read.ratio.rate
        made.needed = read.ratio.required(run.reading)
        made.unsatisfiable = unsatisfiable_reason(read, run.reading, has_judge=run.suite.judge_id is not None)
    made.save()
    return made


def queue_rescoring(run: AgentRun, *, actor: User, reading: str = "", ask_judge: bool = False) -> AgentRun:
    """Queue a new run that scores a run's stored answers by the current cases and judge.

    No agent is called. The judge is asked only about answers that it has not judged, unless `ask_judge` is True.
    `reading`: default: the run's reading.
    """
    _require_steer(actor, run)
    if reading and reading not in READINGS:
        raise ValidationError(f"There is no reading {reading!r}. Choose from: {', '.join(READINGS)}.")
    require_may_run(actor, run.suite, run.server, checked=False)
    if not run.is_done:
        raise ValidationError(f"Only a finished run can be rescored; this run is {run.state}.")
    with AGENT_RUNS.growing(actor, new=True):
        new = AgentRun.objects.create(
            suite=run.suite,
            server=run.server,
            owner=actor,
            options=_options_again(run, reading, ask_judge),
            server_version=run.server_version,
            rescored_from=run,
        )
        cases = [row.case for row in run.case_runs.select_related("case") if row.case is not None]
        if not cases:
            raise ValidationError("The cases of this run were deleted.")
        stored = dict(run.case_runs.values_list("case").annotate(n=Count("iterations")))
        total = sum(min(len(_add_case(new, case).numbers), stored[case.pk]) for case in cases)
        return _enqueue("agent_rescore", new, f"Score {run} again", total, actor)


def _options_again(run: AgentRun, reading: str, ask_judge: bool) -> dict[str, Any]:
    options = {name: value for name, value in run.options.items() if name != "ask_judge"}
    return options | ({"reading": reading} if reading else {}) | ({"ask_judge": True} if ask_judge else {})


def run_out_of_time() -> str:
    return (
        f"The run reached its limit of {settings.GYM_AGENT_RUN_SECONDS:,} seconds (GYM_AGENT_RUN_SECONDS). Finished "
        "iterations are kept. Start a new run with fewer cases or iterations."
    )


def cancel_run(run: AgentRun, *, actor: User) -> None:
    """Cancel a run. Finished iterations are kept."""
    _require_steer(actor, run)
    if run.job is not None:
        jobs.request_cancel(run.job, actor=actor)


def retry_run(run: AgentRun, *, actor: User) -> None:
    """Resume a failed or cancelled run."""
    _require_steer(actor, run)
    if run.job is None:
        raise ValidationError("The job of this run no longer exists. Start a new run.")
    if run.spent >= settings.GYM_AGENT_RUN_SECONDS:
        raise ValidationError(run_out_of_time())
    calls_agent = run.rescored_from_id is None
    require_may_run(actor, run.suite, run.server, checked=calls_agent)
    with transaction.atomic():
        jobs.retry(run.job, actor=actor, batch=jobs.batch_of(run.owner) if run.owner else None)


def queue_naming(case_run: CaseRun, server: AgentServer, agent: str, *, actor: User) -> Naming:
    """Queue the naming of a case's failures by an agent. Earlier choices are deleted, but their names are kept and
    offered again. Raises ValidationError, PermissionDenied and LimitReached."""
    _require_edit(actor, case_run.run.suite)
    if not servers_usable_by(actor).filter(pk=server.pk).exists():
        raise ValidationError(f"{server} is not ready, or you may not use it.")
    if server.kind == AgentServer.Kind.SERVER and not agent.strip():
        raise ValidationError({"agent": f"Choose an agent of {server} to name the failures."})
    if "\0" in agent:
        raise ValidationError({"agent": "A name cannot contain the character U+0000."})
    if agent.strip() and not server.answers_for(agent.strip()):
        raise ValidationError({"agent": f"{server} does not list the agent {agent.strip()}."})
    if not case_run.outcome:
        raise ValidationError("This case has not finished.")
    naming = Naming.objects.filter(case_run=case_run).select_related("job").first()
    naming = naming or Naming(case_run=case_run)
    if naming.job is not None and naming.job.is_active:
        raise ValidationError("The failures are already being named.")
    total = sum(map(can_be_named, samples_of(case_run.result())))
    if not total:
        raise ValidationError("No answer failed, so there are no failures to name.")
    if total > MAX_NAMED_FAILURES:
        raise ValidationError(f"There are {total:,} failures; at most {MAX_NAMED_FAILURES:,} can be named.")
    with transaction.atomic():
        naming.server, naming.agent, naming.total = server, agent.strip()[:200], total
        naming.chosen, naming.trouble, naming.completed_at = {}, "", None
        naming.save()
        title = f"Name the failures of {case_run.name}"
        payload = {"naming": naming.pk}
        naming.job = jobs.enqueue("agent_naming", payload, owner=actor, queue=QUEUE, title=title, total=total)
        naming.save(update_fields=["job"])
    return naming


def forget_naming(case_run: CaseRun, *, actor: User) -> None:
    """Discard a model's choices, cancelling a naming in progress, and group the failures by text again. The names are
    kept."""
    _require_edit(actor, case_run.run.suite)
    naming = Naming.objects.filter(case_run=case_run).select_related("job").first()
    if naming is None:
        return
    jobs.stop(naming.job, actor=actor)
    naming.delete()


# --- deleted accounts ---


def kept_suites(user: User) -> Any:
    """Return the user's suites on which others depend: public suites, and suites with collaborators or others' runs."""
    others = AgentRun.objects.exclude(owner=user).values("suite")
    relied_on = Q(visibility=Visibility.PUBLIC) | Q(pk__in=others) | shared_by(user, AgentSuite)
    return AgentSuite.objects.filter(owner=user).filter(relied_on)


def doomed_suites(user: User) -> Any:
    return AgentSuite.objects.filter(owner=user).exclude(pk__in=kept_suites(user).values("pk"))


def doomed_agents(user: User) -> Any:
    """Return the user's servers that only they and staff can see: private servers without collaborators."""
    private = Q(visibility=Visibility.PRIVATE) & ~shared_by(user, RegisteredModel)
    return RegisteredModel.objects.filter(private, owner=user, backend=AGENT)


def delete_or_hand_over(user: User, heir: User) -> None:
    """Delete suites and servers that only the owner and staff could see. Hand over the other suites, and remove the
    secrets of everything kept (the caller hands over the servers).

    Call this in a transaction, before the models are deleted.
    """
    kept = list(kept_suites(user).values_list("pk", flat=True))
    agents = list(doomed_agents(user).values_list("pk", flat=True))
    doomed_suites(user).delete()
    AgentRun.objects.filter(server__model__in=agents).delete()
    RegisteredModel.objects.filter(pk__in=agents).delete()
    AgentServer.objects.filter(model__owner=user).update(secrets={})
    AgentSuite.objects.filter(pk__in=kept).update(owner=heir, variables={})
