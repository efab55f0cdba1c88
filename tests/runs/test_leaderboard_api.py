"""The leaderboard in the API: the numbers of the page and of its downloads, under the same choices."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from gym.collections.services import create_collection, publish_collection
from gym.page_cache.store import store
from gym.pages import api as pages_api
from suites.services import set_tags
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.once import once_a_module
from tests.runs.boards import finished_run

TWO = (AGREEMENT, AGREEMENT)
ADDRESS = "/api/v1/leaderboard/"


def make_world(people):
    """Create three suites: a has two predictions, only the good model has run on b, and on c the good model
    has two runs.
    """
    revisions = {
        "a": make_revision(people.alice, name="a", items=6, formulas=TWO),
        "b": make_revision(people.alice, name="b", items=6),
        "c": make_revision(people.alice, name="c", items=6),
    }
    for slug in ("a", "b"):
        set_tags(revisions[slug].suite, ["agreement"])
    good = make_model(people.alice, slug="good", tags=["group:ours"])
    bad = make_model(people.alice, slug="bad", tags=["group:ours"])
    finished_run(revisions["a"], good, [1, 1, 1, 1, 0, 1], [1, 1, 0, 0, 3, 1])
    finished_run(revisions["b"], good, [1, 1, 0, 2, 1, 1])
    finished_run(revisions["c"], good, [0, 0, 0, 0, 0, 0])
    finished_run(revisions["c"], good, [1, 0, 1, 0, 1, 1])
    finished_run(revisions["a"], bad, [0, 0, 0, 0, 1, 0], [0, 0, 1, 1, 0, 0])
    finished_run(revisions["c"], bad, [0, 1, 0, 2, 0, 0])
    return revisions | {"good": good, "bad": bad}


built, people, world = once_a_module(make_world)


def read(client, query=""):
    response = client.get(f"{ADDRESS}?{query}")
    assert response.status_code == 200, response.content
    return response.json()


def download(client, form, query):
    return client.get(f"{reverse('leaderboard-download', args=[form])}?{query}").content.decode()


QUERIES = [
    "",
    "weights=a:3,b:0.5&rule=first",
    "suite=a,b&q=good",
    "tag=agreement",
    "common=1&group=1",
    "source=uploaded",
    "model=bad,good&sort=name",
    "sort=-suite:c&rule=all",
]


@pytest.mark.parametrize("query", QUERIES)
def test_it_says_what_the_page_and_its_downloads_say(client, world, query):
    answer = read(client, query)
    file = json.loads(download(client, "json", query))
    assert answer["results"] == file["models"]
    assert {name: answer[name] for name in ("rule", "note", "suites")} == {
        name: file[name] for name in ("rule", "note", "suites")
    }
    shown = client.get(f"{reverse('leaderboard')}?{query}").context["board"]
    assert [row["name"] for row in answer["results"]] == [row.name for row in shown.rows]
    for row, on_page in zip(answer["results"], shown.rows, strict=True):
        assert (row["score"] and row["score"]["rate"]) == (on_page.score and on_page.score.rate)
        for cell, there in zip(row["suites"].values(), on_page.cells, strict=True):
            assert (cell is None) == (there is None)
            if there is not None:
                assert (cell["rate"], cell["passed"], cell["ties"]) == (
                    there.rate,
                    there.passed,
                    there.ties,
                )
    assert client.get(f"{ADDRESS}?{query}&format=csv").content.decode() == download(client, "long.csv", query)


def test_suites_with_several_predictions_have_an_interval_and_missing_cells_are_null(client, world):
    good, bad = read(client)["results"]
    low, high = (good["suites"]["a"][name] for name in ("low", "high"))
    assert low < good["suites"]["a"]["rate"] < high
    assert (bad["suites"]["b"], bad["score"]["suites_run"], bad["score"]["suites"]) == (None, 2, 3)


def test_seeds_have_a_spread_and_no_interval_of_items(client, world):
    [row] = read(client, "group=1")["results"]
    cell = row["suites"]["a"]
    assert (row["model"], cell["seeds"], cell["run"], cell["low"]) == (["bad", "good"], 2, None, None)
    assert cell["range_of_seeds"] == pytest.approx([0.25, 0.75 - 1 / 24], abs=0.05)
    [long] = [
        one
        for one in csv.DictReader(io.StringIO(download(client, "long.csv", "group=1")))
        if one["suite"] == "a"
    ]
    assert (long["low"], long["seeds"]) == ("", "2")
    assert float(long["sd_between_seeds"]) == pytest.approx(cell["sd_between_seeds"])
    wide = next(csv.DictReader(io.StringIO(download(client, "csv", "group=1"))))
    assert (wide["low"], wide["seeds"]) == ("", "2")


def test_it_is_that_of_a_collection_when_one_is_named(client, world, people):
    made = create_collection(
        actor=people.alice, slug="paper", title="P", description="", reference="", revisions=[world["b"]]
    )
    assert client.get(f"{ADDRESS}?collection=paper").status_code == 404
    publish_collection(made, actor=people.alice)
    answer = read(client, "collection=paper")
    file = client.get(reverse("collection-download", args=["paper", "json"])).json()
    assert answer["results"] == file["models"]
    assert [suite["slug"] for suite in answer["suites"]] == ["b"]


@pytest.mark.parametrize(
    ("query", "status", "where"),
    [
        ("rule=most", 400, "?rule"),
        ("weights=a:x", 400, "?weights"),
        ("weights=a:-1", 400, "?weights"),
        ("weights=a:nan", 400, "?weights"),
        ("suite=a,,b", 400, "?suite"),
        ("sort=luck", 400, "?sort"),
        ("common=perhaps", 400, "?common"),
        ("tags=agreement", 400, "?tags"),
        ("limit=0", 400, "?limit"),
        ("suite=nothing-here", 404, "?suite"),
        ("model=nobody", 404, "?model"),
        ("weights=nothing-here:2", 404, "?weights"),
        ("collection=nothing-here", 404, "?collection"),
    ],
)
def test_a_slip_in_the_address_is_named(client, world, query, status, where):
    response = client.get(f"{ADDRESS}?{query}")
    assert (response.status_code, response.json()["errors"][0]["where"]) == (status, where)


def test_a_stranger_learns_of_no_private_suite_or_model(client, world, people):
    secret = make_revision(people.alice, name="secret", visibility="private", items=6)
    hidden = make_model(people.alice, slug="hidden", visibility="private")
    finished_run(secret, world["good"], [1] * 6)
    finished_run(world["b"], hidden, [1] * 6)
    client.force_login(people.charlie)
    text = json.dumps(read(client))
    assert "secret" not in text
    assert "hidden" not in text
    assert client.get(f"{ADDRESS}?suite=secret").status_code == 404
    assert client.get(f"{ADDRESS}?model=hidden").status_code == 404
    client.force_login(people.alice)
    assert "secret" in json.dumps(read(client))


def test_pages_hold_as_many_models_as_cells_allow_and_follow_each_other(client, world, monkeypatch):
    whole = read(client)
    monkeypatch.setattr(pages_api, "MAX_CELLS", 3)
    store.clear()  # kept pages do not depend on constants
    first = read(client)
    assert (len(first["results"]), first["rule"]["key"]) == (1, "each")
    second = client.get(first["next"]).json()
    assert first["results"] + second["results"] == whole["results"]
    assert second["next"] is None


def test_queries_do_not_grow_with_models_and_suites(client, people):
    models = [make_model(people.alice, slug=f"m{k}") for k in range(4)]
    for k in range(4):
        revision = make_revision(people.alice, name=f"s{k}")
        set_tags(revision.suite, [f"t{k % 2}"])
        for model in models:
            finished_run(revision, model, [1, 0, 1])
    client.force_login(people.alice)
    read(client)
    with CaptureQueriesContext(connection) as asked:
        read(client)
    assert len(asked) <= 10
