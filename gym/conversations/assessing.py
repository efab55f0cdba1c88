"""Use cases of assessment: let a model name failure modes, rename and merge them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.conversations import permissions, shown
from gym.conversations.assessor import samples_of
from gym.conversations.models import AgentServer, AgentSuite, CaseRun, FailureMode, Naming
from gym.conversations.naming import can_be_named
from gym.conversations.selectors import servers_usable_by
from gym.conversations.services import QUEUE
from gym.jobs import services as jobs

if TYPE_CHECKING:
    from gym.accounts.models import User

MODE = re.compile(r"[0-9a-f]{12}")
MAX_QUESTIONS = 1_000


def queue_naming(case_run: CaseRun, server: AgentServer, agent: str, *, actor: User) -> Naming:
    """Ask an agent why each failure failed. What another one said before is forgotten; names stay known, and are
    offered again. Raises TooManyJobs."""
    _require_edit(actor, case_run.run.suite)
    if not servers_usable_by(actor).filter(pk=server.pk).exists():
        raise ValidationError(f"{server} is not ready, or not for you.")
    if server.kind == AgentServer.Kind.SERVER and not agent.strip():
        raise ValidationError({"agent": f"Which agent of {server} shall name them?"})
    if "\0" in agent:
        raise ValidationError({"agent": "A name cannot hold the character U+0000."})
    if not case_run.outcome:
        raise ValidationError("This case is not finished.")
    naming = Naming.objects.filter(case_run=case_run).select_related("job").first() or Naming(
        case_run=case_run
    )
    if naming.job is not None and naming.job.is_active:
        raise ValidationError("The failures are being named just now.")
    total = sum(map(can_be_named, samples_of(shown.result_of(case_run))))
    if not total:
        raise ValidationError("No answer failed here, so there is nothing to name.")
    if total > MAX_QUESTIONS:
        raise ValidationError(f"{total} failures are too many to ask about; {MAX_QUESTIONS:,} is the limit.")
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
    """Back to groups made without a model. The names it gave stay known."""
    _require_edit(actor, case_run.run.suite)
    naming = Naming.objects.filter(case_run=case_run).select_related("job").first()
    if naming is None:
        return
    if naming.job is not None and naming.job.is_active:
        jobs.request_cancel(naming.job, actor=actor)
    naming.delete()


def change_mode(
    suite: AgentSuite, case_name: str, mode: str, *, actor: User, name: str, merged_into: str
) -> None:
    """Name a failure mode, or say which other one it belongs to; empty is as it was grouped or proposed."""
    _require_edit(actor, suite)
    if not MODE.fullmatch(mode) or (merged_into and not MODE.fullmatch(merged_into)):
        raise ValidationError("A failure mode has an id of 12 hexadecimal digits.")
    if merged_into == mode:
        raise ValidationError("A failure mode cannot be merged into itself.")
    if "\0" in name:
        raise ValidationError("A name cannot hold the character U+0000.")
    if not name and not merged_into:
        FailureMode.objects.filter(suite=suite, case_name=case_name, mode=mode, group="").delete()
        FailureMode.objects.filter(suite=suite, case_name=case_name, mode=mode).update(
            name="", merged_into=""
        )
        return
    values = {"name": name[:300], "merged_into": merged_into}
    FailureMode.objects.update_or_create(suite=suite, case_name=case_name, mode=mode, defaults=values)


def _require_edit(actor: User, suite: AgentSuite) -> None:
    if not permissions.can_edit(actor, suite):
        raise PermissionDenied("this suite belongs to somebody else")
