import pytest

from gym.jobs import context as context_module
from gym.jobs import states
from gym.jobs.context import JobContext
from gym.jobs.models import Job
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


@pytest.fixture
def ticks(monkeypatch):
    """A monotonic clock that tests can set."""
    now = [1000.0]
    monkeypatch.setattr(context_module, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def context(register, ticks):
    enqueue(register("k"), {})
    return JobContext(states.claim_next("default", "w"))


def test_a_thousand_reports_are_some_twenty_writes(context, ticks, monkeypatch):
    writes = []
    renew = states.renew
    monkeypatch.setattr(states, "renew", lambda *args, **kw: writes.append(kw) or renew(*args, **kw))
    for done in range(1, 1001):
        ticks[0] += 0.001
        context.progress(done, total=1000, unit="sentences")
    assert 19 <= len(writes) <= 22
    job = Job.objects.get()
    assert (job.total, job.unit) == (1000, "sentences")
    assert job.done >= 950


def test_a_slow_job_reports_every_second_and_a_half(context, ticks):
    for done in range(1, 4):
        ticks[0] += 2
        context.progress(done, total=1000)
        assert Job.objects.get().done == done


def test_the_time_to_go_follows_the_recent_pace(context, ticks, clock):
    for step in range(100):
        ticks[0] += 1
        context.progress(2 * (step + 1), total=1000)
    job = Job.objects.get()
    assert job.rate == pytest.approx(2, rel=0.05)
    assert job.eta_seconds == pytest.approx(400, rel=0.05)
    clock.forward(100)
    assert Job.objects.get().eta_seconds == pytest.approx(300, rel=0.05)


def test_nobody_guesses_a_time_to_go_without_a_total(context, ticks):
    for done in range(5):
        ticks[0] += 2
        context.progress(done)
    assert Job.objects.get().eta_seconds is None
    assert Job.objects.get().percent is None


def test_a_new_phase_starts_its_pace_afresh(context, ticks):
    for done in (50, 100, 1, 2):
        ticks[0] += 10
        context.progress(done, total=100)
    assert Job.objects.get().rate == pytest.approx(0.1)


def test_a_done_job_is_at_its_total(context):
    context.progress(1, total=10)
    with context.finish():
        pass
    job = Job.objects.get()
    assert (job.done, job.total, job.percent, job.eta_seconds) == (10, 10, 100, None)
