"""Transcripts contain what was sent with a turn: the case's private data and the chat context, both without
secrets. Iterations are exported as CSV, as a file and through the API.
"""

from __future__ import annotations

import csv
import io

import pytest

from lmgym.agents.tables import IterationRow
from lmgym.text.columns import header
from tests.agents.site import FLAKY, GOOD, make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, run, said
from tests.page_text import text_of

FIRST = "{text: one, sly_data: {key: hush-hush, x: 1}}"
TALK = f"agent: a, interactions: [{FIRST}, {{text: two, response: {{text: {{keywords: o}}}}}}]"
CONTEXT = {"chat_histories": [{"origin": [], "messages": [{"type": "AI", "text": "my key is hush-hush"}]}]}


def talking():
    answer = {
        "type": "AGENT_FRAMEWORK",
        "text": "ok",
        "chat_context": CONTEXT,
        "sly_data": {"pin": 1234, "x": 1},
    }
    return Scripted(lambda body: {"response": answer})


def test_private_data_and_chat_context_are_stored_without_secrets():
    first, second = run(TALK, talking(), secrets=("hush-hush",)).iterations[0].turns
    assert first.sent == {"sly_data": {"key": "•••", "x": 1}}
    assert second.sent is not None
    assert second.sent["chat_context"]["chat_histories"][0]["messages"][0]["text"] == "my key is •••"
    assert "sly_data" not in second.sent


def test_what_a_server_gave_is_hidden_when_it_is_sent_on():
    _, second = run(TALK, talking(), "reference-compatible").iterations[0].turns
    assert second.sent["sly_data"] == {"key": "hush-hush", "x": 1, "pin": "•••"}


def test_a_turn_with_nothing_beside_its_text_says_so():
    (turn,) = run("agent: a, interactions: [{text: q}]", Scripted(lambda body: said("x"))).iterations[0].turns
    assert turn.sent is None


def test_a_long_context_is_cut():
    long = {"chat_histories": [{"messages": [{"type": "AI", "text": "x" * 50_000}]}]}
    answer = {"type": "AGENT_FRAMEWORK", "text": "ok", "chat_context": long}
    _, second = run(TALK, Scripted(lambda body: {"response": answer})).iterations[0].turns
    assert len(second.sent["chat_context"]) < 20_100


@pytest.mark.django_db
class TestOnTheSite:
    def test_the_download_of_a_case_and_the_api_hold_it(self, people, client):
        turns = "{text: times, sly_data: {x: 2, y: 3}}, {text: plus, sly_data: {x: 1, y: 1}}"
        text = f"agent: math_guy, interactions: [{turns}]"
        run = make_run(make_suite(people.alice, cases={"calc": text}), make_server(people.alice))
        (row,) = run.case_runs.all()
        told = client.get(f"/agents/runs/{run.key}/{row.pk}/download/").json()
        (of_api,) = client.get(f"/api/v1/agent-runs/{run.key}/results/").json()["cases"]
        for result in (told, of_api):
            first, second = result["iterations"][0]["turns"]
            assert first["sent"] == {"sly_data": {"x": 2, "y": 3}}
            assert "chat_histories" in second["sent"]["chat_context"]
        assert "Sent with the message: private data" in text_of(client.get(row.get_absolute_url()))

    @pytest.mark.parametrize("address", ["/agents/runs/{}/download/csv/", "/api/v1/agent-runs/{}/files/csv/"])
    def test_the_csv_has_a_row_per_iteration_with_the_first_check_that_failed(self, people, client, address):
        run = make_run(
            make_suite(people.alice, cases={"flaky": FLAKY, "hello": GOOD}),
            make_server(people.alice),
            parallel=1,
        )
        answer = client.get(address.format(run.key))
        rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
        assert list(rows[0]) == header(IterationRow)
        assert [(row["case"], row["iteration"]) for row in rows] == [
            *(("flaky", str(number)) for number in (1, 2, 3, 4)), ("hello", "1"),
        ]  # fmt: skip
        failed = [row for row in rows if row["outcome"] == "fail"]
        assert {row["failed_check"] for row in failed} == {"response.text.keywords"}
        assert {row["failed_turn"] for row in failed} == {"1"}
        assert all("world" in row["reason"] for row in failed)
        passed = rows[-1]
        assert (passed["outcome"], passed["checks_passed"], passed["failed_check"], passed["waited"]) == (
            "pass", "1", "", "0.0",
        )  # fmt: skip
