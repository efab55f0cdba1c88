"""Runs that start by themselves: every hour, every night, when the cases or the server's version change; and the news
that a rate fell or a verdict was lost.

The worker's reaper says that time passes (gym.jobs.signals.time_passes); nothing here takes long.
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

from gym.accounts.errors import TooManyJobs
from gym.accounts.models import AnyUser, User
from gym.agents import permissions, services
from gym.agents.models import AgentRun, AgentSchedule, AgentServer, AgentSuite, CaseRun
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.jobs.models import ACTIVE_STATES, FINAL_STATES, Job
from gym.jobs.signals import time_passes
from gym.notices.models import Notice
from gym.notices.services import notify
from lmgym.agents.falls import COMPARED, Fall, Limit, Stratum, fall, limits

log = logging.getLogger(__name__)
MOST = 20
"""Schedules of a suite."""
NIGHT = 2
"""The hour, in the site's time zone, after which nightly runs begin."""
SETTLED = timedelta(minutes=2)
"""A changed set of cases is run once nobody has changed it for so long."""
VERSION_PERIOD = timedelta(minutes=10)
"""A server is asked for its version so often."""
NO_VERSION = "The server did not tell its version, so nothing was run. It is asked again."
Every = AgentSchedule.Every


def visible_to(user: AnyUser, suite: AgentSuite) -> QuerySet[AgentSchedule]:
    """All of a suite for those who edit it; else one's own."""
    found = suite.schedules.select_related("server__model", "owner", "suite__judge__agent_server")
    if permissions.can_edit(user, suite):
        return found
    return found.filter(owner=user) if user.is_authenticated else found.none()


def add_schedule(
    suite: AgentSuite, server: AgentServer, *, actor: User, every: str, iterations: int | None = None
) -> AgentSchedule:
    """Run all cases of a suite on a server again and again, in the name of `actor`."""
    services.require_may_run(actor, suite, server)
    if every not in Every.values:
        raise ValidationError({"every": f"There is no schedule {every!r}."})
    if every == Every.VERSION and server.kind not in (AgentServer.Kind.SERVER, AgentServer.Kind.EMBEDDED):
        raise ValidationError({"every": f"{server} tells no version. Choose another time."})
    services.require_iterations(iterations)
    if suite.schedules.count() >= MOST:
        raise ValidationError(f"A suite has at most {MOST} schedules.")
    schedule = AgentSchedule(suite=suite, server=server, owner=actor, every=every, iterations=iterations)
    schedule.next_at = _next(schedule, timezone.now())
    schedule.stamp = "" if every == Every.VERSION else stamp_of(suite)
    schedule.full_clean()
    schedule.save()
    return schedule


def remove_schedule(schedule: AgentSchedule, *, actor: User) -> None:
    """Its runs stay."""
    if schedule.owner_id != actor.pk and not permissions.can_edit(actor, schedule.suite):
        raise PermissionDenied("this schedule belongs to somebody else")
    schedule.delete()


def stamp_of(suite: AgentSuite) -> str:
    """Another text whenever a case was added, changed, renamed or deleted."""
    found = suite.cases.aggregate(n=Count("pk"), changed=Max("updated"), sum=Sum("pk"))
    return f"{found['n']} {found['sum']} {found['changed']}"


def _next(schedule: AgentSchedule, now: datetime) -> datetime | None:
    """When it is due; None where the cases decide. Minutes are spread, so that not all begin at once."""
    if schedule.every == Every.CHANGE:
        return None
    if schedule.every == Every.HOUR:
        return now + timedelta(hours=1)
    if schedule.every == Every.VERSION:
        return now + VERSION_PERIOD
    here = timezone.localtime(now)
    tonight = here.replace(hour=NIGHT, minute=(schedule.suite_id or 0) % 60, second=0, microsecond=0)
    return tonight if tonight > here else tonight + timedelta(days=1)


@receiver(time_passes, dispatch_uid="schedules of agent tests")
def look_at_the_clock(**_: Any) -> None:
    look_at_ended()
    start_due()
    ask_versions()


def start_due() -> int:
    """Queue a run for every schedule that is due by the clock or by its cases; how many."""
    now = timezone.now()
    due = AgentSchedule.objects.exclude(every=Every.VERSION).filter(
        Q(next_at__lte=now) | Q(every=Every.CHANGE)
    )
    return sum(_start(schedule, now) for schedule in due.select_related("owner"))


def ask_versions() -> int:
    """Queue a question for every server whose version a schedule is waiting for, one at a time; how many."""
    now, asked = timezone.now(), 0
    due = AgentSchedule.objects.filter(every=Every.VERSION, next_at__lte=now)
    for server in AgentServer.objects.filter(pk__in=due.values("server")).select_related("model"):
        with transaction.atomic():
            claimed = due.filter(server=server).update(next_at=now + VERSION_PERIOD)
            questions = Job.objects.filter(kind="agent_version", payload__server=server.pk)
            if claimed and not questions.filter(state__in=ACTIVE_STATES).exists():
                questions.delete()  # 144 a day would hide the jobs that people ask for
                title = f"Ask {server} for its version"
                jobs.enqueue("agent_version", {"server": server.pk}, queue=SHORT, title=title)
                asked += 1
    return asked


def start_on(server: AgentServer, version: str) -> int:
    """Queue a run for every schedule whose last run another version answered; how many. The first time there is no
    run to compare with, so one is made. An empty version, or none, starts nothing."""
    waiting = server.schedules.filter(every=Every.VERSION)
    if not version:
        waiting.update(trouble=NO_VERSION)
        return 0
    waiting.filter(stamp=version).update(trouble="")
    now, others = timezone.now(), waiting.exclude(stamp=version).select_related("owner")
    return sum(_start(schedule, now, version) for schedule in others)


def _start(schedule: AgentSchedule, now: datetime, version: str = "") -> bool:
    """`version`: the one that the server tells, for a schedule that waits for another. It waits for this one until a
    run has been queued."""
    if schedule.every == Every.CHANGE and not _has_changed(schedule, now):
        return False
    try:
        with transaction.atomic():
            schedule.owner.hold()  # accounts first, then things
            rows = AgentSchedule.objects.select_for_update(of=("self",), skip_locked=True)
            row = rows.select_related("suite__judge", "server__model", "owner").filter(pk=schedule.pk).first()
            if row is None or (row.next_at != schedule.next_at) or row.stamp != schedule.stamp:
                return False  # another worker started it
            row.next_at, row.trouble = _next(row, now), row.pause or _queue(row)
            if row.is_paused:
                pass  # what there is to run is run once it is resumed
            elif not version:
                row.stamp = stamp_of(row.suite)
            elif not row.trouble:
                row.stamp = version
            row.save(update_fields=["next_at", "stamp", "trouble"])
            return not row.trouble
    except Exception:
        log.exception("the schedule %s could not be looked at", schedule.pk)
        return False


def _has_changed(schedule: AgentSchedule, now: datetime) -> bool:
    newest = schedule.suite.cases.aggregate(newest=Max("updated"))["newest"]
    settled = newest is None or newest <= now - SETTLED
    return settled and stamp_of(schedule.suite) != schedule.stamp


def _queue(schedule: AgentSchedule) -> str:
    """Why no run was queued, or an empty text."""
    if any(
        run.job is not None and run.job.is_active for run in schedule.runs.select_related("job")[:COMPARED]
    ):
        return "The run before is not finished."
    try:
        with transaction.atomic():
            services.queue_run(
                schedule.suite,
                schedule.server,
                actor=schedule.owner,
                iterations=schedule.iterations,
                schedule=schedule,
            )
    except (ValidationError, TooManyJobs) as error:
        return " ".join(getattr(error, "messages", [str(error)]))
    except PermissionDenied as error:
        return f"{schedule.owner} may not run this any more: {error}."
    return ""


# --- what came of them ---


def look_at_ended() -> int:
    """Compare scheduled runs that have ended with those before them, once each; how many."""
    ended = AgentRun.objects.filter(schedule__isnull=False, fall__isnull=True, job__state__in=FINAL_STATES)
    return sum(_look_at(run) for run in ended.select_related("schedule__owner", "suite", "server__model"))


def _look_at(run: AgentRun) -> bool:
    schedule = run.schedule
    assert schedule is not None
    found = fall_of(run)
    text = _news(run, found)
    with transaction.atomic():
        schedule.owner.hold()
        if not AgentRun.objects.filter(pk=run.pk, fall__isnull=True).update(fall=found.as_dict()):
            return False
        if text:
            about = f"agent-schedule-{schedule.pk}"
            notify(schedule.owner, Notice.Kind.RUNS, text, run.get_absolute_url(), about=about)
    return True


def fall_of(run: AgentRun) -> Fall:
    """Against the COMPARED runs of the schedule before it, over the cases whose text is the same."""
    earlier = AgentRun.objects.filter(
        schedule=run.schedule_id, completed_at__isnull=False, created__lt=run.created
    )
    rows: dict[tuple[str, str], tuple[int, int]] = {}
    for before in earlier.order_by("-created")[:COMPARED]:
        for row in before.case_runs.filter(made__gt=0, hopeless=""):
            passed, made = rows.get((row.name, row.text), (0, 0))
            rows[row.name, row.text] = (passed + row.passed, made + row.made)
    return fall(
        [
            Stratum(rows.get((row.name, row.text), (0, 0)), (row.passed, row.made), row.name)
            for row in run.case_runs.all()
            if _ended_without_verdict(row) or (row.made and not row.hopeless)
        ]
    )


def _ended_without_verdict(row: CaseRun) -> bool:
    """A case that a run did not come to, because somebody stopped it, has lost nothing."""
    return not row.made and row.outcome in ("error", "skipped")


def _news(run: AgentRun, found: Fall) -> str:
    where = f"{run.suite} on {run.server}"
    if not run.case_runs.filter(made__gt=0).exists():
        return (
            f"{where}: the scheduled run has no verdict, because the server or the judge could not be asked."
        )
    before, now = found.rates
    overall = f"the pass rate fell from {before} to {now}, more than chance explains ({found.evidence})."
    told = [overall if found.is_beyond_chance else "", found.fallen_sentence, found.lost_sentence]
    return f"{where}: {' '.join(filter(None, told))}" if any(told) else ""


def limits_of(suite: AgentSuite, iterations: int | None) -> list[Limit]:
    """Which falls can be reported at so many iterations of each case; None: as many as the cases say. Then each case is
    read, about a millisecond, and those that cannot be read are left out."""
    if iterations is not None:
        return limits([iterations] * suite.cases.count())
    read = [case.look()[0] for case in suite.cases.select_related("suite")]
    return limits([case.ratio.iterations for case in read if case is not None])
