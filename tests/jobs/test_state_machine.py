"""Invariants hold for any order of enqueueing, claims, work, deaths, reaping, cancelling and retrying."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone
from hypothesis import HealthCheck
from hypothesis import settings as profile
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from hypothesis.strategies import booleans, data, floats

from gym.jobs import conf, reaper, states
from gym.jobs.context import JobContext
from gym.jobs.errors import LostLease, WrongState
from gym.jobs.models import FINAL_STATES, Job
from gym.jobs.services import enqueue, request_cancel, retry


class JobMachine(RuleBasedStateMachine):
    """Attempts are contexts of imaginary workers: a killed worker forgets its context, a zombie keeps it."""

    def __init__(self) -> None:
        super().__init__()
        for model in (Job, Group):
            model.objects.all().delete()
        self.contexts: list[JobContext] = []
        self.finished: dict[object, int] = {}
        self.chunks = 0

    def some_job(self, data) -> Job:
        jobs = list(Job.objects.order_by("created"))
        return jobs[int(data.draw(floats(0, 0.999), label="job") * len(jobs))]

    def some_context(self, data) -> JobContext:
        return self.contexts[int(data.draw(floats(0, 0.999), label="attempt") * len(self.contexts))]

    @precondition(lambda self: Job.objects.count() < 3)
    @rule()
    def enqueue(self):
        enqueue("machine", {})

    @rule()
    def a_worker_looks_for_work(self):
        job = states.claim_next("default", f"w{len(self.contexts)}")
        if job is not None:
            self.contexts.append(JobContext(job))

    @precondition(lambda self: Job.objects.exists())
    @rule(data=data())
    def a_slow_worker_claims_what_it_saw_before(self, data):
        job = self.some_job(data)
        claimed = states.claim(job.pk, "slow")
        assert claimed is None or (job.state == "queued" and claimed.attempt == job.attempt + 1)
        if claimed is not None:
            self.contexts.append(JobContext(claimed))

    @precondition(lambda self: self.contexts)
    @rule(data=data())
    def heartbeat(self, data):
        self.some_context(data).beat()

    @precondition(lambda self: self.contexts)
    @rule(data=data(), forward=booleans())
    def work(self, data, forward):
        context = self.some_context(data)
        try:
            with context.transaction(brings_forward=forward):
                Group.objects.create(name=f"chunk {context.job_id} {self.chunks}")
                self.chunks += 1
            assert states.fenced(context.job_id, context.attempt).exists()
        except LostLease:
            assert not states.fenced(context.job_id, context.attempt).exists()

    @precondition(lambda self: self.contexts)
    @rule(data=data())
    def finish(self, data):
        context = self.some_context(data)
        try:
            with context.finish():
                Group.objects.create(name=f"result {context.job_id} {context.attempt}")
        except (LostLease, RuntimeError):
            return
        self.finished[context.job_id] = self.finished.get(context.job_id, 0) + 1

    @precondition(lambda self: self.contexts)
    @rule(data=data(), permanent=booleans())
    def fail(self, data, permanent):
        context = self.some_context(data)
        states.end_attempt(states.fenced(context.job_id, context.attempt), "boom", permanent=permanent)

    @precondition(lambda self: self.contexts)
    @rule(data=data())
    def stop_worker(self, data):
        context = self.some_context(data)
        states.end_attempt(states.fenced(context.job_id, context.attempt), "stopped", keep_try=True)

    @precondition(lambda self: self.contexts)
    @rule(data=data())
    def kill(self, data):
        self.contexts.remove(self.some_context(data))

    @rule(seconds=floats(1, 90))
    def time_passes(self, seconds):
        MOVED[0] += timedelta(seconds=seconds)

    @rule()
    def reap(self):
        reaper.reap()
        assert not Job.objects.filter(state="running", lease_until__lt=timezone.now()).exists()

    @precondition(lambda self: Job.objects.exists())
    @rule(data=data())
    def cancel(self, data):
        job = self.some_job(data)
        try:
            request_cancel(job, actor=None)
        except WrongState:
            assert job.is_final

    @precondition(lambda self: Job.objects.exists())
    @rule(data=data())
    def retry(self, data):
        job = self.some_job(data)
        try:
            retry(job, actor=None)
        except WrongState:
            assert job.state not in ("failed", "cancelled")

    @invariant()
    def done_means_exactly_one_result(self):
        for job in Job.objects.all():
            results = Group.objects.filter(name__startswith=f"result {job.pk}").count()
            assert results == (job.state == "done")
            assert self.finished.get(job.pk, 0) == results

    @invariant()
    def at_most_one_attempt_can_write(self):
        for job in Job.objects.all():
            live = [c for c in self.contexts if states.fenced(c.job_id, c.attempt).filter(pk=job.pk).exists()]
            assert len(live) <= (job.state == "running")

    @invariant()
    def nothing_is_stuck(self):
        """Every queued job may start, and the lease of every running job ends, within one lease from now."""
        horizon = timezone.now() + timedelta(seconds=conf.lease_seconds())
        for job in Job.objects.exclude(state__in=FINAL_STATES):
            assert (job.not_before if job.state == "queued" else job.lease_until) <= horizon

    @invariant()
    def tries_are_bounded_and_failures_say_why(self):
        for job in Job.objects.all():
            assert job.tries <= job.max_attempts <= 3
            assert job.deaths <= job.tries + 1 <= job.max_attempts + 1
            assert job.tries <= job.attempt
            assert job.state != "failed" or job.error


MOVED = [timedelta()]


@pytest.mark.django_db
def test_the_promises_hold_in_any_order_of_events(register, monkeypatch, settings):
    register("machine")
    settings.GYM_JOB_QUIET_SECONDS = 60
    now = timezone.now
    MOVED[0] = timedelta()
    monkeypatch.setattr(timezone, "now", lambda: now() + MOVED[0])
    run_state_machine_as_test(
        JobMachine,
        settings=profile(
            max_examples=profile.default.max_examples // 4,
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
