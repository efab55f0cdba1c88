"""Idle workers help with a run: they score other chunks of it, and the numbers are the same."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gym.jobs import runner, services, states
from gym.jobs.context import JobContext
from gym.jobs.errors import WorkerStopping
from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.testing import run_pending
from gym.runs.models import RunChunk, ScoreCache, SuiteRun
from gym.runs.work import shared_chunks
from gym.runs.work.actors import suite_run_help
from gym.runs.work.scoring import Scoring
from gym.runs.work.services import queue_run
from gym.runs.work.shared_chunks import HELP, SharedChunks
from lmgym.models.backends import uniform
from lmgym.models.engine import ScoringFailure
from models_registry.warm import load_registered
from tests.factories import make_model, make_revision

SENTENCES = 10


@pytest.fixture
def one_sentence_a_chunk(settings):
    settings.GYM_CHUNK_SENTENCES = 1


@pytest.fixture
def queued(people, one_sentence_a_chunk) -> SuiteRun:
    return queue_run(make_revision(people.alice, items=5), make_model(people.alice), actor=people.alice)


@pytest.fixture
def under_way(queued) -> JobContext:
    """Context of a worker that runs the suite: its chunks are planned, none is scored."""
    context = JobContext(states.claim(queued.job_id, "first"))
    scoring_of(context, queued)._plan()
    return context


def scoring_of(context: JobContext, run: SuiteRun) -> Scoring:
    run = SuiteRun.objects.select_related("revision__suite", "model").get(pk=run.pk)
    return Scoring(context, run, load_registered(run.model))


def helper(run: SuiteRun, name: str = "second") -> JobContext:
    job = services.enqueue(HELP, {"run": run.pk})
    return JobContext(states.claim(job.pk, name))


def alive(name: str, **values) -> None:
    WorkerHeartbeat.objects.create(pk=name, host="h", pid=1, queues=["default"], **values)


def bits(run: SuiteRun) -> list:
    return list(run.sentence_scores.order_by("sentence__position").values_list("tokens", "regions"))


def done(run: SuiteRun) -> int:
    return run.chunks.filter(done=True).count()


def test_a_helper_scores_chunks_and_the_numbers_are_those_of_one_worker(people, queued, under_way):
    suite_run_help(helper(queued))
    assert done(queued) == SENTENCES
    runner.run(Job.objects.get(pk=queued.job_id), heartbeat=False)
    queued.refresh_from_db()
    assert queued.is_done

    ScoreCache.objects.all().delete()
    alone = queue_run(queued.revision, queued.model, actor=people.alice)
    run_pending()
    assert bits(queued) == bits(alone)


def test_what_another_live_worker_took_is_left_to_it(queued, under_way):
    second, third = helper(queued), helper(queued, "third")
    taken = [SharedChunks(context, queued).claim().number for context in (second, third, under_way)]
    assert taken == [0, 1, 2]


def test_what_a_dead_worker_took_is_free_again(queued, under_way):
    dead = helper(queued)
    SharedChunks(dead, queued).claim()
    states.end_attempt(states.fenced(dead.job_id, dead.attempt), "it died")
    assert SharedChunks(under_way, queued).claim().number == 0


def test_the_run_waits_for_chunks_that_others_are_at(queued, under_way, monkeypatch):
    second = helper(queued)
    theirs = SharedChunks(second, queued)
    chunk = theirs.claim()
    naps = []

    def nap(seconds):
        naps.append(done(queued))
        scoring_of(second, queued)._score(theirs, chunk)

    monkeypatch.setattr("gym.runs.work.scoring.sleep", nap)
    scoring_of(under_way, queued).scores()
    assert naps == [SENTENCES - 1]


def test_idle_workers_are_asked_and_busy_ones_are_not(queued, under_way):
    alive("first")  # busy with the run itself
    alive("idle")
    alive("silent", last_seen=timezone.now() - timedelta(minutes=5))
    alive("elsewhere")
    WorkerHeartbeat.objects.filter(pk="elsewhere").update(queues=["gpu"])
    assert SharedChunks(under_way, queued).ask_for_help() == 1
    assert Job.objects.filter(kind=HELP, state="queued").count() == 1
    assert SharedChunks(under_way, queued).ask_for_help() == 0  # the queued one will get the idle worker


def test_nobody_is_asked_again_at_once(queued, under_way):
    alive("first")
    alive("idle")
    shared = SharedChunks(under_way, queued)
    assert shared.ask_for_help() == 1
    Job.objects.filter(kind=HELP).delete()
    assert shared.ask_for_help() == 0


def test_nobody_is_asked_for_a_few_chunks(queued, under_way):
    alive("first")
    alive("idle")
    queued.chunks.filter(number__gte=shared_chunks.LEAST_FREE - 1).update(done=True)
    assert SharedChunks(under_way, queued).ask_for_help() == 0


def test_a_helper_leaves_when_other_work_waits(people, queued, under_way, monkeypatch):
    score = uniform.UniformBackend.score

    def somebody_comes(self, texts, policy):
        queue_run(make_revision(people.bob), make_model(people.bob, slug="bobs"), actor=people.bob)
        return score(self, texts, policy)

    monkeypatch.setattr(uniform.UniformBackend, "score", somebody_comes)
    suite_run_help(helper(queued))
    assert done(queued) == 1


@pytest.mark.parametrize(
    "end",
    [
        lambda run: states.cancel(run.job_id),
        lambda run: SuiteRun.objects.filter(pk=run.pk).update(scorer="another"),
        lambda run: states.end_attempt(states.fenced(run.job_id, 1), "its worker died"),
    ],
    ids=["cancelled", "planned anew", "without a worker"],
)
def test_a_helper_leaves_a_run_that_is_not_under_way(queued, under_way, monkeypatch, end):
    score = uniform.UniformBackend.score

    def then_it_ends(self, texts, policy):
        end(queued)
        return score(self, texts, policy)

    monkeypatch.setattr(uniform.UniformBackend, "score", then_it_ends)
    suite_run_help(helper(queued))
    assert done(queued) == 1


def test_a_helper_that_would_get_other_bits_scores_nothing(queued, under_way):
    SuiteRun.objects.filter(pk=queued.pk).update(scorer="0" * 64)
    suite_run_help(helper(queued))
    assert done(queued) == 0


def test_a_helper_of_a_deleted_run_is_done(queued):
    job = services.enqueue(HELP, {"run": queued.pk})
    states.cancel(queued.job_id)
    queued.delete()
    assert [ended.state for ended in run_pending() if ended.pk == job.pk] == ["done"]


def test_what_a_helper_could_not_score_the_run_tries_itself(queued, under_way, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            uniform.UniformBackend,
            "score",
            lambda self, texts, policy: [ScoringFailure("memory ran out", transient=True) for _ in texts],
        )
        suite_run_help(helper(queued))
    assert done(queued) == 0
    scoring_of(under_way, queued).scores()
    assert done(queued) == SENTENCES


def test_a_helper_that_is_stopped_gives_its_chunk_back(queued, under_way, monkeypatch):
    def stopped(self, texts, policy):
        raise WorkerStopping

    context = helper(queued)
    with monkeypatch.context() as patch:
        patch.setattr(uniform.UniformBackend, "score", stopped)
        assert runner.run(Job.objects.get(pk=context.job_id), heartbeat=False) == "queued"
    assert SharedChunks(under_way, queued).claim().number == 0
    assert RunChunk.objects.get(run=queued, number=0).taken_by == under_way.job_id
