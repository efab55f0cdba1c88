"""Versions of workers. An older worker leaves jobs to newer ones, since two versions may compute different numbers."""

from __future__ import annotations

import re
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from gym.jobs.models import WorkerHeartbeat
from gym.site_command import upgraded_by_newer
from lmgym import __version__


def why_outdated(alive: timedelta) -> str:
    """Return why this process must not claim jobs; "" if it may. `alive`: maximum age of a live worker's heartbeat."""
    if version := newer_worker(alive):
        return f"A worker of LM Gym {version} is running; this is {__version__}. Upgrade this installation."
    return upgraded_by_newer(connection)


def newer_worker(alive: timedelta) -> str:
    """Return the newest version of live workers if it is newer than this process; else ""."""
    rows = WorkerHeartbeat.objects.filter(last_seen__gte=timezone.now() - alive).exclude(version="")
    newest = max(rows.values_list("version", flat=True), key=_numbers, default="")
    return newest if _numbers(newest) > _numbers(__version__) else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
