"""A run records the version of the server, and whether it changed during the run."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.agents import actors, agent_adapters, selectors, services
from gym.agents.models import AgentRun
from gym.jobs.errors import PermanentFailure
from gym.jobs.testing import run_pending
from lmgym.agents import demo_server
from tests.agents.site import GOOD, make_run, make_server, make_suite
from tests.lmgym.agents.helpers import demo_server_url
from tests.page_text import text_of

BAD = GOOD.replace("keywords: hello", "keywords: nowhere")
ONE, TWO = "lm-gym-embedded 1.1", "lm-gym-embedded 1.2"
BOTH = f"{ONE} → {TWO}"


@pytest.fixture
def deploy(monkeypatch):
    """`deploy(version)` makes the embedded server report another version."""
    return lambda version: monkeypatch.setattr(demo_server, "VERSION", version)


@pytest.fixture
def suite(people):
    return make_suite(people.alice, cases={"a": GOOD, "b": GOOD, "c": GOOD})


@pytest.fixture
def server(people, deploy):
    deploy("1.1")
    server = make_server(people.alice)
    assert server.version == ONE
    return server


@pytest.fixture
def changed(suite, server, deploy, monkeypatch) -> AgentRun:
    """A run whose server is redeployed during the second of three cases."""
    stored = actors._store

    def deploy_in_b(case_run, result):
        if case_run.name == "b":
            deploy("1.2")
        stored(case_run, result)

    monkeypatch.setattr(actors, "_store", deploy_in_b)
    return make_run(suite, server)


def test_a_server_deployed_again_after_its_check_is_stored_as_what_it_is_now(people, suite, deploy, settings):
    deploy("1.1")
    with demo_server_url() as url:
        settings.GYM_NET_ALLOW = [url.removeprefix("http://")]
        server = make_server(people.alice, "there", kind="server", url=url)
        assert server.version == ONE
        deploy("1.2")
        assert make_run(suite, server).server_version == TWO


def test_a_queued_run_has_no_version_yet(people, suite, server):
    run = services.queue_run(suite, server, actor=people.alice)
    assert run.versions == []


def test_a_server_that_does_not_tell_has_none(people, suite, settings):
    """The check found a version, but the server no longer responds."""
    with demo_server_url() as url:
        settings.GYM_NET_ALLOW = [url.removeprefix("http://")]
        server = make_server(people.alice, "there", kind="server", url=url)
    run = make_run(suite, server)
    assert (server.version != "", run.server_version, run.is_done) == (True, "", True)


def test_a_version_that_changed_on_the_way_is_said_everywhere(client, changed):
    assert (changed.server_version, changed.versions, changed.version_changed) == (BOTH, [ONE, TWO], True)
    page = text_of(client.get(changed.get_absolute_url()))
    assert "The server’s version changed during the run" in page
    assert BOTH in page
    assert client.get(reverse("api-agent-run", args=[changed.key])).json()["versions"] == [ONE, TWO]
    data = client.get(reverse("agent-run-download", args=[changed.key, "json"]))
    told = b"".join(data.streaming_content).decode()
    assert f'"version": "{BOTH}",\n  "version_changed": true' in told
    junit = client.get(reverse("agent-run-download", args=[changed.key, "junit"]))
    assert f'name="server_version" value="{BOTH}"' in b"".join(junit.streaming_content).decode()


def test_it_is_counted_under_neither_version(client, suite, server, changed):
    make_run(suite, server)
    columns, rows = selectors.matrix(suite, suite.owner, by_version=True)
    assert [column.version for column in columns] == [TWO, BOTH]
    assert all(cell.newest for row in rows for cell in row.cells)
    trend = client.get(reverse("figure", args=["agent-suite-trend", "csv"]), {"suite": suite.slug})
    assert f",{BOTH}," in trend.content.decode()


def test_two_runs_that_are_compared_name_their_versions(client, suite, server, changed):
    second = make_run(suite, server)
    page = text_of(client.get(reverse("agent-compare"), {"a": changed.key, "b": second.key}))
    assert f"({BOTH}: changed during the run)" in page
    assert f"({TWO})" in page
    answer = client.get(reverse("api-agent-compare"), {"first": changed.key, "second": second.key}).json()
    assert (answer["first"]["versions"], answer["comparisons"][0]["versions"]) == ([ONE, TWO], [TWO])


def test_a_run_that_goes_on_later_asks_again(people, suite, server, deploy, monkeypatch):
    run = services.queue_run(suite, server, actor=people.alice)
    stored = actors._store

    def die_in_b(case_run, result):
        if case_run.name == "b":
            raise PermanentFailure("out of memory")
        stored(case_run, result)

    monkeypatch.setattr(actors, "_store", die_in_b)
    run_pending()
    run.refresh_from_db()
    assert (run.state, run.server_version) == ("failed", ONE)
    monkeypatch.setattr(actors, "_store", stored)
    deploy("1.2")
    services.retry_run(run, actor=people.alice)
    run_pending()
    run.refresh_from_db()
    assert (run.state, run.server_version) == ("done", BOTH)


def test_of_very_many_versions_the_first_few_are_named(people, server, deploy, monkeypatch):
    suite = make_suite(people.alice, "many", cases={f"case-{number}": GOOD for number in range(9)})
    stored = actors._store

    def deploy_always(case_run, result):
        deploy(case_run.name)
        stored(case_run, result)

    monkeypatch.setattr(actors, "_store", deploy_always)
    run = make_run(suite, server)
    assert [version.rpartition(" ")[2] for version in run.versions] == [
        "1.1",
        "case-0",
        "case-1",
        "case-2",
        "others",
    ]


def test_answers_that_are_scored_again_keep_the_version_that_gave_them(suite, server, deploy):
    run = make_run(suite, server)
    deploy("1.2")
    services.queue_rescoring(run, actor=suite.owner)
    run_pending()
    assert AgentRun.objects.get(rescored_from=run).server_version == ONE


def test_a_case_that_another_version_passes_is_not_flaky(people, server, deploy):
    suite = make_suite(people.alice, "fixed", cases={"a": GOOD})
    first = make_run(suite, server)
    first.case_runs.update(outcome="fail", passed=0)
    deploy("1.2")
    second = make_run(suite, server)
    case = suite.cases.get()
    assert selectors.flipping_cases(second) == set()
    assert not selectors.matrix(suite, people.alice)[1][0].cells[0].flaky
    assert not selectors.flaky(selectors.history_of(case, people.alice))
    second.case_runs.update(outcome="fail", passed=0)
    third = make_run(suite, server)
    assert selectors.flipping_cases(third) == {case.pk}
    assert selectors.matrix(suite, people.alice)[1][0].cells[0].flaky
    assert selectors.flaky(selectors.history_of(case, people.alice))


def test_a_judge_deployed_again_is_another_judge(people, suite, server, deploy):
    suite.judge = server.model
    suite.save()
    names = set()
    for version in ("1.1", "1.2"):
        deploy(version)
        names.add(agent_adapters.judge_for(suite, "document", ()).ask.name)
    assert len(names) == 2
