"""Tells somebody that the models they ran together on answer sets have ended."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from gym.jobs.models import Batch, Job
from gym.jobs.signals import batch_ended
from gym.notices.runs import Ended, notify_of_runs
from gym.propara.models import Submission
from gym.propara.selectors import known_submissions


@receiver(batch_ended, dispatch_uid="notices of ProPara submissions")
def tell_owner(batch: Batch, jobs: list[Job], **_: Any) -> None:
    rows = known_submissions(batch.owner).filter(job__in=jobs).select_related("job", "version__answer_set")
    notify_of_runs(batch.owner, map(_ended, rows), noun="submission", all_runs=reverse("propara-list"))


def _ended(submission: Submission) -> Ended:
    version = submission.version
    state = submission.job.state if submission.job is not None else ""
    return Ended(
        state,
        submission.system,
        str(version),
        submission.get_absolute_url(),
        what_address=version.answer_set.get_absolute_url(),
    )
