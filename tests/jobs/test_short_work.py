"""Short jobs have their own queue and, in every worker, their own thread, which long jobs never occupy."""

from __future__ import annotations

import io
import json

import pytest
from django.conf import settings as site
from django.test import Client

from gym.agents import schedules
from gym.agents.models import AgentSchedule
from gym.collections import zips
from gym.collections.services import create_collection, publish_collection
from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.selectors import behind
from gym.jobs.worker import WorkerProcess
from gym.lmchallenge import playing
from gym.lmchallenge.models import COUNT
from gym.runs.work import services as runs
from gym.runs.work import uploads
from models_registry import services as models
from tests.agents import site as agents
from tests.factories import make_model, make_revision
from tests.lmgym.runs.uploaded.worlds import outcomes_of_seeds

pytestmark = pytest.mark.django_db
LOG = json.dumps(
    {
        "user": "a",
        "character": 0,
        "message": 0,
        "token": 0,
        "target": "cat",
        "results": [],
    }
)


def queue_of(kind: str) -> str:
    return Job.objects.filter(kind=kind).latest("created").queue


def test_every_worker_has_a_thread_for_it(monkeypatch):
    started = []
    monkeypatch.setattr(
        WorkerProcess,
        "_start_worker",
        lambda self, queues, threads: started.append((queues, threads)),
    )
    WorkerProcess(list(site.GYM_JOB_QUEUES), threads=2)._start_workers()
    assert (["short"], 1) in started
    assert ["default"] in [queues for queues, _ in started]


def test_counting_a_log(people):
    playing.upload_log(io.BytesIO(LOG.encode()), actor=people.alice, visibility="public", filename="a.log")
    assert queue_of(COUNT) == "short"


def test_checking_a_model_and_an_agent(people):
    model = make_model(people.alice)
    models.check_model(model, actor=people.alice)
    assert queue_of("check_model") == "short"
    server = agents.make_server(people.alice, ready=False)
    assert queue_of("check_agent") == "short"
    suite = agents.make_suite(people.alice)
    AgentSchedule.objects.create(
        suite=suite, server=server, owner=people.alice, every="version", next_at="2020-01-01T00:00Z"
    )
    assert schedules.queue_version_checks() == 1
    assert queue_of("agent_version") == "short"


def test_a_model_with_workers_of_its_own_is_checked_by_these(people, settings):
    settings.GYM_MODEL_QUEUES = {"gpu": None}
    settings.GYM_JOB_QUEUES = [*settings.GYM_JOB_QUEUES, "gpu"]
    models.check_model(make_model(people.alice, tags=["queue:gpu"]), actor=people.alice)
    assert queue_of("check_model") == "gpu"


def test_a_large_upload(people, monkeypatch):
    monkeypatch.setattr(uploads, "AT_ONCE", 2)
    make_revision(people.alice)
    plan = uploads.plan_upload(uploads.ResultFile("seeds.csv", outcomes_of_seeds(5)), actor=people.alice)
    uploads.save_upload(plan, uploads.ModelChoice(visibility="public"), actor=people.alice)
    assert queue_of(uploads.JOB) == "short"


def test_a_zip(people):
    about = {"slug": "paper", "title": "A paper", "description": "", "reference": ""}
    paper = create_collection(actor=people.alice, revisions=[make_revision(people.alice)], **about)
    publish_collection(paper, actor=people.alice)
    zips.request_zip(paper, "http://testserver", actor=people.alice)
    assert queue_of(zips.KIND) == "short"


def test_a_run_stays_with_long_work_and_says_what_it_waits_for(people):
    WorkerHeartbeat.objects.create(id="w", host="h", pid=1, queues=list(site.GYM_JOB_QUEUES))
    revision, model = make_revision(people.alice), make_model(people.alice)
    run = runs.queue_run(revision, model, actor=people.alice)
    assert run.job.queue == "default"
    client = Client()
    client.force_login(people.alice)
    told = client.get(f"/api/v1/runs/{run.key}/").json()["progress"]
    assert told["behind"] == behind(run.job, people.alice) != ""
    [listed] = client.get("/api/v1/runs/").json()["results"]
    assert listed["progress"]["behind"] == ""
    assert told["behind"] in client.get(run.get_absolute_url()).content.decode()
