"""Stored results of the page benchmarks, and their tables in the docs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from benchmarks.web.record import DOCS, PAGES, measure_address, put, save, table


@pytest.fixture
def row(client, people):
    client.force_login(people.alice)
    return measure_address(client, "profile", "/accounts/profile/", repeats=2)


def test_a_record_says_machine_date_versions_and_what_every_address_took(row, tmp_path: Path):
    record = json.loads(save("pages", {"suites": 3}, [row], tmp_path).read_text())
    assert set(record["facts"]) == {"date", "machine", "Python", "Django", "database"}
    assert record["rows"] == [row]
    assert row["bytes"] > 0
    assert row["median_ms"] > 0


def test_the_two_queries_that_find_out_who_asks_are_counted_too(client, row):
    client.logout()
    assert row["queries"] > 2
    assert measure_address(client, "about", "/about/", repeats=1)["queries"] == 0
    client.force_login(get_user_model().objects.get(username="alice"))
    assert measure_address(client, "about", "/about/", repeats=1)["queries"] == 2


def test_an_address_that_does_not_answer_is_no_figure(client, db):
    assert get_user_model().objects.count() == 0
    with pytest.raises(AssertionError, match="404"):
        measure_address(client, "gone", "/runs/gone/", repeats=1)


def test_the_table_shows_the_count(row, tmp_path: Path):
    record = json.loads(save("pages", {"suites": 1_000}, [row], tmp_path).read_text())
    assert "1,000 suites" in table(record)
    assert f"| profile | {row['queries']} |" in table(record)


@pytest.mark.parametrize(("part", "page"), PAGES.items())
def test_the_docs_have_a_place_for_each_record(part, page):
    text = (DOCS / page).read_text()
    once = put(text, part, "| new |")
    assert "\n\n| new |\n\n" in once
    assert put(once, part, "| new |") == once
    with pytest.raises(LookupError, match="no marks"):
        put("no place", part, "| new |")
