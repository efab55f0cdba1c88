"""Runs as jobs: progress, cancel, killed workers, secrets, scoring again."""

from __future__ import annotations

import html
import json

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from gym.agents import actors, services
from gym.agents.actors import agent_run
from gym.agents.agent_adapters import judge_for
from gym.agents.models import AgentRun, AgentServer, AgentSuite, CaseIteration
from gym.jobs import states
from gym.jobs.context import JobContext
from gym.jobs.errors import Cancelled, PermanentFailure
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from models_registry.models import AGENT, RegisteredModel
from models_registry.selectors import runnable_by
from tests.agents.site import FLAKY, GOOD, make_case, make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, demo_server_url, said
from tests.lmgym.agents.test_hostile_servers import BEHAVIOURS, CASE
from tests.lmgym.agents.test_hostile_servers import GOOD as GOOD_LINE
from tests.lmgym.net.hostile import answer
from tests.lmgym.net.hostile import server as hostile
from tests.once import once_a_module

GOOD_ANSWER = answer(GOOD_LINE)


def sends_on_to(url: str) -> bytes:
    return answer(b"", "307 There", Location=f"{url}/api/v1/a/streaming_chat")


built, people, server = once_a_module(lambda people: make_server(people.alice))


def test_the_check_finds_version_agents_and_graphs(server):
    assert server.version == "lm-gym-embedded 1.0"
    names = [agent["agent_name"] for agent in server.agents]
    assert "echo" in names
    assert "hidden" not in names
    assert server.graphs["math_guy"][0]["tools"] == ["calculator"]
    assert server.model.backend == AGENT


def test_a_server_that_is_not_there_is_broken_with_a_reason(people, settings, client):
    settings.GYM_NET_ALLOW = ["127.0.0.1:9"]
    server = make_server(people.alice, "gone", kind="server", url="http://127.0.0.1:9", ready=False)
    run_pending()
    server.model.refresh_from_db()
    assert (server.model.status, server.model.status_reason) == ("broken", "No connection to the server.")
    assert server.model.status_reason in client.get(server.get_absolute_url()).content.decode()


def test_a_server_that_may_not_be_asked_is_not_said_to_be_silent(people, settings, client):
    settings.GYM_NET_ALLOW = ["public"]
    server = make_server(people.alice, "gone", kind="server", url="http://127.0.0.1:9", ready=False)
    run_pending()
    server.model.refresh_from_db()
    assert server.model.status == "broken"
    assert "GYM_NET_ALLOW=public,10.1.2.3:8080" in server.model.status_reason
    assert server.model.status_reason.startswith("Not contacted: this site may not connect to private")
    page = client.get(server.get_absolute_url()).content.decode()
    assert "Not contacted" in page
    assert "oes not answer" not in page
    with pytest.raises(ValidationError, match="not ready"):
        services.queue_run(make_suite(people.alice), server, actor=people.alice)


def test_agents_are_never_offered_for_suites_of_sentences(people, server):
    assert not runnable_by(people.alice).exists()
    assert not server.model.is_hosted


def test_a_run_counts_iterations_and_keeps_transcripts(people, server):
    suite = make_suite(people.alice, cases={"hello": GOOD, "flaky": FLAKY})
    run = make_run(suite, server)
    assert run.is_done
    flaky, hello = run.case_runs.all()
    assert (hello.outcome, hello.passed, hello.n, hello.checks_made) == ("pass", 1, 1, 1)
    assert (flaky.outcome, flaky.passed, flaky.n) == ("pass", 2, 4)
    assert flaky.tokens["total_tokens"] > 0
    messages = hello.results()[0].turns[0].messages
    assert [message["type"] for message in messages] == ["SYSTEM", "HUMAN", "AGENT", "AGENT_FRAMEWORK"]
    assert (run.job.done, run.job.total) == (5, 5)


def test_over_a_real_socket_with_a_secret_header(people, settings):
    with demo_server_url() as url:
        settings.GYM_NET_ALLOW = [url.removeprefix("http://")]
        secret = {"Authorization": "Bearer hush-hush"}
        server = make_server(people.alice, "socket", kind="server", url=url, secret_headers=secret)
        run = make_run(make_suite(people.alice), server)
        assert run.case_runs.get().outcome == "pass"
        assert "hush" not in json.dumps(server.secrets)


def test_a_killed_worker_loses_only_what_it_was_at(people, server, monkeypatch):
    suite = make_suite(people.alice, cases={"flaky": FLAKY.replace("2/4", "1/5")})
    run = services.queue_run(suite, server, actor=people.alice, parallel=1)
    stored = actors._store

    def die_after_two(case_run, result):
        if CaseIteration.objects.count() == 2:
            raise KeyboardInterrupt
        stored(case_run, result)

    monkeypatch.setattr(actors, "_store", die_after_two)
    job = states.claim_next(services.QUEUE, "worker-1")
    with pytest.raises(KeyboardInterrupt):
        agent_run(JobContext(job))
    assert CaseIteration.objects.count() == 2
    kept = dict(CaseIteration.objects.values_list("number", "pk"))
    monkeypatch.setattr(actors, "_store", stored)
    agent_run(JobContext(Job.objects.get(pk=job.pk)))
    run.refresh_from_db()
    assert run.is_done
    assert kept.items() <= dict(CaseIteration.objects.values_list("number", "pk")).items()
    assert run.case_runs.get().n == 5


def test_a_run_that_lost_its_last_worker_goes_on_from_there_when_tried_again(people, server, monkeypatch):
    suite = make_suite(people.alice, cases={"good": GOOD, "many": FLAKY.replace("2/4", "1/9")})
    run = services.queue_run(suite, server, actor=people.alice, parallel=4)
    stored = actors._store

    def die_after_six(case_run, result):
        if CaseIteration.objects.count() == 6:
            raise PermanentFailure("out of memory")
        stored(case_run, result)

    monkeypatch.setattr(actors, "_store", die_after_six)
    run_pending()
    run.refresh_from_db()
    assert run.state == "failed"
    assert run.job is not None
    assert "out of memory" in run.job.error
    kept = list(CaseIteration.objects.values_list("pk", flat=True))
    assert len(kept) == 6
    monkeypatch.setattr(actors, "_store", stored)
    services.retry_run(run, actor=people.alice)
    run_pending()
    run = AgentRun.objects.get(pk=run.pk)
    assert run.is_done
    assert set(kept) < set(CaseIteration.objects.values_list("pk", flat=True))
    assert {row.name: row.n for row in run.case_runs.all()} == {"good": 1, "many": 9}


@pytest.mark.parametrize(
    ("number", "outcome"), [("1e400", "error"), ("-1e400", "error"), ("9" * 401, "pass"), ("-5", "pass")]
)
def test_no_number_of_a_server_ends_a_run(people, server, client, monkeypatch, number, outcome):
    def answers(body):
        account = '{"response": {"type": "AGENT", "structure": {"total_tokens": %s, "total_cost": %s}}}\n'
        end = {"response": {"type": "AGENT_FRAMEWORK", "text": "hello", "chat_context": {}}}
        return [(account % (number, number)).encode(), (account % (7, 0.5)).encode()[:-1] + b"\n", end]

    monkeypatch.setattr(actors, "transport_for", lambda server: Scripted(answers))
    run = make_run(make_suite(people.alice, cases={"hello": 'success_ratio: "2/2"\n' + GOOD}), server)
    case_run = run.case_runs.get()
    assert (run.state, case_run.outcome) == ("done", outcome)
    assert case_run.tokens["total_tokens"] == (14 if outcome == "pass" else None)
    for page in (
        run.get_absolute_url(),
        case_run.get_absolute_url(),
        f"/agents/runs/{run.key}/download/junit/",
    ):
        assert client.get(page).status_code == 200


def test_what_was_counted_before_numbers_were_looked_at_breaks_no_page(people, server, client):
    run = make_run(make_suite(people.alice), server)
    row = CaseIteration.objects.get()
    row.data["turns"][0]["tokens"] = {"total_tokens": int("9" * 401), "total_cost": 0.5}
    row.save()
    file = client.get(f"/agents/runs/{run.key}/download/junit/")
    assert (file.status_code, b"total_tokens" in file.getvalue()) == (200, False)


@pytest.mark.parametrize("name", ["hangs", "lies about its encoding"])
def test_a_run_against_a_server_that_means_harm_ends_with_named_outcomes(
    people, settings, client, monkeypatch, name
):
    monkeypatch.setattr("tests.lmgym.agents.test_hostile_servers.PATIENCE", 0.8)
    behave, outcome, _ = BEHAVIOURS[name]
    with hostile(behave) as there:
        settings.GYM_NET_ALLOW = [there.url.removeprefix("http://")]
        bad = make_server(people.alice, "bad", kind="server", url=there.url, ready=False)
        bad.model.check_job.delete()
        RegisteredModel.objects.filter(pk=bad.model_id).update(status="ready")
        run = make_run(make_suite(people.alice, cases={"case": CASE}), AgentServer.objects.get(pk=bad.pk))
    assert run.is_done
    case_run = run.case_runs.get()
    assert [row.outcome for row in case_run.results()] == [outcome, outcome]
    assert case_run.outcome == outcome
    assert case_run.results()[0].turns[0].error in html.unescape(
        client.get(case_run.get_absolute_url()).content.decode()
    )


def test_a_run_is_not_sent_on_to_a_private_address(people, settings):
    with hostile(GOOD_ANSWER) as inside, hostile(sends_on_to(inside.url)) as there:
        settings.GYM_NET_ALLOW = [there.url.removeprefix("http://")]
        bad = make_server(people.alice, "bad", kind="server", url=there.url, ready=False)
        bad.model.check_job.delete()
        RegisteredModel.objects.filter(pk=bad.model_id).update(status="ready")
        run = make_run(make_suite(people.alice, cases={"case": CASE}), AgentServer.objects.get(pk=bad.pk))
    turn = run.case_runs.get().results()[0].turns[0]
    assert (run.is_done, turn.trouble, "307" in turn.error) == (True, "status", True)
    assert inside.seen == []
    assert sum(request.startswith(b"POST") for request in there.seen) == 2


def test_cancelling_keeps_what_ended_and_going_on_makes_the_rest(people, server, monkeypatch):
    suite = make_suite(people.alice, cases={"flaky": FLAKY.replace("2/4", "1/5")})
    run = services.queue_run(suite, server, actor=people.alice, parallel=1)
    job = states.claim_next(services.QUEUE, "worker-1")
    context = JobContext(job)
    check = context.check

    def cancel_after_two():
        if CaseIteration.objects.count() >= 2:
            raise Cancelled
        check()

    monkeypatch.setattr(context, "check", cancel_after_two)
    with pytest.raises(Cancelled):
        agent_run(context)
    run.refresh_from_db()
    assert not run.is_done
    assert CaseIteration.objects.count() == 2
    agent_run(JobContext(Job.objects.get(pk=job.pk)))
    assert CaseIteration.objects.count() == 5


def test_variables_reach_the_agent_and_nothing_else(people, server, monkeypatch):
    text = "agent: echo\ninteractions: [{text: ${KEY}, response: {text: {keywords: ${KEY}}}}]"
    suite = make_suite(people.alice, variables={"KEY": "hush-hush"}, cases={"key": text})
    transport = Scripted(lambda body: said("you said " + body["user_message"]["text"]))
    monkeypatch.setattr(actors, "transport_for", lambda server: transport)
    run = make_run(suite, server)
    assert run.case_runs.get().outcome == "pass"
    assert transport.asked[0][1]["user_message"]["text"] == "hush-hush"
    assert "hush" not in json.dumps([row.data for row in CaseIteration.objects.all()])
    assert "hush" not in json.dumps(AgentSuite.objects.get().variables)
    assert make_case(suite, "key").text == text


def test_nobody_else_runs_a_suite_with_secrets_or_a_server_with_secrets(people, server):
    suite = make_suite(people.alice, variables={"KEY": "hush-hush"})
    with pytest.raises(PermissionDenied, match="secrets"):
        services.queue_run(suite, server, actor=people.charlie)
    AgentServer.objects.update(secrets={"Authorization": "x"})
    with pytest.raises(ValidationError, match="You may not use"):
        services.queue_run(make_suite(people.alice, "open"), server, actor=people.charlie)


def test_a_new_address_takes_the_secrets_of_the_old_one_away(people):
    given = {"kind": "server", "url": "http://old.example.org", "secret_headers": {"X": "hush-hush"}}
    server = make_server(people.alice, "moving", ready=False, **given)
    change = {"chat_model": "", "actor": people.alice}
    services.change_server(server, url="http://old.example.org", secret_headers={"X": ""}, **change)
    assert server.secret_names == ["X"]
    services.change_server(server, url="http://new.example.org", secret_headers={"X": ""}, **change)
    assert server.secret_names == []


def test_answers_are_scored_again_without_asking_the_agent(people, server, monkeypatch):
    suite = make_suite(people.alice)
    run = make_run(suite, server)
    case = make_case(suite)
    case.text = GOOD.replace("keywords: hello", "keywords: [hello, goodbye]")
    services.save_case(case, actor=people.alice)
    monkeypatch.setattr(actors, "transport_for", lambda server: pytest.fail("the agent was asked"))
    again = services.queue_rescoring(run, actor=people.alice)
    run_pending()
    scored = again.case_runs.get()
    assert (scored.outcome, scored.passed, scored.n, scored.checks_made) == ("fail", 0, 1, 2)
    assert run.case_runs.get().outcome == "pass"


def test_the_judge_of_the_suite_judges_every_iteration(people, server):
    turn = "{text: Yellow Submarine, response: {text: {gist: Mentions 'Beatles'}}}"
    text = f'agent: music_nerd\nsuccess_ratio: "3/3"\ninteractions: [{turn}]'
    suite = make_suite(people.alice, cases={"band": text}, judge=server.model, judge_agent="judge")
    run = make_run(suite, server, parallel=1)
    case_run = run.case_runs.get()
    assert case_run.outcome == "pass"
    assert [result.checks[0].judge["cached"] for result in case_run.results()] == [False] * 3
    second = make_run(suite, server)
    assert not any(result.checks[0].judge["cached"] for result in second.case_runs.get().results())


def test_the_judge_of_the_suite_is_read_as_the_run_says(people, server):
    suite = make_suite(people.alice, judge=server.model, judge_agent="judge")
    for reading, compatible in (("document", False), ("reference-compatible", True)):
        judge = judge_for(suite, reading, ())
        assert judge is not None
        assert judge.ask.compiled is compatible


def test_a_case_that_cannot_be_read_is_an_error_and_the_run_ends(people, server):
    suite = make_suite(people.alice, cases={"good": GOOD, "later-bad": GOOD})
    suite.cases.filter(name="later-bad").update(text="agent: ")
    run = make_run(suite, server)
    assert [case_run.outcome for case_run in run.case_runs.all()] == ["pass", "error"]
    assert run.is_done


def test_a_judge_with_secrets_or_a_private_one_works_for_its_owner_alone(people, server):
    with_key = make_server(people.alice, "paid", ready=False)
    AgentServer.objects.filter(pk=with_key.pk).update(secrets={"Authorization": "sealed"})
    private = make_server(people.alice, "quiet", visibility="private", ready=False)
    for judge in (with_key, private):
        suite = make_suite(people.alice, f"judged-by-{judge.model.slug}")
        AgentSuite.objects.filter(pk=suite.pk).update(judge=judge.model)
        suite = AgentSuite.objects.get(pk=suite.pk)
        with pytest.raises(PermissionDenied):
            services.queue_run(suite, server, actor=people.charlie)
        assert services.queue_run(suite, server, actor=people.alice)


def test_an_old_run_is_not_tried_again_with_a_judge_that_became_private(people, server):
    suite = make_suite(people.alice)
    run = services.queue_run(suite, server, actor=people.charlie)
    services.cancel_run(run, actor=people.charlie)
    private = make_server(people.alice, "quiet", visibility="private", ready=False)
    AgentSuite.objects.filter(pk=suite.pk).update(judge=private.model)
    with pytest.raises(PermissionDenied):
        services.retry_run(AgentRun.objects.get(pk=run.pk), actor=people.charlie)
