"""Items of a long run are sorted and filtered over all pages, by parameters of the address; a table of one
page is sorted on the page.
"""

from __future__ import annotations

import json

import pytest

from gym.runs.models import PredictionResult
from gym.runs.pages import compare_views
from gym.runs.read import presenters
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.once import once_a_module
from tests.runs.boards import finished_run

N, PER_PAGE = 45, 20
CODES = [(7 * k) % 4 for k in range(N)]


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch):
    """Let fewer items fill three pages."""
    for module in (presenters, compare_views):
        monkeypatch.setattr(module, "ITEMS_PER_PAGE", PER_PAGE)


def margin(k: int) -> float | None:
    """Return the margin of item `k`. Margins are scattered, so that sorting by them differs from the order of
    items."""
    code = CODES[k]
    return None if code == 3 else 0.0 if code == 2 else (1 if code == 1 else -1) * (1 + (k * 37 % N) / 10)


def make_run(people):
    revision = make_revision(people.alice, name="long", items=N, formulas=(AGREEMENT, AGREEMENT))
    run = finished_run(revision, make_model(people.alice), CODES, [1] * N)
    PredictionResult.objects.filter(run=run, position=0).update(margins=[margin(k) for k in range(N)])
    return run


built, people, run = once_a_module(make_run)


def shown(client, run, query: str) -> list[int]:
    """Return the item numbers on all pages."""
    found, page, pages = [], 1, 1
    while page <= pages:
        items = client.get(f"{run.get_absolute_url()}?{query}&page={page}").context["items"]
        found += [row.item for row in items]
        page, pages = page + 1, items.paginator.num_pages
    return found


def test_the_greatest_margins_of_all_items_are_on_the_first_page(client, run):
    known = [k for k in range(N) if margin(k) is not None]
    missing = [k + 1 for k in range(N) if margin(k) is None]
    for sort, sign in (("p1", 1), ("-p1", -1)):
        expected = [k + 1 for k in sorted(known, key=lambda k: sign * margin(k))]
        assert shown(client, run, f"sort={sort}") == expected + missing


def test_items_can_be_sorted_by_number_and_other_words_leave_the_suites_order(client, run):
    numbers = list(range(1, N + 1))
    assert shown(client, run, "sort=-item") == numbers[::-1]
    for word in ("", "p3", "p0", "p", "p²", "-x"):
        items = client.get(f"{run.get_absolute_url()}?sort={word}").context["items"]
        assert [row.item for row in items] == numbers[:PER_PAGE], word


@pytest.mark.parametrize(("only", "code"), [("ties", 2), ("missing", 3)])
def test_outcomes_are_filtered_over_all_pages_and_the_order_stays(client, run, only, code):
    expected = [k + 1 for k in range(N) if CODES[k] == code]
    assert shown(client, run, f"only={only}") == expected
    assert shown(client, run, f"only={only}&sort=-item") == expected[::-1]


def test_every_item_is_held_failed_or_without_a_value_and_the_names_say_so(client, run):
    page = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    parts = {only: shown(client, run, f"only={only}") for only in ("held", "failed", "missing")}
    assert parts["held"] == [k + 1 for k in range(N) if CODES[k] == 1]  # in the second prediction all held
    assert sorted(number for part in parts.values() for number in part) == list(range(1, N + 1))
    for only, words in (("held", "all held"), ("failed", "some failed"), ("missing", "no value")):
        assert f'href="?only={only}#items">{words} {len(parts[only])}</a>' in page


def test_headings_filters_and_pages_keep_one_anothers_choices(client, run):
    page = client.get(f"{run.get_absolute_url()}?only=failed&sort=-p1&page=2").content.decode()
    assert 'aria-sort="descending"' in page
    assert 'href="?only=failed&amp;sort=p1#items"' in page
    assert 'href="?only=failed&amp;sort=item#items"' in page
    assert 'href="?only=ties&amp;sort=-p1#items"' in page
    assert 'href="?only=failed&amp;sort=-p1&amp;page=1"' in page
    table = page.split('id="item-table"')[1].split(">")[0]
    assert "data-sortable" not in table


def test_a_run_without_margins_is_sorted_by_outcome(client, run):
    PredictionResult.objects.update(margins=[None] * N)
    first = shown(client, run, "sort=p1")[0]
    assert CODES[first - 1] == 0


def test_a_table_of_one_page_is_sorted_on_the_page(client, people):
    run = finished_run(
        make_revision(people.alice, items=5), make_model(people.alice, slug="short"), [1, 0, 1, 1, 2]
    )
    page = client.get(run.get_absolute_url()).content.decode()
    assert "data-sortable" in page.split('id="item-table"')[1].split(">")[0]
    assert "sort=p1" not in page


def over_api(client, run, query: str) -> list[int]:
    address, found = f"/api/v1/runs/{run.key}/results/items/?limit={PER_PAGE}&{query}", []
    while address:
        answer = client.get(address).json()
        found += [row["item"] for row in answer["results"]]
        address = answer["next"]
    return found


@pytest.mark.parametrize("query", ["", "sort=-p1", "sort=item", "only=ties", "only=held&sort=p1"])
def test_the_api_has_the_same_filters_and_orders(client, run, query):
    assert over_api(client, run, query) == shown(client, run, query)


@pytest.mark.parametrize(("query", "where"), [
    ("sort=p3", "?sort"), ("sort=size", "?sort"), ("only=most", "?only"), ("format=csv&only=ties", "?only"),
])  # fmt: skip
def test_the_api_names_a_slip(client, run, query, where):
    answer = client.get(f"/api/v1/runs/{run.key}/results/items/?{query}")
    assert (answer.status_code, json.loads(answer.content)["errors"][0]["where"]) == (400, where)


def test_items_of_a_comparison_are_sorted_as_a_whole_too(client, run):
    other = finished_run(run.revision, make_model(run.model.owner, slug="other"), [1] * N, [1] * N)
    query = f"model={run.model.slug}&model={other.model.slug}&suite=long&rule=first"
    pages = [client.get(f"/compare/?{query}&sort=-s1&page={page}") for page in (1, 2, 3)]
    found = [row.item for page in pages for row in page.context["items"]]
    known = [k for k in range(N) if margin(k) is not None]
    assert found[: len(known)] == [k + 1 for k in sorted(known, key=lambda k: -margin(k))]
    assert sorted(found) == list(range(1, N + 1))
    text = pages[1].content.decode()
    assert 'aria-sort="descending"' in text
    assert "data-sortable" not in text.split('id="compare-items"')[1].split(">")[0]
