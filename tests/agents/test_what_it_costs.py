"""Tokens and cost that servers do not report are never shown as 0."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from django.urls import reverse

from gym.agents.models import tokens_of
from lmgym.agents import reports
from lmgym.agents.case_reader import read_case
from lmgym.agents.redact import redactor
from lmgym.agents.results import total_usage
from lmgym.agents.scoring import rescore
from lmgym.agents.transport import TransportError
from tests.agents.site import make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, judge_saying, run, said

TWO = "agent: a, success_ratio: 1/2, interactions: [{text: q, response: {text: {%s: x}}}]"
NOTHING = {"total_tokens": None, "prompt_tokens": None, "completion_tokens": None, "total_cost": None}


def answers(*counts):
    """Return a transport that reports these token counts in turn; None: no counts."""
    given = iter(counts)

    def answer(body):
        told = next(given)
        lines = [{"response": {"type": "AGENT", "text": "", "structure": told}}] if told else []
        return [*lines, said("x")]

    return Scripted(answer)


def test_what_nobody_told_is_unknown():
    result = run(TWO % "keywords", answers(None, None), parallel=1)
    assert result.tokens == {**NOTHING, "unreported": dict.fromkeys(NOTHING, 2)}
    assert "properties" not in reports.junit([("a", result)])
    assert '"total_cost": null' in reports.as_json([("a", result)])


def test_what_some_told_is_a_lower_bound():
    told = {"total_tokens": 10, "total_cost": 0.5}
    result = run(TWO % "keywords", answers(told, None), parallel=1)
    assert (result.tokens["total_tokens"], result.tokens["total_cost"]) == (10, 0.5)
    assert result.tokens["unreported"]["total_cost"] == 1
    properties = ET.fromstring(reports.junit([("a", result)]))[0].find("properties")
    assert {p.get("name"): p.get("value") for p in properties} == {"total_tokens": "10", "total_cost": "0.5"}


def test_a_cost_of_nothing_for_some_tokens_is_a_price_nobody_knows():
    told = {"total_tokens": 10, "total_cost": 0.0}
    tokens = run(TWO % "keywords", answers(told, told), parallel=1).tokens
    assert (tokens["total_tokens"], tokens["total_cost"]) == (20, None)


def test_a_judge_counts_and_a_remembered_verdict_costs_nothing():
    told = {"total_tokens": 10, "total_cost": 0.5}
    text, judge = TWO % "gist", judge_saying("pass")
    result = run(text, answers(told, told), judge=judge, parallel=1)
    asked = result.tokens
    assert (asked["total_tokens"], asked["unreported"]) == (
        30,
        {"prompt_tokens": 4, "completion_tokens": 4, "total_cost": 2},
    )
    scored = [
        rescore(read_case(text), before, judge, "document", redactor([])) for before in result.iterations
    ]
    assert total_usage(told for one in scored for told in one.usage())["total_tokens"] == 0


def test_a_request_that_reached_nobody_costs_nothing_and_one_that_timed_out_is_unknown():
    gone = run(TWO % "keywords", Scripted(lambda body: TransportError("unreachable", "gone"))).tokens
    assert gone == {**NOTHING, "unreported": {}}
    late = run(TWO % "keywords", Scripted(lambda body: TransportError("timeout", "late"))).tokens
    assert late == {**NOTHING, "unreported": dict.fromkeys(NOTHING, 2)}


def test_sums_of_sums_keep_what_was_not_told():
    one = total_usage([{"total_tokens": 10, "total_cost": 0.5}, {"total_tokens": 5}])
    two = total_usage([{}])
    both = total_usage([one, two])
    assert (both["total_tokens"], both["total_cost"]) == (15, 0.5)
    assert (both["unreported"]["total_tokens"], both["unreported"]["total_cost"]) == (1, 2)


def test_sums_of_earlier_versions_are_read():
    class Row:
        outcome, tokens = "pass", {"total_tokens": 10, "total_cost": 0}

    assert (tokens_of([Row])["total_tokens"], tokens_of([Row])["total_cost"]) == (10, None)


def test_pages_and_files_of_a_run_say_not_told(client, people):
    client.force_login(people.alice)
    run = make_run(make_suite(people.alice), make_server(people.alice))
    page = client.get(run.get_absolute_url()).content.decode()
    assert "not reported" in page
    assert "0.0000" not in page
    case = json.loads(client.get(reverse("agent-run-download", args=[run.key, "json"])).getvalue())["cases"][
        0
    ]
    assert case["tokens"]["total_cost"] is None
    assert case["tokens"]["total_tokens"] > 0
