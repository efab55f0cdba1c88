"""Pausing of schedules after other users have changed cases.

A scheduled run uses secrets with the rights of the schedule's owner: the suite's variables, and headers of the server
and the judge. Cases determine where secrets are sent, so cases changed by other users are not run with secrets until
the owner has reviewed them.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from gym.accounts.models import User
from gym.agents.models import AgentSchedule, AgentSuite
from gym.notices.models import Notice
from gym.notices.services import forget, notify
from lmgym.text import listing

MAX_LISTED = 6
"""Maximum number of changed cases listed in a line."""
MAX_CHANGES = 20
"""Maximum number of changes by other users listed for a paused schedule; the newest are kept."""


def note_changes(suite: AgentSuite, names: Sequence[str], *, actor: User) -> None:
    """Note in other users' schedules that `actor` changes these cases, which pauses schedules that use secrets.

    Call this first in the transaction that changes the cases.
    """
    when = f"{timezone.now():%Y-%m-%d %H:%M:%S} UTC"
    change = " ".join(f"{actor.display_name} changed {listing(names, MAX_LISTED)} at {when}".split())
    for pk, owner in suite.schedules.exclude(owner=actor).order_by("owner").values_list("pk", "owner"):
        User(pk=owner).lock()  # lock accounts before other rows
        rows = AgentSchedule.objects.select_for_update(of=("self",))
        schedule = rows.select_related("owner", "server__model", "suite__judge").filter(pk=pk).first()
        if schedule is None:
            continue
        was_paused = schedule.is_paused
        schedule.unseen = "\n".join([*schedule.unseen.splitlines(), change][-MAX_CHANGES:])
        schedule.save(update_fields=["unseen"])
        if schedule.is_paused and not was_paused:
            text = f"{suite}: the schedule on {schedule.server} is paused because {change}."
            address = f"{suite.get_absolute_url()}#schedules"
            notify(schedule.owner, Notice.Kind.RUNS, text, address, about=_about(schedule))


def resume(schedule: AgentSchedule, *, actor: User, seen: str) -> None:
    """Resume a schedule. `seen`: the value of `unseen` that its owner reviewed; newer changes keep it paused. Raises
    ValidationError for newer changes, PermissionDenied if the actor is not its owner."""
    if schedule.owner_id != actor.pk:
        raise PermissionDenied("a schedule uses its owner's secrets, so only its owner can resume it")
    rows = AgentSchedule.objects.filter(pk=schedule.pk, unseen=seen.replace("\r\n", "\n"))
    if not rows.update(unseen="", trouble=""):
        raise ValidationError("Cases have changed again. Review them before resuming.")
    forget(actor, _about(schedule))


def _about(schedule: AgentSchedule) -> str:
    return f"agent-schedule-paused-{schedule.pk}"
