"""Notify people when the runs they queued together have ended."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from gym.jobs.models import Batch, Job
from gym.jobs.signals import batch_ended
from gym.notices.runs import Ended, notify_of_runs
from gym.runs.models import SuiteRun
from gym.runs.read.selectors import known_runs


@receiver(batch_ended, dispatch_uid="notices of runs")
def notify_owner(batch: Batch, jobs: list[Job], **_: Any) -> None:
    runs = known_runs(batch.owner).filter(job__in=jobs).select_related("job", "model", "revision__suite")
    notify_of_runs(batch.owner, map(_ended, runs), noun="run", all_runs=f"{reverse('run-list')}?mine")


def _ended(run: SuiteRun) -> Ended:
    revision = run.revision
    what = f"{revision.suite.title} r{revision.number}"
    return Ended(
        run.state, run.model.name, what, run.get_absolute_url(), what_address=revision.get_absolute_url()
    )
