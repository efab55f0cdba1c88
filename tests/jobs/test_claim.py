import pytest

from gym.jobs import states
from gym.jobs.models import Job
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


def test_a_claim_takes_a_lease_and_a_new_attempt(register, clock):
    job = enqueue(register("k"), {})
    claimed = states.claim_next("default", "w1")
    assert claimed.pk == job.pk
    assert (claimed.state, claimed.attempt, claimed.tries, claimed.claimed_by) == ("running", 1, 1, "w1")
    assert claimed.lease_until > clock.now()


def test_a_job_is_claimed_once(register):
    job = enqueue(register("k"), {})
    assert states.claim(job.pk, "w1") is not None
    assert states.claim(job.pk, "w2") is None
    assert states.claim_next("default", "w2") is None


def test_the_oldest_job_goes_first(register):
    kind = register("k")
    jobs = [enqueue(kind, {}).pk for _ in range(4)]
    assert [states.claim_next("default", "w").pk for _ in range(4)] == jobs


def test_a_job_waits_until_its_time(register, clock):
    job = enqueue(register("k"), {})
    states.claim_next("default", "w")
    states.end_attempt(states.fenced(job.pk, 1), "no", delay=30)
    assert states.claim_next("default", "w") is None
    clock.forward(31)
    assert states.claim_next("default", "w").pk == job.pk


def test_another_queue_is_not_touched(register, settings):
    settings.GYM_JOB_QUEUES = ["default", "gpu"]
    enqueue(register("k"), {}, queue="gpu")
    assert states.claim_next("default", "w") is None
    assert states.claim_next("gpu", "w") is not None


def test_a_lost_race_leads_to_the_next_job(register, monkeypatch):
    kind = register("k")
    first, second = enqueue(kind, {}), enqueue(kind, {})
    honest = states.claim

    def faster_rival(job_id, worker_id):
        if job_id == first.pk:
            honest(job_id, "rival")
        return honest(job_id, worker_id)

    monkeypatch.setattr(states, "claim", faster_rival)
    assert states.claim_next("default", "me").pk == second.pk
    assert Job.objects.get(pk=first.pk).claimed_by == "rival"
