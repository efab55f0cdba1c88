"""The newest result of every case on every server, however many runs there are."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from gym.agents import presenters, selectors
from gym.agents.models import AgentCase, AgentRun, CaseRun
from tests.agents.site import GOOD, make_server, make_suite

MANY = 450


def finished_run(suite, server, cases, *, age: int, outcome: str = "pass", **more) -> AgentRun:
    """Create a finished run without iterations; `age` in days."""
    when = timezone.now() - timedelta(days=age)
    run = AgentRun.objects.create(suite=suite, server=server, owner=suite.owner, completed_at=when, **more)
    AgentRun.objects.filter(pk=run.pk).update(created=when)
    passed = int(outcome == "pass")
    CaseRun.objects.bulk_create(
        CaseRun(
            run=run, case=case, name=case.name, text=case.text, agent="echo", planned=1, needed=1, n=1,
            passed=passed, outcome=outcome,
        )
        for case in cases
    )  # fmt: skip
    return AgentRun.objects.get(pk=run.pk)


@pytest.fixture
def many(people):
    suite = make_suite(people.alice)
    AgentCase.objects.bulk_create(
        AgentCase(suite=suite, name=f"case-{number:03}", text=GOOD, agent="echo") for number in range(1, MANY)
    )
    return suite


def test_every_case_that_was_run_has_its_cell_and_every_agent_its_column(
    people, many, django_assert_max_num_queries
):
    first, second = make_server(people.alice, "aardvark"), make_server(people.alice, "badger")
    cases = list(many.cases.all())
    finished_run(many, first, cases, age=30)
    for age in range(20, 0, -5):
        finished_run(many, second, cases, age=age, outcome="fail" if age == 5 else "pass")
    with django_assert_max_num_queries(4):
        columns, rows = selectors.matrix(many, people.alice)
    assert [column.server for column in columns] == [first, second]
    assert len(rows) == MANY
    assert {tuple(cell.newest.outcome for cell in row.cells) for row in rows} == {("pass", "fail")}
    assert {tuple(cell.flaky for cell in row.cells) for row in rows} == {(False, True)}


def test_flips_are_found_however_many_cases_a_run_has(people, many):
    server = make_server(people.alice)
    cases = list(many.cases.all())
    finished_run(many, server, cases, age=2, outcome="fail")
    newest = finished_run(many, server, cases, age=1)
    with (
        connection.cursor() as cursor
    ):  # as autovacuum does: PostgreSQL plans badly for tables that look empty, and takes minutes
        cursor.execute("ANALYZE")
    assert all(row.flaky for row in presenters.rows_of(newest))


def test_only_the_newest_runs_make_a_case_flaky(people, monkeypatch):
    monkeypatch.setattr(selectors, "HISTORY", 3)
    suite, server = make_suite(people.alice), make_server(people.alice)
    cases = list(suite.cases.all())
    finished_run(suite, server, cases, age=9, outcome="fail")
    for age in (3, 2, 1):
        newest = finished_run(suite, server, cases, age=age)
    _, rows = selectors.matrix(suite, people.alice)
    assert not rows[0].cells[0].flaky
    assert selectors.flipping_cases(newest) == set()
    monkeypatch.setattr(selectors, "HISTORY", 4)
    assert selectors.matrix(suite, people.alice)[1][0].cells[0].flaky


def test_two_readings_that_disagree_make_no_case_flaky(people):
    suite, server = make_suite(people.alice), make_server(people.alice)
    cases = list(suite.cases.all())
    finished_run(suite, server, cases, age=2, options={"reading": "document"})
    options = {"reading": "reference-compatible"}
    newest = finished_run(suite, server, cases, age=1, outcome="fail", options=options)
    assert not selectors.matrix(suite, people.alice)[1][0].cells[0].flaky
    assert selectors.flipping_cases(newest) == set()
    assert not selectors.flaky(selectors.history_of(cases[0], people.alice))
    newest = finished_run(suite, server, cases, age=0, options=options)
    assert selectors.matrix(suite, people.alice)[1][0].cells[0].flaky
    assert selectors.flipping_cases(newest) == {cases[0].pk}
    assert selectors.flaky(selectors.history_of(cases[0], people.alice))


def test_scoring_stored_answers_again_makes_no_case_flaky(people):
    """Both results are scorings of the same answer."""
    suite, server = make_suite(people.alice), make_server(people.alice)
    cases = list(suite.cases.all())
    asked = finished_run(suite, server, cases, age=2)
    again = finished_run(suite, server, cases, age=1, outcome="fail", rescored_from=asked)
    _, rows = selectors.matrix(suite, people.alice)
    assert (rows[0].cells[0].newest.outcome, rows[0].cells[0].flaky) == ("fail", False)
    assert selectors.flipping_cases(again) == set()
    assert not selectors.flaky(selectors.history_of(cases[0], people.alice))


@pytest.mark.parametrize(
    ("outcome", "flips"), [("fail", True), ("timeout", True), ("skipped", False), ("error", False)]
)
def test_a_case_is_flaky_where_one_run_passed_and_another_has_another_verdict(people, outcome, flips):
    suite, server = make_suite(people.alice), make_server(people.alice)
    cases = list(suite.cases.all())
    finished_run(suite, server, cases, age=2)
    newest = finished_run(suite, server, cases, age=1, outcome=outcome)
    assert selectors.matrix(suite, people.alice)[1][0].cells[0].flaky is flips
    assert selectors.flipping_cases(newest) == ({cases[0].pk} if flips else set())
    assert selectors.flaky(selectors.history_of(cases[0], people.alice)) is flips


def test_agents_called_alike_have_two_columns_with_two_headings(client, people):
    both = ["Twin (alices)", "Twin (bobs)"]
    suite = make_suite(people.alice)
    for slug in ("alices", "bobs"):
        server = make_server(people.alice, slug, name="Twin")
        run = finished_run(suite, server, suite.cases.all(), age=1)
    client.force_login(people.alice)
    page = client.get(suite.get_absolute_url()).content.decode()
    [heads] = [one for one in re.findall(r"<thead>.*?</thead>", page, re.S) if "Agent tested" in one]
    assert [one for one in both if f">{one}</a>" in heads] == both
    case = client.get(suite.cases.first().get_absolute_url()).content.decode()
    assert all(f"<td>{one}</td>" in case for one in both)
    first = suite.runs.exclude(pk=run.pk).get()
    compared = client.get(reverse("agent-compare"), {"first": first.key, "second": run.key}).content.decode()
    compared = " ".join(compared.split())
    assert all(f">{one}, " in compared for one in both)


def test_versions_of_an_agent_are_columns_on_request(client, people):
    suite, server = make_suite(people.alice), make_server(people.alice)
    address, cases = suite.get_absolute_url(), suite.cases.all()
    finished_run(suite, server, cases, age=2, server_version="old 0.9")
    assert "by version" not in client.get(address).content.decode()
    finished_run(suite, server, cases, age=1, server_version="new 1.0")
    assert "by version" in client.get(address).content.decode()
    page = client.get(address, {"by": "version"}).content.decode()
    assert page.index("new 1.0</span>") < page.index("old 0.9</span>")
    columns, rows = selectors.matrix(suite, people.alice, by_version=True)
    assert [column.version for column in columns] == ["new 1.0", "old 0.9"]
    assert all(cell.newest for row in rows for cell in row.cells)
