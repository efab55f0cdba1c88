"""Jobs are not computed if their user lost a permission while they waited: runs, games, agents and single
sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gym.agents import services as agents
from gym.agents.models import AgentRun, AgentServer, AgentSuite, CaseIteration, Naming
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.lmchallenge import playing
from gym.lmchallenge.models import Corpus
from gym.propara import services as propara
from gym.propara.models import AnswerSet
from gym.runs.models import RunChunk, SuiteRun
from gym.runs.work import preview, services
from gym.runs.work import score_requests as scoring
from gym.secrets import sealed
from lmgym.models.engine import ScoringPolicy
from models_registry.models import RegisteredModel
from suites.models import Suite
from suites.selectors import document_of
from tests.agents.site import FLAKY, make_run, make_server
from tests.agents.site import make_suite as make_tests
from tests.factories import make_model, make_revision
from tests.lmchallenge.worlds import game_request, make_corpus
from tests.lmgym.propara.worlds import LIGHT
from tests.propara.worlds import hand_in, make_version


def queue_suite_run(alice, bob):
    return services.queue_run(make_revision(alice), make_model(alice), actor=bob).job


def queue_game(alice, bob):
    make_model(alice, backend="ngram")
    return playing.start_game(make_corpus(alice), game_request(player="model:uniform"), actor=bob).job


def queue_scoring_on_a_version(alice, bob):
    version = make_version(alice)
    hand_in(version, alice, LIGHT)
    version.answer_set.collaborations.create(user=bob, role="edit")
    second = propara.add_version(version.answer_set, LIGHT.replace("space", "sky").encode(), actor=alice)
    return propara.queue_scoring_on(second, actor=bob)


def queue_agent_run(alice, bob):
    return agents.queue_run(make_tests(alice), make_server(alice), actor=bob).job


def queue_rescoring(alice, bob):
    return agents.queue_rescoring(make_run(make_tests(alice), make_server(alice), actor=bob), actor=bob).job


def queue_naming(alice, bob):
    suite, server = make_tests(alice, cases={"flaky": FLAKY.replace("world", "nothing")}), make_server(alice)
    suite.collaborations.create(user=bob, role="edit")
    failed = make_run(suite, server).case_runs.get()
    return agents.queue_naming(failed, server, "namer", actor=bob).job


def queue_scores(alice, bob):
    return scoring.queue_scores(["One two."], make_model(alice), ScoringPolicy(), actor=bob).job


def queue_preview(alice, bob):
    revision, model = make_revision(alice), make_model(alice)
    preview.preview(revision.suite_id, document_of(revision), [1], model, ScoringPolicy(), actor=bob)
    return Job.objects.get(kind=preview.KIND)


def close(model: Any, **values: Any) -> Callable[[], object]:
    return lambda: model.objects.update(**({"visibility": "private"} | values))


def hide(model: Any, field: str) -> Callable[[], object]:
    return lambda: model.objects.update(**{field: sealed({}, {"KEY": "hush-hush"})})


def close_models():
    RegisteredModel.objects.exclude(backend="agent").update(visibility="private")


def take_the_place():
    for suite in AgentSuite.objects.all():
        suite.collaborations.all().delete()


def leave_the_answers():
    for answer_set in AnswerSet.objects.all():
        answer_set.collaborations.all().delete()


@dataclass(frozen=True)
class Case:
    queue: Callable[[Any, Any], Job]
    lose: Callable[[], object]
    said: str


CASES = [
    Case(queue_suite_run, close(Suite), "the suite agreement."),
    Case(queue_suite_run, close_models, "the model uniform."),
    Case(queue_game, close(Corpus), "the corpus cats."),
    Case(queue_game, close_models, "the model uniform."),
    Case(queue_scoring_on_a_version, leave_the_answers, "the reference answers light."),
    Case(queue_agent_run, close(AgentSuite), "the suite manners."),
    Case(queue_agent_run, close(RegisteredModel), "the agent server embedded."),
    Case(queue_agent_run, hide(AgentSuite, "variables"), "the suite manners."),
    Case(queue_agent_run, hide(AgentServer, "secrets"), "the agent server embedded."),
    Case(queue_rescoring, close(AgentSuite), "the suite manners."),
    Case(queue_rescoring, close(RegisteredModel), "the agent server embedded."),
    Case(queue_naming, take_the_place, "the suite manners."),
    Case(queue_naming, close(RegisteredModel), "the agent server embedded."),
    Case(queue_scores, close_models, "the model uniform."),
    Case(queue_preview, close_models, "the model uniform."),
]
ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.queue.__name__}-{case.said}")
KINDS = pytest.mark.parametrize(
    "queue", list(dict.fromkeys(case.queue for case in CASES)), ids=lambda queue: queue.__name__
)


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch):
    monkeypatch.setattr(preview, "WAIT_SECONDS", 0)


def work_on(job: Job) -> Job:
    run_pending(job.queue)
    job.refresh_from_db()
    return job


@ALL
def test_a_lost_right_ends_it_and_is_named(people, case):
    job = case.queue(people.alice, people.bob)
    case.lose()
    job = work_on(job)
    assert job.state == "failed"
    assert job.error.startswith(f"Refused: the user who requested this may no longer use {case.said}")
    assert not CaseIteration.objects.filter(case_run__run__job=job).exists()
    assert not SuiteRun.objects.filter(completed_at__isnull=False).exists()
    assert not Naming.objects.exclude(chosen={}).exists()


@ALL
def test_staff_may_use_everything(people, case):
    job = case.queue(people.alice, people.staff)
    case.lose()
    assert "Refused" not in work_on(job).error


@KINDS
def test_a_closed_account_computes_nothing(people, queue):
    job = queue(people.alice, people.bob)
    people.bob.is_active = False
    people.bob.save()
    job = work_on(job)
    assert (job.state, job.error.partition(":")[0]) == ("failed", "Refused")


@KINDS
def test_who_kept_the_right_is_not_refused(people, queue):
    job = queue(people.alice, people.bob)
    assert "Refused" not in work_on(job).error


def test_people_of_the_private_things_go_on(people):
    job = queue_suite_run(people.alice, people.bob)
    for thing in (Suite.objects.get(), RegisteredModel.objects.get()):
        thing.collaborations.create(user=people.bob, role="view")
        type(thing).objects.update(visibility="private")
    assert work_on(job).state == "done"


def test_who_is_taken_out_of_a_private_suite_is_refused(people):
    suite = make_revision(people.alice, visibility="private", collaborator=people.bob)
    job = services.queue_run(suite, make_model(people.alice), actor=people.bob).job
    suite.suite.collaborations.all().delete()
    assert "the suite agreement." in work_on(job).error


def test_both_things_that_were_lost_are_named(people):
    job = queue_suite_run(people.alice, people.bob)
    close(Suite)()
    close_models()
    assert "the suite agreement and the model uniform." in work_on(job).error


def test_what_was_stored_stays_and_serves_who_may_go_on(people):
    job = queue_suite_run(people.alice, people.bob)
    run = SuiteRun.objects.get()
    RunChunk.objects.create(run=run, number=0, positions=[0], done=True)
    close(Suite)()
    assert work_on(job).state == "failed"
    assert RunChunk.objects.filter(run=run, done=True).exists()
    services.retry_run(SuiteRun.objects.get(), actor=people.alice)
    assert work_on(job).state == "done"
    assert SuiteRun.objects.get().owner == people.bob


def test_a_judge_that_became_private_judges_for_its_people_alone(people):
    suite, server = make_tests(people.alice), make_server(people.alice)
    judge = make_server(people.alice, "judge")
    AgentSuite.objects.update(judge=judge.model)
    job = agents.queue_run(AgentSuite.objects.get(), server, actor=people.bob).job
    RegisteredModel.objects.filter(pk=judge.model_id).update(visibility="private")
    assert "the judge of manners." in work_on(job).error
    assert AgentRun.objects.get(job=job).suite == suite
