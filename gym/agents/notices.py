"""Notifications for users whose batch of agent test runs has ended."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from gym.agents.models import AgentRun
from gym.agents.selectors import runs_visible_to
from gym.jobs.models import Batch, Job
from gym.jobs.signals import batch_ended
from gym.notices.runs import Ended, notify_of_runs


@receiver(batch_ended, dispatch_uid="notices of agent runs")
def notify_owner(batch: Batch, jobs: list[Job], **_: Any) -> None:
    runs = runs_visible_to(batch.owner).filter(job__in=jobs).select_related("job", "suite", "server__model")
    notify_of_runs(batch.owner, map(_ended, runs), noun="agent run", all_runs=reverse("agent-runs"))


def _ended(run: AgentRun) -> Ended:
    address, suite = run.get_absolute_url(), run.suite
    return Ended(run.state, str(run.server), str(suite), address, what_address=suite.get_absolute_url())
