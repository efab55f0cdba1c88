"""Counts and durations of requests, summed over the web processes of `lmgym web` and `lmgym serve`.

Any process may answer a scrape, so the processes keep their counts in files of one folder (the multiprocess mode of
prometheus_client), which their parent creates. Without the folder, a process shows its own counts.
"""

from __future__ import annotations

import os
from functools import cache
from tempfile import TemporaryDirectory

from django.conf import settings
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when it is imported
BUCKETS = (0.1, 0.3, 1, 3, 10, 30)

disable_created_metrics()  # type: ignore[no-untyped-call]
_own = CollectorRegistry()
_seconds = Histogram(
    "gym_request_seconds",
    "Seconds until the response starts, by name of the view and class of the status",
    ["view", "status"],
    buckets=BUCKETS,
    registry=_own,
)


def is_counting() -> bool:
    """Return True if anybody may read /metrics."""
    return bool(settings.GYM_METRICS_TOKEN or settings.GYM_METRICS_ALLOW)


def count_request(view: str, status: int, seconds: float) -> None:
    _seconds.labels(view, f"{status // 100}xx").observe(seconds)


def exposition() -> bytes:
    """Return the counts of all web processes in the text format of Prometheus."""
    if FOLDER not in os.environ:
        return generate_latest(_own)
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return generate_latest(shared)


@cache
def share_between_children() -> TemporaryDirectory[str] | None:
    """Set the folder for the processes that this one starts; it is deleted when this process exits. None if
    there is nothing to count, or the environment names a folder already."""
    if FOLDER in os.environ or not is_counting():
        return None
    folder = TemporaryDirectory(prefix="lm-gym-metrics-")
    os.environ[FOLDER] = folder.name
    return folder
