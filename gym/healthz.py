"""Health checks for supervisors and load balancers."""

from __future__ import annotations

import shutil

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from gym.jobs.selectors import broker_problem_of, workers

FREE_BYTES = 100_000_000
"""Space on the data folder's disk below which the site does not call itself ready."""


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Respond with 200: this process is alive."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Respond with 200 if the site can serve, else 503. Keys: status ("ok" or "unavailable"), database, disk, broker,
    each "ok" or what is wrong. Without a broker, workers poll, so the site can serve.

    Workers report the state of the broker. It is not contacted here: a probe must not wait for a broker that hangs."""
    database, disk, broker = "", _disk_problem(), ""
    try:
        if broker_problem_of(workers()):
            broker = "sends no messages; workers poll the database"
    except DatabaseError:
        database, broker = "cannot be read", "unknown"
    is_ready = not (database or disk)
    body = {
        "status": "ok" if is_ready else "unavailable",
        "database": database or "ok",
        "disk": disk or "ok",
        "broker": broker or "ok",
    }
    return JsonResponse(body, status=200 if is_ready else 503)


def _disk_problem() -> str:
    try:
        free = shutil.disk_usage(settings.VAR_DIR).free
    except OSError:
        return "the data folder cannot be read"
    return "" if free >= FREE_BYTES else f"{free // 1_000_000} MB free"
