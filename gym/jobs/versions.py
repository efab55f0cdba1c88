"""Versions of workers. Older workers leave queues to newer ones, as two versions may compute different numbers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta

from django.db import connection
from django.utils import timezone
from packaging.version import InvalidVersion, Version

from gym.jobs import lifecycle
from gym.jobs.models import WorkerHeartbeat
from gym.site_command import upgraded_by_newer
from lmgym import __version__

log = logging.getLogger(__name__)


def leave_to_newer(queues: Iterable[str], alive: timedelta) -> str:
    """Stop claiming jobs of queues that live workers of a newer version serve.

    Args:
        queues: queues of this process.
        alive: maximum age of a live worker's heartbeat.

    Returns:
        Why this process must claim no jobs at all; "" if it may claim those of some queue.
    """
    newer = newer_versions(alive)
    left = frozenset(newer).intersection(queues)
    if added := sorted(left - lifecycle.left_to_newer):
        log.warning("left to workers of LM Gym %s: queue %s", newer[added[0]], ", ".join(added))
    lifecycle.left_to_newer = left
    if left and left.issuperset(queues):
        version = max((newer[queue] for queue in left), key=Version)
        return f"A worker of LM Gym {version} is running; this is {__version__}. Upgrade this installation."
    return upgraded_by_newer(connection)


def newer_versions(alive: timedelta) -> dict[str, str]:
    """Return the newest version of the live workers of each queue, if it is newer than this process."""
    rows = WorkerHeartbeat.objects.filter(last_seen__gte=timezone.now() - alive)
    newest: dict[str, str] = {}
    for version, queues in rows.values_list("version", "queues"):
        for queue in queues if _is_newer(version, __version__) else ():
            if queue not in newest or _is_newer(version, newest[queue]):
                newest[queue] = version
    return newest


def _is_newer(version: str, other: str) -> bool:
    try:
        return Version(version) > Version(other)
    except InvalidVersion:  # of a worker from before versions were recorded, or of a modified installation
        return False
