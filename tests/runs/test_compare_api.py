"""Comparisons and profiles in the API: the numbers of their pages."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from django.urls import reverse

from lmgym.suites.formats import read_suite
from lmgym.text.columns import record
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT, suite_bytes
from tests.once import once_a_module
from tests.runs.boards import finished_run

TWO = (AGREEMENT, AGREEMENT)


def make_world(people):
    """Create three models with runs on s (two predictions), two of which have also run on t."""
    s = make_revision(people.alice, items=6, name="s", formulas=TWO)
    t = make_revision(people.alice, items=6, name="t")
    models = {slug: make_model(people.alice, slug=slug) for slug in ("first", "second", "third")}
    finished_run(s, models["first"], [1, 0, 0, 0, 2, 0], [1, 0, 3, 0, 1, 0])
    finished_run(s, models["second"], [1, 1, 1, 1, 0, 1], [1, 1, 0, 1, 1, 0])
    finished_run(s, models["third"], [0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 1])
    finished_run(t, models["first"], [0, 0, 1, 0, 0, 0])
    finished_run(t, models["third"], [1, 1, 1, 0, 1, 1])
    return {"s": s, "t": t, **models}


built, people, world = once_a_module(make_world)


def read(client, address, **query):
    response = client.get(f"/api/v1/{address}", query)
    assert response.status_code == 200, response.content
    return response.json()


def page(client, query):
    return client.get(f"{reverse('compare')}?{query}").context


def same(said, shown) -> bool:
    return said == asdict(shown)


RULES = ("each", "all", "first")


@pytest.mark.parametrize("correction", ["holm", "bh"])
@pytest.mark.parametrize("rule", RULES)
def test_suite_by_suite_it_says_what_the_page_says(client, world, rule, correction):
    answer = read(client, "compare/", model="first,second,third", rule=rule, correction=correction)
    shown = page(client, f"model=first&model=second&model=third&rule={rule}&correction={correction}")
    found = shown["found"]
    assert [row["model"] for row in answer["models"]] == [model.slug for model in found.models]
    assert [row["model"] for row in answer["totals"]] == ["second", "third"]
    for said, total in zip(answer["totals"], found.totals, strict=True):
        assert same(said["difference"], total.difference)
        assert said["suites_both"] == total.suites_both
    assert [row["suite"] for row in answer["results"]] == ["s", "t"]
    for row, on_page in zip(answer["results"], shown["suite_rows"], strict=True):
        for said, side in zip(row["rates"], on_page.sides, strict=True):
            assert said == (side and rate_of(side))
        for said, pair in zip(row["against_baseline"], on_page.pairs, strict=True):
            assert (said is None) == (pair is None)
            if pair:
                assert said["rate"] == record(pair.rate)
    assert answer["results"][1]["rates"][1] is None
    assert answer["results"][1]["against_baseline"][0] is None
    assert answer["correction"] == {"holm": "Holm", "bh": "Benjamini–Hochberg"}[correction]
    assert shown["options"].rule.label in answer["note"]


def rate_of(side):
    score = side.scored.score
    return {
        "run": side.run.key,
        "rate": score.rate,
        "low": score.low,
        "high": score.high,
        "n": score.n,
    }


@pytest.mark.parametrize("rule", RULES)
def test_on_a_suite_it_says_what_the_page_says(client, world, rule):
    answer = read(client, "compare/s/", model="first,second,third", rule=rule)
    shown = page(client, f"model=first&model=second&model=third&suite=s&rule={rule}")
    assert len(answer["pairs"]) == 3
    for said, pair in zip(answer["pairs"], shown["pairs"], strict=True):
        names = [answer["sides"][said[end]]["label"] for end in ("first", "second")]
        assert names == [pair.first.label, pair.second.label]
        assert said["rate"] == record(pair.rate)
        assert same(said["margin"], pair.margin)
    assert (answer["n_items"], answer["n_differ"]) == (shown["n_items"], shown["n_differ"])
    stored = {side["model"]: side["rate"] for side in answer["sides"]}
    board = read(client, "leaderboard/", rule=rule)
    assert stored == {row["model"][0]: row["suites"]["s"]["rate"] for row in board["results"]}


def test_items_are_those_of_the_page(client, world):
    answer = read(client, "compare/s/items/", model="first,second", only="differ", limit="2")
    shown = page(client, "model=first&model=second&suite=s&only=differ")
    rows = answer["results"] + client.get(answer["next"]).json()["results"]
    assert [row["item"] for row in rows] == [row.item for row in shown["items"]]
    assert rows[0] == {
        "item": 2,
        "differs": True,
        "sides": [
            {"outcomes": ["failed", "failed"], "counts": 0.0, "margin": -1.0},
            {"outcomes": ["held", "held"], "counts": 1.0, "margin": 1.0},
        ],
    }


def test_two_revisions_under_the_same_model(client, world, people):
    suite = world["t"].suite
    suites.replace_draft(suite, read_suite(suite_bytes(items=4, name="t")), actor=people.alice)
    suites.freeze(suite, actor=people.alice)
    finished_run(suite.latest_frozen, world["first"], [1, 1, 1, 1])
    answer = read(client, "compare/t/", model="first", r="1,2")
    assert [side["revision"] for side in answer["sides"]] == [1, 2]
    [pair] = answer["pairs"]
    assert (pair["rate"]["n"], pair["rate"]["difference"]) == (4, 0.75)
    items = read(client, "compare/t/items/", model="first", r="1,2")["results"]
    assert items[-1]["sides"][1] is None
    assert read(client, "compare/t/", model="second,first")["not_run"] == ["Second on r2"]


@pytest.mark.parametrize(
    ("address", "query", "status", "where"),
    [
        ("compare/", {}, 400, "?first"),
        ("compare/", {"model": "first"}, 400, "?model"),
        ("compare/", {"model": "a,b,c,d,e,f"}, 400, "?model"),
        ("compare/", {"model": "first,nobody"}, 404, "?model"),
        ("compare/", {"model": "first,second", "correction": "none"}, 400, "?correction"),
        ("compare/", {"model": "first,second", "suite": "s,nothing"}, 404, "?suite"),
        ("compare/", {"model": "first,second", "base": "third"}, 400, "?base"),
        ("compare/", {"model": "first,second", "first": "first"}, 400, "?first"),
        ("compare/", {"second": "second"}, 400, "?first"),
        ("compare/", {"first": "first", "second": "second", "base": "second"}, 400, "?base"),
        ("compare/s/", {"model": "first,second", "base": "third"}, 400, "?base"),
        ("compare/s/", {"model": "first,second", "r": "x"}, 400, "?r"),
        ("compare/s/", {"model": "first,second", "r": "1,2,3"}, 400, "?r"),
        ("compare/s/", {"model": "first,second", "r": "7"}, 404, "?r"),
        ("compare/s/items/", {"model": "first,second", "only": "same"}, 400, "?only"),
    ],
)
def test_a_slip_in_the_address_is_named(client, world, address, query, status, where):
    response = client.get(f"/api/v1/{address}", query)
    assert (response.status_code, response.json()["errors"][0]["where"]) == (status, where)


def test_a_suite_that_is_a_draft_has_nothing_to_compare(client, world, people):
    from tests.factories import make_suite

    make_suite(people.alice, name="d", frozen=False)
    client.force_login(people.alice)
    response = client.get("/api/v1/compare/d/", {"model": "first,second"})
    assert "no frozen revision" in response.json()["detail"]


def test_a_stranger_cannot_compare_on_a_private_suite_or_with_a_private_model(client, world, people):
    secret = make_revision(people.alice, name="secret", visibility="private", items=6)
    finished_run(secret, world["first"], [1] * 6)
    make_model(people.alice, slug="hidden", visibility="private")
    for who, status in ((people.charlie, 404), (people.alice, 200)):
        client.force_login(who)
        assert client.get("/api/v1/compare/secret/", {"model": "first"}).status_code == status
        assert client.get("/api/v1/compare/secret/items/", {"model": "first"}).status_code == status
        assert client.get("/api/v1/compare/s/", {"model": "first,hidden"}).status_code == status


@pytest.mark.parametrize("rule", RULES)
def test_the_page_of_a_model_compares_it_with_the_others(client, world, people, rule):
    modified = make_revision(people.alice, name="t_mod", items=6)
    for slug, steps, codes in (("first", 1000, [1, 0, 0, 0, 0, 0]), ("third", 2000, [1, 1, 0, 1, 0, 1])):
        finished_run(modified, world[slug], codes)
        world[slug].tags = ["group:ours", f"step:{steps}"]
        world[slug].perplexity = 20.0
        world[slug].save()
    for revision, tags in ((world["s"], ["long"]), (world["t"], ["short"]), (modified, ["short"])):
        suites.set_tags(revision.suite, tags)
    shown = client.get(f"{reverse('model-detail', args=['third'])}?rule={rule}").context
    ranked = [*shown["strengths"], *shown["weaknesses"]]
    assert {row.revision.suite.slug for row in ranked} <= {"s", "t", "t_mod"}
    assert [row.difference for row in shown["strengths"]] == sorted(
        (row.difference for row in shown["strengths"]), reverse=True
    )
    assert [(pair.plain.key, pair.modified.key) for pair in shown["pairs"]] == [("t", "t_mod")]
    tables = {figure.kind: figure for figure in shown["figures"]}
    assert {"model-tags", "model-pairs", "model-steps"} <= set(tables)
