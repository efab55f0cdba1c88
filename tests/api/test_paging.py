"""Cursor pages: every row once and in order, whatever is added or deleted in between."""

from __future__ import annotations

import json

import pytest

from gym.api import paging
from suites.models import Suite
from tests.factories import make_suite


@pytest.fixture
def many(people):
    """25 suites; five share each title, so that the order has ties."""
    for number in range(25):
        Suite.objects.create(
            slug=f"s{number:02}", title=f"Title {number // 5}", owner=people.alice, visibility="public"
        )


def pages(client, address: str):
    while address:
        page = client.get(address).json()
        yield page["results"]
        address = page["next"]


SORTS = ["title", "-title", "created", "-updated", "items", "-predictions"]


@pytest.mark.parametrize(
    ("sort", "limit"), [*((sort, 4) for sort in SORTS), ("title", 1), ("title", 25), ("title", 30)]
)
def test_every_row_comes_once_and_in_order(client, many, sort, limit):
    found = [row for page in pages(client, f"/api/v1/suites/?sort={sort}&limit={limit}") for row in page]
    assert len(found) == len({row["slug"] for row in found}) == 25
    name = {"items": "n_items", "predictions": "n_predictions"}.get(sort.lstrip("-"), sort.lstrip("-"))
    values = [row[name] for row in found]
    assert values == sorted(values, reverse=sort.startswith("-"))


def test_rows_that_come_and_go_neither_repeat_nor_hide_others(client, many, people):
    first = client.get("/api/v1/suites/?sort=title&limit=10").json()
    seen = [row["slug"] for row in first["results"]]
    Suite.objects.filter(slug__in=seen[:5]).delete()
    Suite.objects.create(slug="new", title="A title in front", owner=people.alice, visibility="public")
    rest = [row["slug"] for page in pages(client, first["next"]) for row in page]
    assert sorted(seen + rest) == [f"s{number:02}" for number in range(25)]


def test_filters_stay_while_paging(client, many, people):
    make_suite(people.alice, name="other")
    found = [row["slug"] for page in pages(client, "/api/v1/suites/?q=Title&limit=10") for row in page]
    assert len(found) == 25


def test_a_cursor_belongs_to_its_order(client, many):
    first = client.get("/api/v1/suites/?sort=title&limit=2").json()["next"]
    other = client.get(first.replace("sort=title", "sort=created"))
    assert (other.status_code, other.json()["errors"][0]["where"]) == (400, "?cursor")


@pytest.mark.parametrize(("its", "other"), [("suites", "collections"), ("backends", "leaderboard")])
def test_a_cursor_belongs_to_its_list(client, many, its, other):
    """The two lists have the same order."""
    sort = {"sort": "title"} if its == "suites" else {}
    address = client.get(f"/api/v1/{its}/", {"limit": 1, **sort}).json()["next"]
    assert client.get(address).status_code == 200
    answer = client.get(address.replace(f"/{its}/", f"/{other}/"))
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["errors"][0]["where"] == "?cursor"


def test_lists_that_are_no_table_come_in_pages_too(client, db):
    found = [row["kind"] for page in pages(client, "/api/v1/backends/?limit=1") for row in page]
    assert {"causal", "masked", "ngram", "uniform"} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("address", ["suites/?", "backends/?"])
def test_a_page_of_large_rows_ends_early_and_the_next_one_goes_on(client, many, address, monkeypatch):
    whole = client.get(f"/api/v1/{address}limit=26").json()["results"]
    monkeypatch.setattr(paging, "MAX_BYTES", 2_000)
    found = list(pages(client, f"/api/v1/{address}limit=25"))
    assert len(found) > 1
    assert all(len(json.dumps(page)) < 2_500 or len(page) == 1 for page in found)
    assert [row for page in found for row in page] == whole


def test_a_full_page_that_is_the_last_one_names_no_next(client, people):
    address = "/api/v1/backends/"
    rows = client.get(address).json()["results"]
    assert client.get(f"{address}?limit={len(rows)}").json() == {"next": None, "results": rows}
    assert client.get(f"{address}?limit={len(rows) - 1}").json()["next"]
