"""Resuming a run and scoring it again require the permissions that starting one requires at the time of the
request.
"""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from gym.agents import services
from gym.agents.models import AgentRun, AgentServer
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.secrets import encrypt
from models_registry.models import RegisteredModel
from tests.agents.site import make_server, make_suite
from tests.once import once_a_module

built, people, server = once_a_module(lambda people: make_server(people.alice))


@pytest.fixture
def suite(people, server):
    return make_suite(people.alice)


def finished(suite, server, actor) -> AgentRun:
    run = services.queue_run(suite, server, actor=actor)
    run_pending()
    return AgentRun.objects.get(pk=run.pk)


def failed(suite, server, actor) -> AgentRun:
    run = services.queue_run(suite, server, actor=actor)
    services.cancel_run(run, actor=actor)
    return AgentRun.objects.get(pk=run.pk)


def start_again(run: AgentRun, actor):
    use_case = services.queue_rescoring if run.is_done else services.retry_run
    return use_case(AgentRun.objects.get(pk=run.pk), actor=actor)


@pytest.mark.parametrize("before", [finished, failed])
def test_who_ran_a_suite_may_start_again_as_long_as_nothing_changed(people, suite, server, before):
    run = before(suite, server, people.charlie)
    start_again(run, people.charlie)
    assert Job.objects.filter(state="queued").count() == 1


@pytest.mark.parametrize("before", [finished, failed])
def test_variables_that_came_since_work_for_their_owner_alone(people, suite, server, before):
    run = before(suite, server, people.charlie)
    services.save_suite(suite, actor=people.alice, variables={"KEY": "hush-hush"})
    with pytest.raises(PermissionDenied, match="secrets"):
        start_again(run, people.charlie)
    assert not Job.objects.filter(state="queued").exists()
    start_again(run, people.alice)


@pytest.mark.parametrize("before", [finished, failed])
def test_a_server_that_got_secrets_since_works_for_its_owner_alone(people, suite, server, before):
    run = before(suite, server, people.charlie)
    AgentServer.objects.update(secrets={"Authorization": encrypt("Bearer hush-hush")})
    with pytest.raises(ValidationError, match="You may not use"):
        start_again(run, people.charlie)
    start_again(run, people.alice)


@pytest.mark.parametrize("before", [finished, failed])
def test_a_server_that_turned_private_since_works_for_its_owner_alone(people, suite, server, before):
    run = before(suite, server, people.charlie)
    RegisteredModel.objects.filter(pk=server.model_id).update(visibility="private")
    with pytest.raises(ValidationError, match="You may not use"):
        start_again(run, people.charlie)
    start_again(run, people.alice)


@pytest.mark.parametrize("before", [finished, failed])
def test_a_suite_that_turned_private_since_works_for_its_owner_alone(people, suite, server, before):
    run = before(suite, server, people.charlie)
    suite.visibility = "private"
    services.save_suite(suite, actor=people.alice)
    with pytest.raises(PermissionDenied):
        start_again(run, people.charlie)


def test_the_owner_of_a_suite_does_not_go_on_with_the_key_of_somebody_elses_server(people, suite):
    theirs = make_server(people.charlie, "theirs")
    run = failed(suite, theirs, people.charlie)
    AgentServer.objects.filter(pk=theirs.pk).update(secrets={"Authorization": encrypt("Bearer hush-hush")})
    with pytest.raises(ValidationError, match="You may not use"):
        start_again(run, people.alice)
    start_again(run, people.charlie)


def test_stored_answers_are_scored_though_the_server_is_down(people, suite, server):
    run = finished(suite, server, people.alice)
    stopped = failed(suite, server, people.alice)
    RegisteredModel.objects.filter(pk=server.model_id).update(status="broken")
    assert start_again(run, people.alice).rescored_from == run
    with pytest.raises(ValidationError, match="not ready"):
        start_again(stopped, people.alice)
