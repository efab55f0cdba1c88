"""Runs with different settings are not compared as if they were alike, and no part of an address is ignored
silently."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from django.urls import reverse

from gym.runs.models import SuiteRun
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT, suite_bytes
from tests.once import once_a_module
from tests.runs.boards import finished_run
from tests.runs.test_exports import content_of, table

MASKED = "pseudo-log-likelihood: each token given all others"
ALIKE = {"bos": "auto", "eos": False, "join": "space", "metric": "sum", "whitespace": "none"}
NOT_ALIKE = "These runs used different settings."


def make_world(people):
    """Runs of two models on a suite, with equal settings."""
    revision = make_revision(people.alice, items=5, name="s")
    found = {"revision": revision}
    for slug, codes in (("first", [1, 0, 0, 0, 2]), ("second", [1, 1, 1, 1, 0])):
        run = finished_run(revision, make_model(people.alice, slug=slug), codes)
        SuiteRun.objects.filter(pk=run.pk).update(policy=ALIKE)
        found[slug] = run
    return found


built, people, world = once_a_module(make_world)


def get(client, query):
    return client.get(f"{reverse('compare')}?{query}")


def text_of(response) -> str:
    return " ".join(response.content.decode().split())


def change(run, **policy):
    kind = policy.pop("score_kind", None)
    SuiteRun.objects.filter(pk=run.pk).update(
        policy=ALIKE | policy, provenance={"score_kind": kind} if kind else {}
    )


UNLIKE = [
    ({"score_kind": MASKED}, f"Kind of score: surprisal (First); {MASKED} (Second)", "score_kind", False),
    ({"metric": "mean"}, "Region value: sum (First); mean (Second)", "metric", False),
    (
        {"whitespace": "trailing"},
        "Whitespace correction: none (First); trailing (Second)",
        "whitespace",
        False,
    ),
    ({"bos": "never"}, "Start token: auto (First); never (Second)", "bos", True),
    ({"eos": True}, "End token: not scored (First); scored (Second)", "eos", True),
    ({"join": "none"}, "Joining: space (First); none (Second)", "join", True),
]


@pytest.mark.parametrize(("policy", "words", "fact", "margins"), UNLIKE)
def test_what_runs_differ_in_is_said_and_margins_of_other_bits_are_not_subtracted(
    client, world, policy, words, fact, margins
):
    change(world["second"], **policy)
    response = get(client, "model=first&model=second&suite=s")
    page = text_of(response)
    assert NOT_ALIKE in page
    assert words in page
    assert ("Margin, bits" in page) == ("Effect size g" in page) == ("Margin in bits" in page) == margins
    assert (response.context["figure"] is not None) == margins
    [pair] = response.context["pairs"]
    assert pair.rate.difference == pytest.approx(0.6)
    assert (pair.margin is not None) == margins
    answer = client.get("/api/v1/compare/s/?model=first,second").json()
    assert [row["fact"] for row in answer["unlike"]] == [fact]
    assert (answer["pairs"][0]["margin"] is not None) == margins
    assert answer["sides"][0]["policy"]["metric"] == "sum"
    items = client.get("/api/v1/compare/s/items/?model=first,second").json()
    assert items["unlike"] == answer["unlike"]
    chart = client.get("/figures/compare-items.csv?model=first,second&suite=s")
    assert chart.status_code == (200 if margins else 404)


def test_over_all_suites_it_is_said_too(client, world):
    policy, words, fact, _ = UNLIKE[1]
    change(world["second"], **policy)
    page = text_of(get(client, "model=first&model=second"))
    assert NOT_ALIKE in page
    assert f"{words}: 1 of 1 suite" in page
    [row] = client.get("/api/v1/compare/?model=first,second").json()["results"]
    assert [one["fact"] for one in row["unlike"]] == [fact]
    chart = client.get("/figures/compare-suites.csv?model=first,second")
    assert words in pd.read_csv(io.BytesIO(content_of(chart)))["made_differently"][0]
    assert words in client.get("/figures/compare-suites.json?model=first,second").json()["note"]


def test_runs_made_alike_have_margins_and_no_notice(client, world):
    for query in ("model=first&model=second&suite=s", "model=first&model=second"):
        assert NOT_ALIKE not in text_of(get(client, query))
    assert "Margin, bits" in text_of(get(client, "model=first&model=second&suite=s"))
    assert client.get("/api/v1/compare/s/?model=first,second").json()["unlike"] == []


def test_among_three_only_those_with_the_same_bits_have_margins(client, world, people):
    third = finished_run(world["revision"], make_model(people.alice, slug="third"), [1, 1, 0, 0, 1])
    change(third, score_kind=MASKED)
    response = get(client, "model=first&model=second&model=third&suite=s")
    assert [pair.margin is not None for pair in response.context["pairs"]] == [True, False, False]
    assert text_of(response).count("different quantities</td>") == 2


def test_outcomes_alone_are_said_to_be_that(client, world):
    SuiteRun.objects.filter(pk=world["second"].pk).update(source="uploaded", policy={})
    page = text_of(get(client, "model=first&model=second&suite=s"))
    assert "Kind of score: surprisal (First); outcomes only (Second)" in page
    assert "Start token" not in page


@pytest.mark.parametrize("what", ["scores", "predictions", "outcomes", "regions", "tokens"])
def test_every_export_says_what_its_bits_are(client, world, what):
    change(world["second"], score_kind=MASKED)
    rows = table(client, what)
    assert "score_kind" in rows.columns
    if what in {"scores", "predictions", "outcomes"}:
        kinds = rows.groupby("model")["score_kind"].unique()
        assert [list(kinds[slug]) for slug in ("first", "second")] == [["surprisal"], [MASKED]]
    if what in {"scores", "predictions"}:
        assert set(rows["bos"]) == {"auto"}


# --- nothing is left out unsaid --------------------------------------------------------------------------------------
def two_revisions(world, people, models):
    suite = world["revision"].suite
    suites.replace_draft(suite, read_suite(suite_bytes(items=5, name="s")), actor=people.alice)
    newer = suites.freeze(suite, actor=people.alice)
    for model in models:
        finished_run(newer, model, [1, 1, 0, 0, 1])


def test_runs_beyond_five_are_named_on_the_page_and_refused_by_the_api(client, world, people):
    third = make_model(people.alice, slug="third")
    finished_run(world["revision"], third, [0, 0, 0, 0, 1])
    two_revisions(world, people, [world["first"].model, world["second"].model, third])
    response = get(client, "model=first&model=second&model=third&suite=s&r=1&r=2")
    assert len(response.context["sides"]) == 5
    assert "Left out: Third, r2." in text_of(response)
    for address in ("compare/s/", "compare/s/items/"):
        answer = client.get(f"/api/v1/{address}?model=first,second,third&r=1,2")
        assert answer.status_code == 400
        [trouble] = answer.json()["errors"]
        assert (trouble["where"], "6 runs" in trouble["message"]) == ("?model", True)
        assert "Third, r2" in trouble["hint"]
    assert client.get("/figures/compare-items.csv?model=first,second,third&suite=s&r=1,2").status_code == 404


def test_several_suites_are_those_named_and_no_others(client, world, people):
    for name in ("t", "u"):
        finished_run(make_revision(people.alice, items=5, name=name), world["first"].model, [1] * 5)
    for query in ("suite=s&suite=t", "suite=s,t"):
        response = get(client, f"model=first&model=second&{query}")
        assert [row.revision.suite.slug for row in response.context["suite_rows"]] == ["s", "t"]
    answer = client.get("/api/v1/compare/?model=first,second&suite=s,t").json()
    assert [row["suite"] for row in answer["results"]] == ["s", "t"]
    chart = client.get("/figures/compare-suites.csv?model=first,second&suite=s,t")
    assert set(pd.read_csv(io.BytesIO(content_of(chart)))["suite"]) == {"s"}


def test_suites_that_are_not_there_are_named(client, world, people):
    make_revision(people.alice, name="secret", visibility="private")
    page = text_of(get(client, "model=first&model=second&suite=s&suite=secret&suite=nothing"))
    assert "not visible to you: secret, nothing." in page
    assert client.get("/figures/compare-suites.csv?model=first,second&suite=s,nothing").status_code == 404


@pytest.mark.parametrize(("asked", "shown", "named"), [
    ("r=9", [1], "r9"), ("r=1&r=9", [1], "r9"), ("r=x", [1], "rx"), ("r=1&r=2&r=3", [1], "r2, r3"),
    ("r=1,7", [1], "r7"),
])  # fmt: skip
def test_revisions_that_are_not_there_are_named_on_the_page(client, world, asked, shown, named):
    response = get(client, f"model=first&model=second&suite=s&{asked}")
    assert [row.number for row in response.context["revisions"]] == shown
    assert f"Not shown: {named}." in text_of(response)
    assert client.get(f"/figures/compare-items.csv?model=first,second&suite=s&{asked}").status_code == 404


def test_a_tag_beside_one_suite_is_said_to_choose_nothing(client, world):
    page = text_of(get(client, "model=first&model=second&suite=s&tag=agreement"))
    assert "so the tag “agreement” has no effect" in page


def test_an_address_that_is_all_there_has_no_notice(client, world):
    page = text_of(get(client, "model=first&model=second&suite=s&r=1"))
    for words in ("Not shown", "Left out", "has no effect", "Unknown models", "not visible to you"):
        assert words not in page


# --- what the test is called ------------------------------------------------------------------------------------------
SIGN, MCNEMAR = "exact sign test on the items’ shares", "McNemar’s exact test"


@pytest.mark.parametrize(("rule", "said", "key"), [
    ("each", SIGN, "sign"), ("all", MCNEMAR, "mcnemar"), ("first", MCNEMAR, "mcnemar"),
])  # fmt: skip
def test_the_test_is_named_by_rule_and_number_of_predictions(client, people, rule, said, key):
    two = make_revision(people.alice, items=4, name="two", formulas=(AGREEMENT, AGREEMENT))
    for slug, codes in (("a", ([1, 0, 0, 1], [1, 1, 0, 0])), ("b", ([1, 1, 1, 1], [0, 1, 1, 1]))):
        finished_run(two, make_model(people.alice, slug=slug), *codes)
    other = {SIGN: MCNEMAR, MCNEMAR: SIGN}[said]
    for query in ("&suite=two", ""):
        page = text_of(get(client, f"model=a&model=b&rule={rule}{query}"))
        assert said in page
        assert other not in page
    answer = client.get(f"/api/v1/compare/two/?model=a,b&rule={rule}").json()
    assert said in answer["note"]
    assert answer["pairs"][0]["rate"]["test"] == key
    [row] = client.get(f"/api/v1/compare/?model=a,b&rule={rule}").json()["results"]
    assert row["against_baseline"][0]["rate"]["test"] == key
    chart = pd.read_csv(
        io.BytesIO(content_of(client.get(f"/figures/compare-suites.csv?model=a,b&rule={rule}")))
    )
    assert chart["test"].tolist() == [key]
    assert {"p", "p_corrected"} <= set(chart.columns)


def test_a_table_of_both_kinds_names_both(client, people, world):
    two = make_revision(people.alice, items=4, name="two", formulas=(AGREEMENT, AGREEMENT))
    for slug in ("first", "second"):
        finished_run(two, world[slug].model, [1, 0, 0, 1], [1, 1, 0, 0])
    page = text_of(get(client, "model=first&model=second"))
    assert f"{MCNEMAR} where one prediction is compared, the {SIGN} where several are" in page
