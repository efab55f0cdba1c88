"""The time limit of a run: checked before it starts where possible, and enforced while it runs."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from gym.agents import actors, services
from gym.agents.models import AgentRun, CaseIteration, CaseRun
from gym.jobs import states
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from lmgym.agents.case_reader import read_case
from lmgym.agents.demo_server import least_seconds
from lmgym.agents.driver import Options
from tests.agents.site import FLAKY, GOOD, make_server, make_suite
from tests.once import once_a_module

pytestmark = pytest.mark.django_db

SLOW = 'agent: echo\nsuccess_ratio: "1/1000"\ninteractions: [{text: "SLEEP(600)"}]\n'


built, people, server = once_a_module(lambda people: make_server(people.alice))


def case(turns: str, more: str = ""):
    return read_case(f'agent: echo\nsuccess_ratio: "5/8"\n{more}\ninteractions: [{turns}]')


@pytest.mark.parametrize(
    ("given", "options", "seconds"),
    [
        (case("{text: hello}"), Options(), 0),
        (case('{text: "SLEEP(10)"}, {text: "SLEEP(2.5)"}'), Options(parallel=4), 25),
        (case('{text: "SLEEP(10)"}'), Options(parallel=3), 30),
        (case('{text: "SLEEP(10)"}', "connections: [http, direct]"), Options(parallel=8), 20),
        (case('{text: "SLEEP(900)", timeout_in_seconds: 20}, {text: "SLEEP(5)"}'), Options(parallel=8), 20),
        (case('{text: "SLEEP(900)"}'), Options(parallel=8), 300),
        (case('{text: "SLEEP(10)"}', "timeout_in_seconds: 4"), Options(parallel=1), 4),
        (
            case('{text: "SLEEP(10)"}', "timeout_in_seconds: 4"),
            Options(parallel=1, reading="reference-compatible"),
            32,
        ),
        (case('{text: "SLEEP(10)"}'), Options(parallel=1, early_stop=True), 40),
    ],
)
def test_the_least_time_of_a_case_is_that_of_its_pauses_within_its_timeouts(given, options, seconds):
    assert least_seconds(given, options) == seconds


def test_a_run_that_cannot_end_in_time_is_refused_with_the_number_and_nothing_is_queued(people, server):
    suite = make_suite(people.alice, cases={f"slow{n}": SLOW for n in range(50)})
    with pytest.raises(ValidationError, match=r"at least 3,750,000 seconds .* a run may take 3,600 seconds"):
        services.queue_run(suite, server, actor=people.alice)
    assert not AgentRun.objects.exists()
    assert not Job.objects.filter(kind="agent_run").exists()


def test_the_page_and_the_api_say_why_a_long_run_is_refused(people, server, client, settings):
    suite = make_suite(people.alice, cases={"slow": SLOW})
    client.force_login(people.alice)
    page = client.post(f"/agents/{suite.slug}/run/", {"server": [server.pk]}, follow=True)
    assert "75,000 seconds" in page.content.decode()
    given = {"suite": suite.slug, "server": server.model.slug}
    answer = client.post("/api/v1/agent-runs/", given, content_type="application/json")
    assert answer.status_code == 400
    assert "75,000 seconds" in answer.content.decode()


def test_staff_may_allow_more(people, server, settings):
    settings.GYM_AGENT_RUN_SECONDS = 100_000
    assert services.queue_run(make_suite(people.alice, cases={"slow": SLOW}), server, actor=people.alice).job


def test_agent_work_waits_in_a_queue_of_its_own(people, server):
    run = services.queue_run(make_suite(people.alice), server, actor=people.alice)
    run_pending()
    again = services.queue_rescoring(AgentRun.objects.get(pk=run.pk), actor=people.alice)
    assert (run.job.queue, again.job.queue) == ("agents", "agents")


def test_when_the_time_is_up_the_rest_is_given_up_with_the_reason_and_the_answers_stay(
    people, server, monkeypatch, settings
):
    suite = make_suite(people.alice, cases={"a-good": GOOD, "flaky": FLAKY.replace("2/4", "1/50")})
    services.queue_run(suite, server, actor=people.alice, parallel=1)
    stored = actors._store
    works = []

    class Seen(actors._RunWork):
        def __init__(self, context):
            super().__init__(context)
            works.append(self)

    def an_hour_goes_by(case_run, result):
        stored(case_run, result)
        if result.number == 3:
            settings.GYM_AGENT_RUN_SECONDS = 1
            AgentRun.objects.update(spent=3600)
            works[0].until = 0.0

    monkeypatch.setattr(actors, "_RunWork", Seen)
    monkeypatch.setattr(actors, "_store", an_hour_goes_by)
    with pytest.raises(PermanentFailure, match="reached its limit of 1 seconds"):
        actors.agent_run(JobContext(states.claim_next(services.QUEUE, "w")))
    kept = dict(CaseRun.objects.values_list("name", "outcome"))
    assert kept == {"a-good": "pass", "flaky": ""}
    assert CaseIteration.objects.count() == 4
    assert AgentRun.objects.get().spent >= 3600


def test_a_run_whose_time_was_used_up_is_not_tried_again_until_more_is_allowed(people, server, settings):
    run = services.queue_run(make_suite(people.alice), server, actor=people.alice)
    AgentRun.objects.update(spent=4000)
    run_pending()
    run = AgentRun.objects.get()
    assert run.state == "failed"
    assert "reached its limit of 3,600 seconds" in run.job.error
    with pytest.raises(ValidationError, match="reached its limit"):
        services.retry_run(run, actor=people.alice)
    settings.GYM_AGENT_RUN_SECONDS = 5000
    services.retry_run(run, actor=people.alice)
    run_pending()
    assert AgentRun.objects.get().is_done


def test_the_seconds_of_all_attempts_are_added_up(people, server):
    run = services.queue_run(make_suite(people.alice), server, actor=people.alice)
    AgentRun.objects.update(spent=100)
    run_pending()
    assert 100 < AgentRun.objects.get(pk=run.pk).spent < 200
