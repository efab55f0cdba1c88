"""Recheck ready models whose last check was by an older CHECK_VERSION.

A worker queues the checks when it registers. The models stay ready in the meantime: runs load them with the current
code anyway.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.dispatch import receiver

from gym.jobs.services import enqueue
from gym.jobs.worker import worker_signed_in
from models_registry.models import AGENT, UPLOADED, RegisteredModel
from models_registry.queues import queue_of

CHECK_VERSION = 3
"""Version of the check, stored in the facts. Increase it whenever a check may find different or more facts."""


@receiver(worker_signed_in, dispatch_uid="models_registry.rechecks")
def queue_rechecks(**kwargs: Any) -> None:
    """Queue a check of every outdated model. A check that fails because a server is unavailable is queued again when
    the next worker registers."""
    ready = RegisteredModel.objects.filter(status=RegisteredModel.Status.READY).select_related("check_job")
    for model in ready.exclude(backend__in=[UPLOADED, AGENT]):
        is_waiting = model.check_job is not None and model.check_job.is_active
        if model.facts and model.facts.get("check_version", 1) < CHECK_VERSION and not is_waiting:
            _queue(model)


def _queue(model: RegisteredModel) -> None:
    """Queue the check unless another worker has just done so. The approved commit of a hub model is kept."""
    as_seen = RegisteredModel.objects.filter(pk=model.pk, check_job=model.check_job_id)
    with transaction.atomic():
        job = enqueue(
            "check_model",
            {"model": model.pk, "repin": False, "recheck": True},
            queue=queue_of(model),
            title=f"Check {model.name} again",
            total=1,
        )
        if not as_seen.update(check_job=job):
            transaction.set_rollback(True)
