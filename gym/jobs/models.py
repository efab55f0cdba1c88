"""Database models for jobs, batches, workers and locks."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from gym.page_cache.reads import never_keep


class State(models.TextChoices):
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


ACTIVE_STATES = (State.QUEUED, State.RUNNING)
FINAL_STATES = (State.DONE, State.FAILED, State.CANCELLED)


class Batch(models.Model):
    """Jobs that one user queued together, each within a minute of the previous one. Deleted when all have ended and
    `signals.batch_ended` has been sent."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    joined = models.DateTimeField(default=timezone.now, help_text="when the last job was added")

    def __str__(self) -> str:
        return f"jobs of {self.owner}, last added {self.joined:%Y-%m-%d %H:%M:%S}"


if TYPE_CHECKING:
    TextColumn = models.CharField[str, str]
else:
    TextColumn = models.CharField


class StateField(TextColumn):
    """The state of a job. Pages that read an active one are not kept, because its progress changes all the time."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        if value in ACTIVE_STATES:
            never_keep()
        return value

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


class Job(models.Model):
    """A unit of background work. Only `gym.jobs.states` changes `state`.

    `attempt` is the fencing token: it grows with every claim, and all writes of a worker require the number
    it claimed. `tries` counts the attempts since a user queued the job or it last made progress; `deaths`
    counts how many of them in a row, up to the latest, ended with the worker's death.
    """

    State = State

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=60)
    payload = models.JSONField(default=dict, blank=True)
    queue = models.CharField(max_length=60, default="default")
    title = models.CharField(max_length=200, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs"
    )
    batch = models.ForeignKey(Batch, null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs")

    state = StateField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    max_attempts = models.PositiveSmallIntegerField(default=3)
    deaths = models.PositiveSmallIntegerField(default=0)
    lost_at = models.DateTimeField(
        null=True, blank=True, help_text="when a worker last died while running this job"
    )
    waits_for = models.CharField(
        max_length=200, blank=True, help_text="resource missing on the workers that returned this job"
    )
    not_before = models.DateTimeField(default=timezone.now)
    claimed_by = models.CharField(max_length=60, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)

    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    unit = models.CharField(max_length=40, blank=True)
    rate = models.FloatField(default=0.0)
    progress_at = models.DateTimeField(null=True, blank=True)

    error = models.TextField(blank=True)
    log = models.TextField(blank=True)

    created = models.DateTimeField(default=timezone.now, editable=False)
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]
        indexes = [
            models.Index(fields=["queue", "not_before"], name="job_claimable", condition=Q(state="queued")),
            models.Index(fields=["lease_until"], name="job_leased", condition=Q(state="running")),
            models.Index(fields=["lost_at"], name="job_lost", condition=Q(lost_at__isnull=False)),
            models.Index(fields=["owner", "state"], name="job_owner_state"),
            models.Index(fields=["queue", "started"], name="job_queue_started"),
            models.Index(fields=["-created"], name="job_created"),
        ]
        constraints = [
            models.CheckConstraint(name="job_state_is_known", condition=Q(state__in=State.values)),
            models.CheckConstraint(
                name="job_has_a_lease_while_running_only",
                condition=Q(state="running", lease_until__isnull=False) & ~Q(claimed_by="")
                | ~Q(state="running") & Q(lease_until__isnull=True, claimed_by=""),
            ),
            models.CheckConstraint(
                name="job_has_an_end_when_final_only",
                condition=Q(state__in=["queued", "running"], finished__isnull=True)
                | Q(state__in=["done", "failed", "cancelled"], finished__isnull=False),
            ),
            models.CheckConstraint(name="job_failed_says_why", condition=~Q(state="failed", error="")),
            models.CheckConstraint(
                name="job_queued_is_not_cancelled", condition=~Q(state="queued", cancel_requested=True)
            ),
            models.CheckConstraint(name="job_tries_are_bounded", condition=Q(tries__lte=F("max_attempts"))),
        ]

    silence = ""
    """NO_WORKER or SILENT if `selectors.note_silence` found the job stalled, else empty."""

    def __str__(self) -> str:
        return self.title or f"{self.kind} {self.id}"

    @property
    def is_final(self) -> bool:
        """True if the job has ended."""
        return self.state in FINAL_STATES

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def percent(self) -> int | None:
        """Progress from 0 to 100, or None if the total is unknown."""
        if self.state == State.DONE:
            return 100
        return min(100, self.done * 100 // self.total) if self.total else None

    @property
    def eta_seconds(self) -> float | None:
        """Remaining seconds at the rate of the last half minute, or None if unknown."""
        if self.state != State.RUNNING or self.rate <= 0 or self.total <= self.done or not self.progress_at:
            return None
        since = (timezone.now() - self.progress_at).total_seconds()
        return max(0.0, (self.total - self.done) / self.rate - since)

    @property
    def seconds(self) -> float | None:
        """Duration of the latest attempt, until its end or now, in seconds; None if there was none."""
        if self.started is None:
            return None
        return ((self.finished or timezone.now()) - self.started).total_seconds()


class HasJob:
    """Mixin for a job's result. It is done once `completed_at` is set, even if the job is deleted; with neither a job
    nor `completed_at`, it has failed."""

    job: Any
    completed_at: Any

    @property
    def is_done(self) -> bool:
        return self.completed_at is not None

    @property
    def state(self) -> str:
        if self.is_done:
            return str(State.DONE)
        return str(State.FAILED if self.job is None else self.job.state)


class WorkerHeartbeat(models.Model):
    """Heartbeat of a worker process. Deleted when the worker ends."""

    id = models.CharField(primary_key=True, max_length=60)
    host = models.CharField(max_length=120)
    pid = models.PositiveIntegerField()
    queues = models.JSONField(default=list)
    threads = models.PositiveSmallIntegerField(default=1)
    device = models.CharField(max_length=200, blank=True)
    memory = models.JSONField(default=dict, blank=True, help_text="loaded models; see gym.jobs.worker.report")
    process_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="unshared resident memory in bytes, at the last heartbeat"
    )
    version = models.CharField(max_length=40, blank=True, help_text="version of LM Gym")
    broker_problem = models.CharField(
        max_length=200, blank=True, help_text="why wake-ups of the broker do not arrive"
    )
    clock_seconds = models.FloatField(
        default=0.0, help_text="clock of the worker minus clock of the database, in seconds"
    )
    started = models.DateTimeField(default=timezone.now)
    last_seen = models.DateTimeField(default=timezone.now)
    last_error = models.TextField(blank=True)
    last_error_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["started"]

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"

    def is_alive(self, within: timedelta) -> bool:
        return self.last_seen >= timezone.now() - within


class Lock(models.Model):
    """A lock that one worker holds until it stops renewing it."""

    name = models.CharField(primary_key=True, max_length=60)
    holder = models.CharField(max_length=60, blank=True)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
