"""The page of a case with many iterations is paginated and reads few transcripts."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gym.agents.models import CaseIteration, CaseRun
from tests.agents.site import make_run, make_server, make_suite
from tests.once import once_a_module
from tests.page_text import text_of
from tests.people import People

MANY = 250
FAILED = 240


def make_often(people: People) -> CaseRun:
    """A case with 250 iterations, which took 1 to 250 seconds; only iteration FAILED failed."""
    run = make_run(make_suite(people.alice), make_server(people.alice))
    case_run = run.case_runs.get()
    first = case_run.iterations.get(number=1)
    CaseIteration.objects.filter(case_run=case_run).delete()
    CaseIteration.objects.bulk_create(
        CaseIteration(
            case_run=case_run, number=number, outcome=outcome, data=_like(first.data, number, outcome)
        )
        for number in range(1, MANY + 1)
        for outcome in ["fail" if number == FAILED else "pass"]
    )
    CaseRun.objects.filter(pk=case_run.pk).update(planned=MANY, n=MANY, passed=MANY - 1, needed=MANY)
    return CaseRun.objects.get(pk=case_run.pk)


def _like(data: dict, number: int, outcome: str) -> dict:
    turns = [{**turn, "seconds": float(number), "text": f"answer {number}."} for turn in data["turns"]]
    checks = [{**check, "outcome": outcome} for check in data["checks"]]
    return {**data, "number": number, "outcome": outcome, "turns": turns, "checks": checks}


built, people, often = once_a_module(make_often)


def offered(text: str) -> list[int]:
    return [int(number) for number in re.findall(r'name="i" value="(\d+)"', text)]


def shown(text: str) -> list[int]:
    transcripts = text.partition('id="transcripts"')[2]
    return list(dict.fromkeys(int(number) for number in re.findall(r"answer (\d+)\.", transcripts)))


def read(client, case_run: CaseRun, query: str = "") -> str:
    return text_of(client.get(case_run.get_absolute_url() + query))


def test_iterations_come_in_pages(client, often):
    assert offered(read(client, often, "?page=2&i=101")) == list(range(101, 201))
    last = read(client, often, "?page=3&i=201")
    assert offered(last) == list(range(201, 251))
    assert "201–250 of 250" in last


def test_the_first_one_that_failed_is_shown_beside_the_first_though_it_is_on_another_page(client, often):
    text = read(client, often)
    assert shown(text) == [1, FAILED]
    assert sorted(offered(text)) == [*range(1, 101), FAILED]


def test_those_chosen_stay_while_one_turns_pages(client, often):
    text = read(client, often, "?i=7&i=120&page=2")
    assert shown(text) == [7, 120]
    assert 7 in offered(text)
    assert re.search(r'value="7" checked', text)
    assert re.search(r'href="\?i=7&amp;i=120&amp;page=3"', text)
    assert '<input type="hidden" name="page" value="2">' in text


def test_checks_and_seconds_are_those_of_all_iterations(client, often):
    text = read(client, often, "?page=3")
    assert f"<td>{MANY - 1}/{MANY}</td>" in text
    assert "<dd>2 min 6 s</dd>" in text
    assert "<dd>4 min 10 s</dd>" in text


@pytest.mark.parametrize("query", ["", "?page=2", "?i=3&i=240", "?i=9999&page=3"])
def test_it_takes_few_queries_and_few_transcripts_are_kept(client, often, people, query):
    client.force_login(people.alice)
    read(client, often, query)
    with CaptureQueriesContext(connection) as asked:
        response = client.get(often.get_absolute_url() + query)
    assert len(asked) <= 10
    assert 0 < len(response.context["columns"]) <= 4
    assert all("data" in row.get_deferred_fields() for row in response.context["page"])


@pytest.mark.parametrize("query", ["?i=", "?i=x&page=x", "?page=-1", "?page=99999"])
def test_what_is_no_number_is_no_error(client, often, query):
    assert len(offered(read(client, often, query))) >= 50
