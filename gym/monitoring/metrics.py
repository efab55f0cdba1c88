"""/metrics for Prometheus: requests from the web processes' counts; jobs, workers and runs from the database."""

from __future__ import annotations

import hmac
import shutil
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db.models import Count, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from gym.client_ip import client_address
from gym.jobs.models import Job, State
from gym.jobs.selectors import queue_summary, workers
from gym.request_counts import exposition
from gym.runs.models import SuiteRun

RECENT = timedelta(hours=1)
"""Age of the runs whose sentences are counted."""


def may_read(request: HttpRequest) -> bool:
    """Return True if the request has GYM_METRICS_TOKEN, or comes from an address of GYM_METRICS_ALLOW."""
    token = settings.GYM_METRICS_TOKEN
    given = request.headers.get("Authorization", "")
    if token and hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return True
    address = client_address(
        request.META.get("REMOTE_ADDR", ""),
        request.META.get("HTTP_X_FORWARDED_FOR", ""),
        behind_proxy=settings.GYM_BEHIND_PROXY,
    )
    return address is not None and any(address in network for network in settings.GYM_METRICS_ALLOW)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics; 404 to clients that may not read them."""
    if not may_read(request):
        raise Http404
    registry = CollectorRegistry()
    registry.register(_SiteState())
    return HttpResponse(exposition() + generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _SiteState:
    """Collector of what is true of the whole site at the time of the scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from _disks()
        try:
            families = [*_jobs(), *_workers(), *_runs()]
        except DatabaseError:  # requests and disks are still worth a scrape
            families = []
        yield _gauge("gym_database_up", "1 if the database answers", {(): int(bool(families))})
        yield from families


def _gauge(
    name: str, text: str, values: Mapping[Any, float], labels: tuple[str, ...] = ()
) -> GaugeMetricFamily:
    """Return a gauge with a value for each tuple of label values."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _disks() -> Iterator[GaugeMetricFamily]:
    folders = {"data": settings.VAR_DIR, "models": settings.GYM_MODEL_DIR}
    free = {(name,): float(shutil.disk_usage(path).free) for name, path in folders.items() if path.is_dir()}
    yield _gauge("gym_disk_free_bytes", "Free bytes on the disk of a folder", free, ("folder",))


def _jobs() -> Iterator[GaugeMetricFamily]:
    queues = queue_summary()
    counts = {(queue.name, state): 0 for queue in queues for state in State.values}
    rows = Job.objects.order_by().values_list("queue", "state").annotate(n=Count("pk"))
    counts |= {(queue, state): n for queue, state, n in rows}
    yield _gauge("gym_jobs", "Stored jobs; old ones are deleted by clean_up", counts, ("queue", "state"))
    oldest = {(queue.name,): queue.waiting_seconds for queue in queues}
    yield _gauge(
        "gym_job_oldest_seconds", "Seconds that the oldest queued job has waited", oldest, ("queue",)
    )
    serving = {(queue.name,): queue.workers for queue in queues}
    yield _gauge("gym_queue_workers", "Live workers that serve a queue", serving, ("queue",))
    running = Job.objects.filter(state=State.RUNNING, rate__gt=0).order_by()
    rates = running.values_list("queue", "unit").annotate(n=Sum("rate"))
    speed = {(queue, unit): n for queue, unit, n in rates}
    yield _gauge("gym_job_rate", "Units a second, all running jobs together", speed, ("queue", "unit"))


def _workers() -> Iterator[GaugeMetricFamily]:
    now = timezone.now()
    ages: dict[tuple[str, ...], float] = {}
    sizes: dict[tuple[str, ...], float] = {}
    for worker in workers():
        last_seen: Any = worker.last_seen
        key = (worker.host, str(worker.pid))
        ages[key] = (now - last_seen).total_seconds()
        if worker.process_bytes is not None:
            sizes[key] = worker.process_bytes
    labels = ("host", "pid")
    yield _gauge("gym_worker_heartbeat_seconds", "Seconds since the last heartbeat", ages, labels)
    yield _gauge("gym_worker_memory_bytes", "Memory of a worker process", sizes, labels)


def _runs() -> Iterator[GaugeMetricFamily]:
    ended = SuiteRun.objects.filter(
        completed_at__gte=timezone.now() - RECENT, source=SuiteRun.Source.COMPUTED
    )
    sums = ended.aggregate(all=Sum("n_unique", default=0), cached=Sum("n_cached", default=0))
    values = {
        ("cache",): sums["cached"],
        ("model",): sums["all"] - sums["cached"],
    }
    text = "Distinct sentences of runs that ended in the last hour, by where their scores came from"
    yield _gauge("gym_run_sentences", text, values, ("source",))
