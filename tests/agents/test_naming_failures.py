"""A model names the failures of a case: in a job, from the page and through the API."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.agents import actors, presenters, services
from gym.agents.actors import agent_naming
from gym.agents.models import AgentServer, CaseRun, FailureMode, Naming
from gym.jobs import states
from gym.jobs.context import JobContext
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from lmgym.agents.transport import TransportError
from tests.agents.site import FLAKY, GOOD, make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, said
from tests.once import once_a_module
from tests.page_text import text_of
from tests.people import People

FAILS = (
    'agent: echo\nsuccess_ratio: "3/4"\ninteractions: [{text: FLAKY, response: {text: {keywords: zzz}}}]\n'
)
"""A case that fails with two alternating answers: Goodbye moon, Hello world."""


def make_world(people: People) -> tuple[AgentServer, CaseRun]:
    server = make_server(people.alice)
    run = make_run(make_suite(people.alice, cases={"flaky": FAILS}), server, parallel=1)
    return server, run.case_runs.get()


built, people, world = once_a_module(make_world)


@pytest.fixture
def server(world) -> AgentServer:
    return world[0]


@pytest.fixture
def failed(world) -> CaseRun:
    return world[1]


def modes(case_run: CaseRun) -> dict[str, int]:
    return {mode.name: len(mode.samples) for mode in presenters.assessment_of(case_run).modes}


NAMES = {"It speaks of ‘goodbye’.": 2, "It speaks of ‘hello’.": 2}


def test_the_failures_are_named_by_the_queue(people, server, failed):
    naming = services.queue_naming(failed, server, "", actor=people.alice)
    assert naming.state == "queued"
    assert all(name.startswith("Turn 1") for name in modes(failed))
    run_pending()
    naming.refresh_from_db()
    assert (naming.state, naming.total, naming.unnamed, naming.trouble) == ("done", 4, 0, "")
    assert modes(failed) == NAMES
    assert (naming.job.done, naming.job.total) == (4, 4)


def test_names_are_offered_again_in_later_runs_and_ids_stay(people, server, failed):
    services.queue_naming(failed, server, "", actor=people.alice)
    run_pending()
    again = make_run(failed.run.suite, server).case_runs.get()
    services.queue_naming(again, server, "", actor=people.alice)
    run_pending()
    ids = [{mode.id for mode in presenters.assessment_of(row).modes} for row in (failed, again)]
    assert ids[0] == ids[1]
    assert FailureMode.objects.count() == 2


def test_forgetting_the_choices_groups_by_text_and_keeps_the_names(people, server, failed):
    services.queue_naming(failed, server, "", actor=people.alice)
    run_pending()
    services.forget_naming(failed, actor=people.alice)
    assert all(name.startswith("Turn 1") for name in modes(failed))
    [names] = actors.known_names(failed).values()
    assert set(names.values()) == set(NAMES)


def test_a_killed_worker_asks_only_what_was_not_answered(people, server, failed, monkeypatch):
    transport = Scripted(lambda body: said("NEW: It babbles."))
    monkeypatch.setattr(actors, "transport_for", lambda server: transport)
    naming = services.queue_naming(failed, server, "", actor=people.alice)
    written = actors._write_choice

    def die_after_one(naming, choice, chosen, trouble):
        if len(chosen) == 2:
            raise KeyboardInterrupt
        written(naming, choice, chosen, trouble)

    monkeypatch.setattr(actors, "_write_choice", die_after_one)
    job = states.claim_next(services.QUEUE, "worker-1")
    with pytest.raises(KeyboardInterrupt):
        agent_naming(JobContext(job))
    monkeypatch.setattr(actors, "_write_choice", written)
    naming.refresh_from_db()
    assert len(naming.chosen) == 1
    agent_naming(JobContext(Job.objects.get(pk=job.pk)))
    naming.refresh_from_db()
    assert (len(naming.chosen), naming.state) == (4, "done")
    assert modes(failed) == {"It babbles.": 4}


def test_an_agent_that_does_not_answer_ends_it_with_a_reason(people, server, failed, monkeypatch):
    transport = Scripted(lambda body: TransportError("timeout", "too slow with hush-hush"), ("hush-hush",))
    monkeypatch.setattr(actors, "transport_for", lambda server: transport)
    naming = services.queue_naming(failed, server, "", actor=people.alice)
    run_pending()
    naming.refresh_from_db()
    assert (naming.state, len(transport.asked)) == ("failed", 3)
    assert naming.job.error.endswith("too slow with •••")
    assert naming.trouble == "too slow with •••"
    assert all(name.startswith("Turn 1") for name in modes(failed))


def test_nonsense_is_no_choice(people, server, failed, monkeypatch):
    monkeypatch.setattr(actors, "transport_for", lambda server: Scripted(lambda body: said("Because.")))
    naming = services.queue_naming(failed, server, "", actor=people.alice)
    run_pending()
    naming.refresh_from_db()
    assert (naming.state, naming.unnamed) == ("done", 4)


def test_what_cannot_be_named_is_refused_with_a_reason(people, server, failed):
    passed = make_run(make_suite(people.alice, "fine", {"good": GOOD}), server).case_runs.get()
    with pytest.raises(ValidationError, match="no failures to name"):
        services.queue_naming(passed, server, "", actor=people.alice)
    with pytest.raises(PermissionDenied):
        services.queue_naming(failed, server, "", actor=people.charlie)
    private = make_server(people.charlie, "hers", visibility="private")
    with pytest.raises(ValidationError, match="may not use it"):
        services.queue_naming(failed, private, "", actor=people.alice)
    with pytest.raises(ValidationError, match="does not list the agent nobody"):
        services.queue_naming(failed, server, "nobody", actor=people.alice)
    services.queue_naming(failed, server, "", actor=people.alice)
    with pytest.raises(ValidationError, match="already being named"):
        services.queue_naming(failed, server, "", actor=people.alice)


def test_the_page_asks_follows_and_forgets(client, people, server, failed):
    client.force_login(people.alice)
    place = [failed.run.key, failed.pk]
    page = failed.get_absolute_url()
    assert "4 failures can be named" in text_of(client.get(page))
    ask = reverse("agent-naming", args=place)
    assert client.post(ask, {"server": server.pk, "agent": ""}).url == f"{page}#why"
    assert "hx-get" in text_of(client.get(ask))
    run_pending()
    assert (client.get(ask).status_code, client.get(ask)["HX-Refresh"]) == (286, "true")
    shown_page = text_of(client.get(page))
    assert "It speaks of ‘goodbye’." in shown_page
    assert "4 of 4 failures were named by Embedded" in shown_page
    client.post(reverse("agent-naming-forget", args=place))
    assert not Naming.objects.exists()
    assert "It speaks of" not in text_of(client.get(page))


def test_a_page_made_while_the_naming_ends_asks_again(client, people, server, failed, monkeypatch):
    services.queue_naming(failed, server, "", actor=people.alice)
    overall = presenters.overall

    def and_then_it_ends(case_run):
        try:
            return overall(case_run)
        finally:
            run_pending()

    monkeypatch.setattr(presenters, "overall", and_then_it_ends)
    client.force_login(people.alice)
    page = text_of(client.get(failed.get_absolute_url()))
    assert "It speaks of" not in page
    assert "failures were named by" not in page
    assert "hx-get" in page


def test_strangers_see_the_names_and_ask_nothing(client, people, server, failed):
    client.force_login(people.charlie)
    place = [failed.run.key, failed.pk]
    assert "can be named" not in text_of(client.get(failed.get_absolute_url()))
    assert client.post(reverse("agent-naming", args=place), {"server": server.pk}).status_code == 403
    assert client.post(reverse("agent-naming", args=place), {"server": 10**9}).status_code == 302
    assert not Naming.objects.exists()


def test_passing_iterations_are_no_failures(people, server):
    run = make_run(make_suite(people.alice, "passing", cases={"flaky": FLAKY}), server, parallel=1)
    naming = services.queue_naming(run.case_runs.get(), server, "", actor=people.alice)
    assert naming.total == 2


def test_the_name_of_a_private_agent_stays_with_those_who_may_see_it(client, people, failed):
    private = make_server(people.alice, "undercover", visibility="private")
    private.agents = [{"agent_name": "whisperer"}]
    private.save()
    services.queue_naming(failed, private, "whisperer", actor=people.alice)
    address = failed.get_absolute_url()
    for _ in range(2):  # while it waits, and when it is done
        page = text_of(client.get(address))
        assert "undercover" not in page
        assert "whisperer" not in page
        run_pending()
    client.force_login(people.alice)
    assert "undercover" in text_of(client.get(address))
