"""A worker whose process is broken (a lost GPU) exits, and its job is tried again by another worker."""

from __future__ import annotations

import threading

import pytest

from gym.jobs import handlers, lifecycle
from gym.jobs.errors import PermanentFailure
from gym.jobs.models import Job
from gym.jobs.services import enqueue
from gym.jobs.worker import Watchdog, drain

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_process(monkeypatch: pytest.MonkeyPatch, settings) -> None:
    """Retry without a pause, and give each test its own flag for a broken process."""
    settings.GYM_JOB_RETRY_SECONDS = 0
    monkeypatch.setattr(lifecycle, "broken", threading.Event())


def gone(context) -> None:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def test_the_worker_claims_nothing_more_and_ends_and_the_job_waits_for_its_next_try(register) -> None:
    first, second = enqueue(register("gpu", gone), {}), enqueue(register("other"), {})
    watchdog = Watchdog()
    assert not watchdog.check()
    assert drain(["default"]) == 1
    assert watchdog.check()
    assert watchdog.must_exit, "whoever keeps workers running starts another"
    assert Job.objects.get(pk=first.pk).state == "queued"
    assert Job.objects.get(pk=second.pk).tries == 0
    lifecycle.broken.clear()  # the next worker
    register("gpu")
    assert drain(["default"]) == 2
    assert set(Job.objects.values_list("state", flat=True)) == {"done"}


def test_the_reason_below_a_failure_counts_too(register) -> None:
    def refuse(context) -> None:
        try:
            gone(context)
        except RuntimeError as error:
            raise PermanentFailure("cuda:0 does not work") from error

    enqueue(register("gpu", refuse), {})
    drain(["default"], once=True)
    assert lifecycle.broken.is_set()


def test_an_ordinary_error_breaks_nothing(register) -> None:
    def fail(context) -> None:
        raise ValueError("CUDA error: said a person")

    enqueue(register("k", fail), {}, max_attempts=1)
    drain(["default"])
    assert not lifecycle.broken.is_set()
    assert not handlers.broke_process(None)


def test_an_error_that_came_from_one_that_came_from_it_is_looked_at_once() -> None:
    first, second = ValueError("the program ended"), ValueError("its pipe is closed")
    first.__context__, second.__cause__ = second, first
    assert not handlers.broke_process(second)
