"""Predictions that a data set cannot evaluate: no rate anywhere on the site."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from django.apps import apps
from django.core.management import call_command
from django.urls import reverse

from gym.people.results import scored_people
from lmgym.runs.rules import RULES
from suites.options import SuiteOptions
from suites.services import freeze, import_suite
from tests.human_data.experiments import import_file
from tests.lmgym.people import worlds
from tests.once import once_a_module

REASON = "it compares region 3 (three), and the values are of whole sentences"


def rated(people):
    """Ratings of sentences of a suite with a prediction about sentences and one about a region."""
    document = worlds.suite()
    (critical,) = document.predictions
    sentence = replace(critical, name="whole", formula="(*;%b%) > (*;%a%)")
    document = replace(document, predictions=(sentence, replace(critical, name="critical")))
    suite = import_suite(document, SuiteOptions(visibility="public", language="en"), actor=people.alice)
    rows = [
        f"{who},{one.item},{one.condition},{6 if one.condition == 'a' else 3}"
        for who in ("p1", "p2")
        for one in document.sentences
    ]
    table = "\n".join(["participant,item,condition,rating", *rows]).encode()
    return import_file(freeze(suite, actor=people.alice), people.alice, table)


built, people, data = once_a_module(rated)


def page_text(client, address):
    response = client.get(address)
    assert response.status_code == 200
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return " ".join(content.decode().split())


def test_the_page_says_why_a_prediction_has_no_rate(client, people, data):
    client.force_login(people.alice)
    page = page_text(client, data.get_absolute_url())
    assert f"No rate: {REASON}." in page
    assert "counted as failed" not in page


def test_the_suite_page_gives_no_rate_under_rules_that_count_the_prediction(client, people, data):
    client.force_login(people.alice)
    address = data.revision.get_absolute_url()
    assert REASON in page_text(client, address)
    assert REASON not in page_text(client, f"{address}?rule=first")
    rates = {key: scored_people([data], rule)[0].score.rate for key, rule in RULES.items()}
    assert rates == {"each": None, "all": None, "first": 1.0}


def test_the_api_has_the_prediction_apart_from_those_with_outcomes(client, people, data):
    client.force_login(people.alice)
    result = client.get(reverse("api-human-data", args=[data.slug])).json()["result"]
    assert [row["name"] for row in result["predictions"]] == ["whole"]
    assert [(row["name"], row["reason"]) for row in result["unevaluable"]] == [("critical", REASON)]
    assert list(result["scores"]) == ["first"]


def test_the_table_for_papers_names_the_prediction_in_its_note(client, people, data):
    client.force_login(people.alice)
    table = page_text(client, f"/paper/people-predictions.md?data={data.slug}")
    assert "Not evaluable with these data: critical." in table


def test_stored_results_of_former_versions_lose_their_rate_of_zero(data):
    new = data.result
    failed = new["predictions"][0] | {"position": 1, "name": "critical", "passed": 0, "outcomes": [3] * 8}
    former = {key: value for key, value in new.items() if key != "unevaluable"}
    former |= {"predictions": [*new["predictions"], failed], "crossed": [*new["crossed"], None]}
    former["scores"] = dict.fromkeys(RULES, new["scores"]["first"])
    former["crossed_scores"] = dict.fromkeys(RULES, new["crossed_scores"]["first"])
    data.result = former
    data.save()
    import_module("gym.people.migrations.0004_unevaluable_predictions").set_apart(apps, None)
    data.refresh_from_db()
    assert {**data.result, "unevaluable": []} == {**new, "unevaluable": []}
    assert [row["name"] for row in data.result["unevaluable"]] == ["critical"]


def test_stored_results_are_recomputed_with_their_exclusions_by_a_command(data):
    now = data.result
    data.result = {**now, "predictions": [], "n": 0}
    data.save()
    call_command("store_people")
    data.refresh_from_db()
    assert data.result == now
