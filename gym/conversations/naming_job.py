"""Background work: asking a model why answers failed. What it says is written as it comes."""

from __future__ import annotations

from functools import partial

from django.utils import timezone

from gym.conversations import permissions
from gym.conversations.assessor import samples_of
from gym.conversations.judges import AgentJudge
from gym.conversations.models import CaseRun, FailureMode, Naming
from gym.conversations.naming import Choice, Known, choices, chooser
from gym.conversations.redact import redactor
from gym.conversations.selectors import can_borrow
from gym.conversations.shown import result_of
from gym.conversations.talking import transport_for
from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from gym.secrets import SecretError
from models_registry.backends import BackendError

DEFAULT_AGENT = "namer"
PATIENCE = 3
"""Questions in a row without any answer, after which no more are asked."""


@handler("agent_naming", seconds=3600)
def agent_naming(context: JobContext) -> None:
    """Every failure of a case of a run that can be named. Where the model makes no choice, the failure stays where it
    was grouped."""
    found = Naming.objects.select_related("case_run__run__suite", "server__model", "server__wraps")
    naming = found.filter(pk=context.payload["naming"], job=context.job_id).first()
    if naming is None:
        raise PermanentFailure("The failures were grouped anew meanwhile.")
    if naming.server is None:
        raise PermanentFailure("The agent was deleted.")
    suite, server = naming.case_run.run.suite, naming.server
    rights.require(
        context,
        {
            f"the tests {suite.slug}": lambda person: permissions.can_edit(person, suite),
            f"the agent {server.model.slug}": lambda person: can_borrow(person, server),
        },
    )
    try:
        transport = transport_for(server)
    except (SecretError, BackendError) as error:
        raise PermanentFailure(str(error)) from error
    agent = naming.agent or server.chat_model or DEFAULT_AGENT
    clean = redactor(transport.secrets)
    ask = chooser(AgentJudge(transport, agent))
    chosen = dict(naming.chosen)  # of an attempt that broke off
    samples = [sample for sample in samples_of(result_of(naming.case_run)) if sample.place not in chosen]
    known = known_names(naming.case_run)
    silent = 0
    for choice in choices(
        samples, known, lambda sample, names: clean(context.beside(partial(ask, sample, names)))
    ):
        context.check()
        silent = silent + 1 if choice.trouble else 0
        if choice.mode:
            chosen[choice.place] = choice.mode
        with context.transaction(brings_forward=True):
            _write(naming, choice, chosen, clean(choice.trouble))
        context.progress(len(chosen), unit="failures")
        if silent >= PATIENCE:
            raise PermanentFailure(f"The agent gave no answer: {clean(choice.trouble)}")
    with context.finish():
        Naming.objects.filter(pk=naming.pk).update(completed_at=timezone.now())


def known_names(case_run: CaseRun) -> Known:
    """Modes proposed in any run of the case, under the names people gave them. Merged ones are not offered."""
    rows = FailureMode.objects.filter(suite=case_run.run.suite_id, case_name=case_run.name, merged_into="")
    known: Known = {}
    for row in rows.exclude(group="").order_by("pk"):
        known.setdefault(row.group, {})[row.mode] = row.shown_name
    return known


def _write(naming: Naming, choice: Choice, chosen: dict[str, str], trouble: str) -> None:
    values = {"chosen": chosen, **({"trouble": trouble} if trouble else {})}
    Naming.objects.filter(pk=naming.pk).update(**values)
    if choice.new:
        place = {"suite": naming.case_run.run.suite, "case_name": naming.case_run.name, "mode": choice.mode}
        proposal = {"group": choice.group, "proposed": choice.name}
        FailureMode.objects.update_or_create(**place, defaults=proposal)
