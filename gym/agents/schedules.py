"""Scheduled runs: every night, when the cases change, or when the server's version changes. The owner is notified if a
pass rate falls significantly or a case loses its verdict.

The worker's reaper calls `on_tick` on every tick (gym.jobs.signals.time_passes), so it must not block.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.dispatch import receiver
from django.utils import timezone

from gym.accounts.errors import LimitReached
from gym.accounts.models import AnyUser, User
from gym.agents import permissions, services
from gym.agents.models import AgentRun, AgentSchedule, AgentServer, AgentSuite, CaseRun
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.jobs.models import ACTIVE_STATES, FINAL_STATES, Job
from gym.jobs.signals import time_passes
from gym.notices.models import Notice
from gym.notices.services import notify
from lmgym.agents.regression_test import (
    BASELINE_RUNS,
    Limit,
    Regression,
    Stratum,
    compare_with_baseline,
    limits,
)

log = logging.getLogger(__name__)
MAX_SCHEDULES = 20
"""Maximum number of schedules of a suite."""
NIGHT = 2
"""Hour at which nightly runs begin, in the site's time zone."""
SETTLED = timedelta(minutes=2)
"""Time for which changed cases must stay unchanged before they are run."""
VERSION_PERIOD = timedelta(minutes=10)
"""Interval between reads of a server's version."""
NO_VERSION = "The server did not report its version, so nothing was run. The site will try again."
Every = AgentSchedule.Every


def visible_to(user: AnyUser, suite: AgentSuite) -> QuerySet[AgentSchedule]:
    """Return all schedules of a suite for users who may edit the suite, or else only their own schedules."""
    schedules = suite.schedules.select_related("server__model", "owner", "suite__judge__agent_server")
    if permissions.can_edit(user, suite):
        return schedules
    return schedules.filter(owner=user) if user.is_authenticated else schedules.none()


def add_schedule(
    suite: AgentSuite, server: AgentServer, *, actor: User, every: str, iterations: int | None = None
) -> AgentSchedule:
    """Schedule runs of all cases of a suite on a server, on behalf of `actor`."""
    services.require_may_run(actor, suite, server)
    if every not in Every.values:
        raise ValidationError({"every": f"Unknown schedule {every!r}."})
    if every == Every.VERSION and server.kind not in (AgentServer.Kind.SERVER, AgentServer.Kind.EMBEDDED):
        raise ValidationError({"every": f"{server} reports no version. Choose another schedule."})
    services.require_iterations(iterations)
    if suite.schedules.count() >= MAX_SCHEDULES:
        raise ValidationError(f"A suite can have at most {MAX_SCHEDULES} schedules.")
    schedule = AgentSchedule(suite=suite, server=server, owner=actor, every=every, iterations=iterations)
    schedule.next_at = _next(schedule, timezone.now())
    schedule.stamp = "" if every == Every.VERSION else stamp_of(suite)
    schedule.full_clean()
    schedule.save()
    return schedule


def remove_schedule(schedule: AgentSchedule, *, actor: User) -> None:
    """Delete a schedule. Its runs are kept."""
    if schedule.owner_id != actor.pk and not permissions.can_edit(actor, schedule.suite):
        raise PermissionDenied("this schedule belongs to another user")
    schedule.delete()


def stamp_of(suite: AgentSuite) -> str:
    """Return a stamp that changes whenever a case is added, changed, renamed or deleted."""
    state = suite.cases.aggregate(n=Count("pk"), changed=Max("updated"), sum=Sum("pk"))
    return f"{state['n']} {state['sum']} {state['changed']}"


def _next(schedule: AgentSchedule, now: datetime) -> datetime | None:
    """Return when the schedule is due next; None if it depends on the cases. Nightly runs are spread over the hour."""
    if schedule.every == Every.CHANGE:
        return None
    if schedule.every == Every.VERSION:
        return now + VERSION_PERIOD
    here = timezone.localtime(now)
    tonight = here.replace(hour=NIGHT, minute=(schedule.suite_id or 0) % 60, second=0, microsecond=0)
    return tonight if tonight > here else tonight + timedelta(days=1)


@receiver(time_passes, dispatch_uid="schedules of agent tests")
def on_tick(**_: Any) -> None:
    compare_ended()
    start_due()
    queue_version_checks()


def start_due() -> int:
    """Queue a run for every nightly schedule that is due and every schedule whose cases have changed. Return the number
    of runs queued."""
    now = timezone.now()
    due = AgentSchedule.objects.exclude(every=Every.VERSION).filter(
        Q(next_at__lte=now) | Q(every=Every.CHANGE)
    )
    return sum(_start(schedule, now) for schedule in due.select_related("owner"))


def queue_version_checks() -> int:
    """Queue a job for each server whose version a due schedule waits for, unless one is already queued or
    running for it. Return the number of jobs."""
    now, queued = timezone.now(), 0
    due = AgentSchedule.objects.filter(every=Every.VERSION, next_at__lte=now)
    for server in AgentServer.objects.filter(pk__in=due.values("server")).select_related("model"):
        with transaction.atomic():
            claimed = due.filter(server=server).update(next_at=now + VERSION_PERIOD)
            earlier = Job.objects.filter(kind="agent_version", payload__server=server.pk)
            if claimed and not earlier.filter(state__in=ACTIVE_STATES).exists():
                earlier.delete()  # 144 jobs a day would hide users' jobs
                title = f"Read the version of {server}"
                jobs.enqueue("agent_version", {"server": server.pk}, queue=SHORT, title=title)
                queued += 1
    return queued


def start_on(server: AgentServer, version: str) -> int:
    """Queue a run for every schedule that waits for new versions of this server and last ran on a different one. Return
    the number of runs queued.

    The first version is also run, as a baseline. An empty version starts nothing.
    """
    waiting = server.schedules.filter(every=Every.VERSION)
    if not version:
        waiting.update(trouble=NO_VERSION)
        return 0
    waiting.filter(stamp=version).update(trouble="")
    now, others = timezone.now(), waiting.exclude(stamp=version).select_related("owner")
    return sum(_start(schedule, now, version) for schedule in others)


def _start(schedule: AgentSchedule, now: datetime, version: str = "") -> bool:
    """Queue a run of a due schedule; return True if it was queued. `version`: the server's new version, for schedules
    that wait for one; such a schedule keeps waiting for this version until a run is queued."""
    if schedule.every == Every.CHANGE and not _has_changed(schedule, now):
        return False
    try:
        with transaction.atomic():
            schedule.owner.lock()  # lock accounts before other rows
            rows = AgentSchedule.objects.select_for_update(of=("self",), skip_locked=True)
            row = rows.select_related("suite__judge", "server__model", "owner").filter(pk=schedule.pk).first()
            if row is None or (row.next_at != schedule.next_at) or row.stamp != schedule.stamp:
                return False  # already started by another worker
            row.next_at, row.trouble = _next(row, now), row.pause or _queue(row)
            if row.is_paused:
                pass  # runs after it is resumed
            elif not version:
                row.stamp = stamp_of(row.suite)
            elif not row.trouble:
                row.stamp = version
            row.save(update_fields=["next_at", "stamp", "trouble"])
            return not row.trouble
    except Exception:
        log.exception("starting the schedule %s failed", schedule.pk)
        return False


def _has_changed(schedule: AgentSchedule, now: datetime) -> bool:
    newest = schedule.suite.cases.aggregate(newest=Max("updated"))["newest"]
    settled = newest is None or newest <= now - SETTLED
    return settled and stamp_of(schedule.suite) != schedule.stamp


def _queue(schedule: AgentSchedule) -> str:
    """Queue a run; return the reason if it could not be queued, or an empty string."""
    if any(
        run.job is not None and run.job.is_active
        for run in schedule.runs.select_related("job")[:BASELINE_RUNS]
    ):
        return "The previous run had not finished, so no new run was queued."
    try:
        with transaction.atomic():
            services.queue_run(
                schedule.suite,
                schedule.server,
                actor=schedule.owner,
                iterations=schedule.iterations,
                schedule=schedule,
            )
    except (ValidationError, LimitReached) as error:
        return " ".join(getattr(error, "messages", [str(error)]))
    except PermissionDenied as error:
        return f"{schedule.owner} is no longer allowed to run this suite: {error}."
    return ""


# --- results ---


def compare_ended() -> int:
    """Compare each ended scheduled run once with earlier runs. Return the number of runs compared."""
    ended = AgentRun.objects.filter(
        schedule__isnull=False, regression__isnull=True, job__state__in=FINAL_STATES
    )
    return sum(_compare(run) for run in ended.select_related("schedule__owner", "suite", "server__model"))


def _compare(run: AgentRun) -> bool:
    schedule = run.schedule
    assert schedule is not None
    regression = regression_of(run)
    text = _news(run, regression)
    with transaction.atomic():
        schedule.owner.lock()
        if not AgentRun.objects.filter(pk=run.pk, regression__isnull=True).update(
            regression=regression.as_dict()
        ):
            return False
        if text:
            about = f"agent-schedule-{schedule.pk}"
            notify(schedule.owner, Notice.Kind.RUNS, text, run.get_absolute_url(), about=about)
    return True


def regression_of(run: AgentRun) -> Regression:
    """Compare a run with the previous BASELINE_RUNS completed runs of its schedule, over cases with unchanged text."""
    earlier = AgentRun.objects.filter(
        schedule=run.schedule_id, completed_at__isnull=False, created__lt=run.created
    )
    rows: dict[tuple[str, str], tuple[int, int]] = {}
    for before in earlier.order_by("-created")[:BASELINE_RUNS]:
        for row in before.case_runs.filter(n__gt=0, unsatisfiable=""):
            passed, made = rows.get((row.name, row.text), (0, 0))
            rows[row.name, row.text] = (passed + row.passed, made + row.n)
    return compare_with_baseline(
        [
            Stratum(rows.get((row.name, row.text), (0, 0)), (row.passed, row.n), row.name)
            for row in run.case_runs.all()
            if _ended_without_verdict(row) or (row.n and not row.unsatisfiable)
        ]
    )


def _ended_without_verdict(row: CaseRun) -> bool:
    """Return True if the case ended without a verdict; False if the run stopped before the case."""
    return not row.n and row.outcome in ("error", "skipped")


def _news(run: AgentRun, regression: Regression) -> str:
    where = f"{run.suite} on {run.server}"
    if not run.case_runs.filter(n__gt=0).exists():
        return f"{where}: the scheduled run ended without a verdict. The page of the run shows why."
    before, now = regression.rates
    overall = f"the pass rate fell significantly, from {before} to {now} ({regression.evidence})."
    news = [
        overall if regression.is_significant else "",
        regression.regressed_sentence,
        regression.lost_sentence,
    ]
    return f"{where}: {' '.join(filter(None, news))}" if any(news) else ""


def limits_of(suite: AgentSuite, iterations: int | None) -> list[Limit]:
    """Return a suite's detection limits for this number of iterations per case; None: as specified in the cases.

    With None each case is parsed, which takes about a millisecond; cases that cannot be parsed are excluded.
    """
    if iterations is not None:
        return limits([iterations] * suite.cases.count())
    read = [case.parse()[0] for case in suite.cases.select_related("suite")]
    return limits([case.ratio.iterations for case in read if case is not None])
