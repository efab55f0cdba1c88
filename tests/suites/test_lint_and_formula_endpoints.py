"""The editor's requests about findings and formulas."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from suites.models import LintIgnore
from tests.factories import make_suite


@pytest.fixture
def suite(client, people):
    client.force_login(people.alice)
    return make_suite(people.alice, frozen=False)


def ask(client, name, *arguments, **body):
    return client.post(reverse(name, args=arguments), json.dumps(body), content_type="application/json")


def findings(answer):
    return {(f["code"], f["where"]): f for f in answer.json()["findings"]}


def test_findings_come_with_their_cells(client, suite):
    suite.draft.sentences.filter(item=1, condition="match").update(contents=["The woman", "play", "all day."])
    answer = client.get(reverse("api-lint", args=[suite.slug]))
    assert answer.json()["revision"] == 1
    identical = next(f for f in answer.json()["findings"] if f["code"] == "identical-sentences")
    assert identical["severity"] == "error"
    assert [1, "match", 1] in identical["cells"] or identical["cells"]
    assert identical["ignored"] == ""


def test_a_finding_is_ignored_with_a_reason_that_stays(client, people, suite):
    ignore = {"code": "few-items", "where": "suite", "reason": "a pilot"}
    answer = ask(client, "api-lint", suite.slug, **ignore)
    assert findings(answer)["few-items", "suite"]["ignored"] == "a pilot"
    assert LintIgnore.objects.get().actor == people.alice
    draft = client.get(reverse("api-draft", args=[suite.slug])).json()
    assert draft["ignored"] == [ignore]
    again = ask(client, "api-lint", suite.slug, **ignore | {"reason": ""})
    assert findings(again)["few-items", "suite"]["ignored"] == ""


@pytest.mark.parametrize("ignore", [{}, {"code": "made-up", "where": "suite", "reason": "r"}, {"code": 1}])
def test_an_ignore_that_makes_no_sense_is_refused(client, suite, ignore):
    assert ask(client, "api-lint", suite.slug, **ignore).status_code == 400


def formula(client, text, regions=("Subject", "Verb"), conditions=("match", "mismatch")):
    return ask(client, "api-formula-explain", formula=text, regions=regions, conditions=conditions).json()


def test_a_formula_is_read_in_words(client, suite):
    answer = formula(client, "(2;%mismatch%) > (2;%match%)")
    assert answer["ok"] is True
    assert answer["errors"] == []
    assert "Verb" in answer["prose"]
    assert answer["chance"] == {
        "value": 0.5, "exact": True, "standard_error": 0.0, "assumed_bits": None, "assumed_regions": None,
        "assumes_independence": False,
    }  # fmt: skip
    assert "".join(piece["text"] for piece in answer["pieces"]) == "(2;%mismatch%) > (2;%match%)"


@pytest.mark.parametrize(
    ("text", "position"),
    [("(2;%mismatch%) >", 16), ("", 0), ("(9;%match%) > 0", 0), ("0 < (2;%mtach%)", 4)],
)
def test_an_error_says_where(client, suite, text, position):
    answer = formula(client, text)
    assert answer["ok"] is False
    assert answer["errors"][0]["position"] == position
    assert answer["errors"][0]["message"]
    assert (answer["prose"], answer["chance"]) == ("", None)


@pytest.mark.parametrize("body", [{}, {"formula": 1}, {"formula": "", "regions": "x", "conditions": []}])
def test_what_is_no_question_is_refused(client, suite, body):
    assert ask(client, "api-formula-explain", **body).status_code == 400
