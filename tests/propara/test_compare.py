"""Comparison of two to five submissions with the first, down to the line, on pages, in files and in the API."""

from __future__ import annotations

import csv
import io

import pytest
from django.urls import reverse

from gym.propara.models import Submission
from gym.propara.presenters import compare_submissions
from lmgym.propara import evaluate
from lmgym.propara.bootstrap import compare
from tests.lmgym.propara.worlds import LIGHT, shipped
from tests.once import once_a_module
from tests.people import People
from tests.propara.worlds import LATE, hand_in, make_shipped, make_version


def make_three(people: People) -> list[Submission]:
    version = make_shipped(people.alice)
    return [
        hand_in(version, people.alice, shipped(name), system=name) for name in ("hasty", "careful", "answers")
    ]


built, people, three = once_a_module(make_three)


def query(*rows) -> dict:
    return {"first": rows[0].key, "second": [row.key for row in rows[1:]]}


def test_the_comparison_is_that_of_the_reports(three):
    version = three[0].version
    reports = [evaluate(version.answers, shipped(name)) for name in ("hasty", "careful", "answers")]
    names = ["hasty", "careful", "answers"]
    assert compare_submissions(*three).pairs == compare(*reports, names=names)


def test_heads_and_verdicts_name_the_systems(client, three):
    html = " ".join(client.get(reverse("propara-compare"), query(*three)).content.decode().split())
    assert '<th scope="col" class="num">careful − hasty</th>' in html
    assert "On processes like these, careful is better." in html
    assert "p, Holm" in html
    for text in ("first", "second"):
        assert f">{text}<" not in html.lower().split("</header>")[-1].split("compare others")[0]


def test_two_systems_of_one_name_are_told_apart_by_their_owners(client, people):
    version = make_version(people.alice)
    rows = [hand_in(version, person, system="same") for person in (people.alice, people.bob)]
    html = client.get(reverse("propara-compare"), query(*rows)).content.decode()
    assert "same, by alice" in html
    assert "same, by bob" in html


def test_ticked_rows_of_the_leaderboard_lead_to_their_comparison(client, three):
    html = client.get(three[0].version.get_absolute_url()).content.decode()
    assert all(f'name="submission" value="{row.key}"' in html for row in three)
    answer = client.get(reverse("propara-compare"), {"submission": [row.key for row in three]})
    assert client.get(answer.url).context["chosen"] == three


def test_the_api_compares_more_than_two(client, three):
    found = client.get(reverse("api-propara-compare"), query(*three)).json()
    assert found["first"]["system"] == "hasty"
    pairs = compare_submissions(*three).pairs
    assert [row["second"] for row in found["comparisons"]] == ["careful"] * 5 + ["answers"] * 5
    ids = [row.key for row in three[1:] for _ in range(5)]
    shown = [record for pair in pairs for record in pair.records()]
    assert found["comparisons"] == [{"id": key, **row} for key, row in zip(ids, shown, strict=True)]
    assert found["rows"][0]["first_sentence"]
    widest = [max(map(abs, row["differences"])) for row in found["rows"]]
    assert widest == sorted(widest, reverse=True)


@pytest.mark.parametrize("table", ["differences", "processes"])
def test_page_and_api_give_the_same_table(client, three, table):
    there = client.get(reverse("propara-compare-download", args=[f"{table}.csv"]), query(*three))
    api = client.get(reverse("api-propara-compare"), query(*three) | {"table": table, "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(there.content.decode().removeprefix("\ufeff"))))
    assert rows == list(csv.DictReader(io.StringIO(api.content.decode().removeprefix("\ufeff"))))
    assert len(rows) == (10 if table == "differences" else 14)


def test_a_process_is_compared_line_by_line_in_the_order_of_the_comparison(client, people):
    version = make_version(people.alice)
    right, late = (
        hand_in(version, people.alice, text, system=name) for name, text in (("right", LIGHT), ("late", LATE))
    )
    page = client.get(reverse("propara-compare-process", args=[7]), query(right, late))
    html = page.content.decode()
    row = next(row for row in page.context["lines"] if (row.participant, row.step) == ("gas", 2))
    assert (row.answer, row.lines) == ("DESTROY star → -", [("DESTROY star → -", False), ("NONE star", True)])
    assert "2: <a" in html
    assert ">2</span> late" in html


def test_next_follows_the_greatest_difference(client, three):
    rows = compare_submissions(*three).rows
    page = client.get(reverse("propara-compare-process", args=[rows[0]["process_id"]]), query(*three))
    assert page.context["neighbours"] == (None, rows[1]["process_id"])


@pytest.mark.parametrize("n", [1, 6])
def test_one_or_more_than_five_are_refused_with_a_reason(client, people, n):
    version = make_version(people.alice)
    rows = [hand_in(version, people.alice, system=f"s{k}") for k in range(n)]
    given = query(*rows) if n > 1 else {"first": rows[0].key, "second": rows[0].key}
    answer = client.get(reverse("propara-compare"), given)
    assert answer.status_code == 400
    assert ("At most 5" if n > 1 else "at least two") in answer.content.decode()
    assert client.get(reverse("api-propara-compare"), given).status_code == 400


def test_systems_on_different_answers_are_not_compared(client, people, three):
    other = hand_in(make_version(people.alice), people.alice)
    answer = client.get(reverse("propara-compare"), query(three[0], other))
    assert (answer.status_code, "different reference answers" in answer.content.decode()) == (400, True)
    assert client.get(reverse("propara-compare-process", args=[1]), query(three[0], other)).status_code == 404
    assert client.get(reverse("api-propara-compare"), query(three[0], other)).status_code == 400


def test_addresses_of_former_comparisons_still_lead_there(client, three):
    a, b = three[0].key, three[1].key
    assert client.get(f"/propara/compare/{a}/{b}/").url == f"/propara/compare/?first={a}&second={b}"
    assert (
        client.get(f"/propara/compare/{a}/{b}/3/").url
        == f"/propara/compare/processes/3/?first={a}&second={b}"
    )
