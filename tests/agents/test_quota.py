"""Quotas on agent suites, their cases and agent runs."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.agents import services
from gym.agents.models import AgentCase, AgentRun, AgentSuite, CaseRun
from gym.agents.quotas import AGENT_RUNS, AGENT_SUITES
from gym.jobs.models import Job
from tests.agents.site import GOOD, make_run, make_server, make_suite

JSON = {"content_type": "application/json"}
LONG = GOOD + "# " + "x" * 5_000


@pytest.fixture
def suite(client, people):
    client.force_login(people.alice)
    return make_suite(people.alice)


@pytest.mark.parametrize("way", ["page", "api"])
def test_one_more_suite_is_refused(client, suite, settings, way):
    settings.GYM_QUOTA_AGENT_SUITES = (1, 0)
    given = {"title": "More", "slug": "more", "visibility": "private", "judge_votes": 1}
    if way == "page":
        answer = client.post(reverse("agent-suite-new"), given)
    else:
        answer = client.post(reverse("api-agent-suites"), given, **JSON)
    assert answer.status_code == 400
    assert "You have 1 agent suite; the limit is 1" in answer.content.decode()
    assert AgentSuite.objects.count() == 1


@pytest.mark.parametrize("way", ["case page", "import page", "import api", "case api"])
def test_cases_count_with_their_bytes(client, suite, people, settings, way):
    settings.GYM_QUOTA_AGENT_SUITES = (0, AGENT_SUITES.amount_of(people.alice).bytes + 1_000)
    slug, case = [suite.slug], suite.cases.get()
    if way == "case page":
        answer = client.post(reverse("agent-case-new", args=slug), {"name": "more", "text": LONG})
    elif way == "import page":
        files = {"file": [SimpleUploadedFile("more.hocon", LONG.encode())]}
        answer = client.post(reverse("agent-suite-import", args=slug), files)
    elif way == "import api":
        answer = client.post(reverse("api-agent-cases", args=slug), {"cases": {"more": LONG}}, **JSON)
    else:
        address = reverse("api-agent-case", args=[suite.slug, case.pk])
        answer = client.patch(address, {"text": LONG}, **JSON)
    assert answer.status_code == 400
    assert "your agent suites would take up" in answer.content.decode()
    assert AgentCase.objects.get().text == GOOD


def test_a_run_holds_a_copy_of_its_cases_and_counts_with_it(suite, people, settings):
    services.import_cases(suite, {"hello": LONG}, actor=people.alice)
    server = make_server(people.alice)
    jobs = Job.objects.count()
    settings.GYM_QUOTA_AGENT_RUNS = (0, 5_000)
    with pytest.raises(ValidationError, match="your agent runs would take up"):
        services.queue_run(suite, server, actor=people.alice)
    assert (AgentRun.objects.count(), CaseRun.objects.count(), Job.objects.count()) == (0, 0, jobs)


def test_one_more_run_is_refused_also_to_score_again(client, suite, people, settings):
    run = make_run(suite, make_server(people.alice))
    assert AGENT_RUNS.amount_of(people.alice).bytes > len(GOOD)
    settings.GYM_QUOTA_AGENT_RUNS = (1, 0)
    with pytest.raises(ValidationError, match="You have 1 agent run; the limit is 1"):
        services.queue_rescoring(run, actor=people.alice)
    given = {"suite": suite.slug, "server": "embedded"}
    answer = client.post(reverse("api-agent-runs"), given, **JSON)
    assert answer.status_code == 400
    assert AgentRun.objects.count() == 1
