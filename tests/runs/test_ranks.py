"""Ranked and unranked rows of a leaderboard; page, files and API agree."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.http import QueryDict
from django.urls import reverse

from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import leaderboard
from suites.services import set_tags
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run

HELD, HALF, FAILED = [1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]


def board(user, query=""):
    return leaderboard(user, read_options(QueryDict(query)))


def make_world(people):
    """Partial has the best mean, over one suite of two; Even and Equal tie; Worst is last. Suite c was never run."""
    a, b, c = (make_revision(people.alice, name=name, items=4) for name in "abc")
    for revision in (a, b):
        set_tags(revision.suite, ["run"])
    models = {name: make_model(people.alice, slug=name) for name in ("partial", "even", "equal", "worst")}
    finished_run(a, models["partial"], HELD)
    for name, codes in (("even", HALF), ("equal", HALF), ("worst", FAILED)):
        finished_run(a, models[name], codes)
        finished_run(b, models[name], codes)
    return {"a": a, "b": b, "c": c, **models}


built, people, world = once_a_module(make_world)


def ranks(table):
    return [(row.name, row.rank) for row in table.rows]


RANKED = [("Equal", 1), ("Even", 1), ("Worst", 3), ("Partial", None)]


def test_incomplete_models_stand_below_and_have_no_rank(world, people):
    assert ranks(board(people.nobody)) == RANKED
    assert ranks(board(people.nobody, "sort=sg")) == [RANKED[2], *RANKED[:2], RANKED[3]]


def test_a_suite_that_nobody_has_run_keeps_nobody_from_a_rank(world, people):
    assert [column.key for column in board(people.nobody).columns] == ["a", "b", "c"]
    assert ranks(board(people.nobody))[0] == ("Equal", 1)


def test_a_tag_is_a_set_of_which_no_suite_may_be_missing(client, world, people):
    set_tags(world["c"].suite, ["run"])
    page = client.get(reverse("leaderboard"), {"tag": "run"}).content.decode()
    assert {rank for _, rank in ranks(board(people.nobody, "tag=run"))} == {None}
    assert "on the 3 suites of the tag “run”" in page
    assert page.count(">2 of 3</small>") == 3
    finished_run(world["c"], world["even"], HELD)
    assert [name for name, rank in ranks(board(people.nobody, "tag=run")) if rank] == ["Even"]


def test_the_page_of_a_tag_counts_the_suites_of_the_tag(client, world):
    def said(**query):
        page = " ".join(client.get(reverse("leaderboard"), query).content.decode().split())
        return re.search(r'Suites and weights <span class="note">([^<]+)<', page)[1]

    assert said() == "all 3 suites, equal weights"
    assert said(tag="run") == "all 2 suites, tag run, equal weights"
    assert said(tag="run", suite="a") == "1 of 2 suites, tag run, equal weights"


def test_on_the_suites_they_share_all_are_ranked(world, people):
    assert ranks(board(people.nobody, "common=1")) == [
        ("Partial", 1),
        ("Equal", 2),
        ("Even", 2),
        ("Worst", 4),
    ]


def test_a_suite_that_does_not_count_is_not_asked_for(world, people):
    assert ranks(board(people.nobody, "weights=b:0"))[0] == ("Partial", 1)


def test_by_a_suite_or_by_name_the_table_is_sorted_as_asked(world, people):
    assert ranks(board(people.nobody, "sort=-suite:a"))[0] == ("Partial", None)
    assert [name for name, _ in ranks(board(people.nobody, "sort=name"))] == [
        "Equal",
        "Even",
        "Partial",
        "Worst",
    ]


def test_a_mean_over_fewer_suites_of_a_tag_stands_below_too(world, people):
    assert ranks(board(people.nobody, "sort=-tag:run")) == RANKED


@pytest.mark.parametrize("layout", ["models", "suites"])
def test_page_files_and_api_have_the_same_order_and_ranks(client, world, layout):
    page = client.get(reverse("leaderboard"), {"layout": layout}).content.decode()
    names = re.findall(r'<th scope="(?:row|col)"[^>]* data-copy="(Equal|Even|Worst|Partial)"', page)
    assert names == [name for name, _ in RANKED]
    shown = re.findall(r'<td class="num hm-rank"[^>]*>([^<]+)</td>', page)
    assert shown == ["1", "1", "3", "–"]
    text = client.get(reverse("leaderboard-download", args=["csv"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["model"], row["rank"]) for row in rows] == [(name, str(rank or "")) for name, rank in RANKED]
    results = client.get(reverse("api-leaderboard")).json()["results"]
    assert [(row["name"], row["rank"]) for row in results] == RANKED


def test_the_page_says_who_is_not_ranked_and_offers_what_is_missing(client, world, people):
    client.force_login(people.alice)
    page = " ".join(client.get(reverse("leaderboard")).content.decode().split())
    assert "3 of 4 models are ranked" in page
    assert page.count("Run missing models") == 1
    assert "?common=1" in page
    assert "Not ranked, because suites are missing: Partial." in page


def test_seeds_with_a_gap_are_not_ranked(world, people):
    for name in ("partial", "even"):
        world[name].tags = ["group:ours"]
        world[name].save()
    assert ("ours", None) in ranks(board(people.nobody, "group=1"))


def test_more_suites_than_models_are_rows(client, world):
    one = {"model": "even"}
    page = client.get(reverse("leaderboard"), one).content.decode()
    assert 'class="matrix board is-turned' in page
    page = client.get(reverse("leaderboard"), one | {"layout": "models"}).content.decode()
    assert 'class="matrix board is-turned' not in page
    tex = client.get(reverse("leaderboard-download", args=["tex"]), one).content.decode()
    assert re.search(r"^ +a r1 & 4 & 50\.0 & 50\.0 \\\\$", tex, re.MULTILINE)
    assert re.search(r"^ +Suite & \{n\} & \{Even\} & \{Chance\} \\\\$", tex, re.MULTILINE)


def test_compare_keeps_the_filter(client, world):
    page = client.get(reverse("leaderboard"), {"tag": "run"}).content.decode()
    form = page[page.index('id="compare-form"') :].split("</form>")[0]
    assert re.findall(r'name="suite" value="(\w+)"', form) == ["a", "b"]
    page = client.get(reverse("leaderboard")).content.decode()
    assert 'name="suite" value' not in page[page.index('id="compare-form"') :].split("</form>")[0]


@pytest.mark.parametrize("layout", ["models", "suites"])
def test_a_board_without_rows_has_files_too(client, world, layout):
    query = {"source": "uploaded", "layout": layout}
    assert client.get(reverse("leaderboard"), query).status_code == 200
    for form in ("tex", "md", "csv", "json"):
        assert client.get(reverse("leaderboard-download", args=[form]), query).status_code == 200, form


def test_the_heat_map_has_the_layout_of_the_page(client, world):
    def rows(layout):
        address = reverse("figure", args=["leaderboard-heat", "svg"])
        svg = client.get(address, {"layout": layout}).content.decode()
        return int(re.search(r"(\d+) rows, \d+ columns\. Percent of items", svg)[1])

    assert (rows("models"), rows("suites")) == (4, 3)
