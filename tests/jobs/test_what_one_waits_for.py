"""Descriptions of what a job waits for, without titles of other users' jobs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gym.jobs import states
from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.selectors import behind
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _worker(db, settings):
    settings.GYM_JOB_QUEUES = ("default", "large", "short")
    settings.GYM_JOB_OWN_THREAD_QUEUES = ("short",)
    WorkerHeartbeat.objects.create(id="w", host="h", pid=1, queues=["default", "large", "short"])


@pytest.fixture
def busy(register, alice):
    """alice's job “game X”, which a worker is running."""
    enqueue(register("k"), {}, owner=alice, title="game X")
    return states.claim_next("default", "w")


def test_ones_own_job_is_named(busy, alice):
    first, second = (enqueue("k", {}, owner=alice) for _ in range(2))
    assert behind(first, alice) == "next in the queue, behind game X"
    assert behind(second, alice) == "number 2 in the queue, behind game X"


def test_other_peoples_jobs_have_no_name(busy, bob):
    job = enqueue("k", {}, owner=bob)
    for person in (bob, AnonymousUser()):
        assert behind(job, person) == "next in the queue, behind another user’s job"
    staff = get_user_model().objects.create(username="staff", is_staff=True)
    assert behind(job, staff) == "next in the queue, behind game X"


def test_queues_that_share_a_thread_wait_for_each_other_and_short_work_for_neither(busy, alice):
    assert behind(enqueue("k", {}, owner=alice, queue="large"), alice).endswith("behind game X")
    assert behind(enqueue("k", {}, owner=alice, queue="short"), alice) == "next in the queue"


def test_it_says_where_no_worker_comes_and_what_workers_lack(busy, alice):
    job = enqueue("k", {}, owner=alice)
    Job.objects.filter(pk=job.pk).update(waits_for="the files of the model x")
    job.refresh_from_db()
    assert behind(job, alice) == "waiting for a worker with the files of the model x"
    WorkerHeartbeat.objects.all().delete()
    assert behind(enqueue("k", {}, owner=alice), alice) == "no worker serves the queue “default”"


def test_what_is_at_work_or_has_ended_waits_for_nothing(busy, alice):
    assert behind(busy, alice) == behind(None, alice) == ""


def test_the_start_is_estimated_from_finished_jobs(busy, alice):
    done = enqueue("k", {}, owner=alice)
    now = timezone.now()
    Job.objects.filter(pk=done.pk).update(
        state="done", started=now - timedelta(minutes=4), finished=now - timedelta(minutes=1)
    )
    first, second = (enqueue("k", {}, owner=alice) for _ in range(2))
    assert behind(first, alice).endswith("; starts in about 3 minutes")
    assert behind(second, alice).endswith("; starts in about 6 minutes")
    WorkerHeartbeat.objects.update(threads=2)
    assert behind(first, alice) == "next in the queue, behind game X", "a thread is free"
    WorkerHeartbeat.objects.update(threads=3)
    assert behind(second, alice) == "number 2 in the queue, behind game X", "two threads are free"


def test_the_estimate_reads_few_of_the_finished_jobs(busy, alice):
    job = enqueue("k", {}, owner=alice)
    with CaptureQueriesContext(connection) as queries:
        behind(job, alice)
    (query,) = (query["sql"] for query in queries if "\"state\" = 'done'" in query["sql"])
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query}")
            plan = str(cursor.fetchall())
        assert "job_queue_started" in plan
        assert "TEMP B-TREE" not in plan
