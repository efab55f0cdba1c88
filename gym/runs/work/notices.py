"""Tells somebody that the runs they queued together have ended."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from gym.jobs.models import Batch, Job, State
from gym.jobs.signals import batch_ended
from gym.lib.text import count
from gym.notices.models import Notice
from gym.notices.services import tell
from gym.runs.models import SuiteRun
from gym.runs.read.selectors import known_runs


@receiver(batch_ended, dispatch_uid="notices of runs")
def tell_owner(batch: Batch, jobs: list[Job], **_: Any) -> None:
    """One notice for all: how many are done and how many failed. Cancelled ones are nobody's news."""
    rows = known_runs(batch.owner).filter(job__in=jobs).select_related("job", "model", "revision__suite")
    runs = [run for run in rows if run.state in (State.DONE, State.FAILED)]
    if runs:
        tell(batch.owner, Notice.Kind.RUNS, _said(runs), _address(runs))


def _said(runs: list[SuiteRun]) -> str:
    failed = sum(run.state == State.FAILED for run in runs)
    done = len(runs) - failed
    revisions = {run.revision for run in runs}
    where = f" on {(one := next(iter(revisions))).suite.title} r{one.number}" if len(revisions) == 1 else ""
    if len(runs) == 1:
        return f"{runs[0].model.name}{where} {'failed' if failed else 'is done'}."
    if not done:
        return f"{count(failed, 'run')}{where} failed."
    verb = "is" if done == 1 else "are"
    return f"{count(done, 'run')}{where} {verb} done{f', {failed} failed' if failed else ''}."


def _address(runs: list[SuiteRun]) -> str:
    """The run, else the revision that all were on, else the list of one's own runs."""
    if len(runs) == 1:
        return runs[0].get_absolute_url()
    if len({run.revision_id for run in runs}) == 1:
        return runs[0].revision.get_absolute_url()
    return f"{reverse('run-list')}?mine"
