"""Announce that batches (jobs that one user queued together) have ended. The reaper calls `announce`
periodically."""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from gym.accounts.models import User
from gym.jobs.models import ACTIVE_STATES, Batch, Job
from gym.jobs.signals import batch_ended
from gym.jobs.states import failed_by_deaths

log = logging.getLogger(__name__)


def announce() -> int:
    """Send `batch_ended` for every batch without unfinished jobs. Return their number."""
    return sum(_announce(batch) for batch in _ended().select_related("owner"))


def _ended() -> QuerySet[Batch]:
    """Return batches without unfinished jobs. A job that failed only because workers died gets another try and counts
    as unfinished."""
    unfinished = Q(state__in=ACTIVE_STATES) | Q(pk__in=failed_by_deaths().values("pk"))
    return Batch.objects.filter(~Exists(Job.objects.filter(unfinished, batch=OuterRef("pk"))))


def _announce(batch: Batch) -> bool:
    try:
        with transaction.atomic():
            batch.owner.lock()  # lock order: accounts before other rows
            row = _ended().select_for_update(of=("self",), skip_locked=True).filter(pk=batch.pk).first()
            if row is None:
                return False
            batch_ended.send(Batch, batch=row, jobs=list(row.jobs.all()))
            row.delete()
            return True
    except User.DoesNotExist:
        return False
    except Exception:
        log.exception("the end of batch %s could not be announced", batch.pk)
        return False
