"""Charts of pass rates over time, of a suite and of a case."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from gym.agents import services
from gym.jobs.testing import run_pending
from tests.agents.site import GOOD, make_case, make_run, make_server, make_suite
from tests.once import once_a_module
from tests.page_text import text_of

BAD = GOOD.replace("keywords: hello", "keywords: [hello, bye]")
CASES = {"good": GOOD, "fine": GOOD, "bad": BAD, "worse": BAD}
built, people, finished = once_a_module(
    lambda people: make_run(make_suite(people.alice, cases=CASES), make_server(people.alice))
)


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def test_a_suites_trend_is_drawn_from_two_comparable_runs_on(alice, finished):
    suite = finished.suite
    figure = reverse("figure", args=["agent-suite-trend", "json"])
    assert "Over time" not in text_of(alice.get(suite.get_absolute_url()))
    assert alice.get(figure, {"suite": suite.slug}).status_code == 404
    second = make_run(suite, finished.server)
    make_run(suite, finished.server, cases=[make_case(suite, "good")])  # other cases: not comparable
    services.queue_rescoring(second, actor=suite.owner)
    run_pending()
    assert "Over time" in text_of(alice.get(suite.get_absolute_url()))
    data = alice.get(figure, {"suite": suite.slug}).json()
    assert [row[0] for row in data["rows"]] == [finished.key, second.key]
    assert data["rows"][0][4:8] == [2, 4, 0, 0.5]
    svg = alice.get(reverse("figure", args=["agent-suite-trend", "svg"]), {"suite": suite.slug})
    assert svg.content.startswith(b"<svg")


def test_a_rescoring_is_marked_in_a_cases_history_and_is_no_point_of_its_trend(alice, finished):
    services.queue_rescoring(finished, actor=finished.owner)
    make_run(finished.suite, finished.server)
    run_pending()
    case = finished.suite.cases.first()
    assert text_of(alice.get(case.get_absolute_url())).count('<span class="sub">scored again</span>') == 1
    query = {"suite": finished.suite.slug, "case": case.pk}
    table = alice.get(reverse("figure", args=["agent-trend", "csv"]), query).content.decode()
    assert len(table.splitlines()) == 1 + 2
    drawn = text_of(alice.get(reverse("figure", args=["agent-trend", "svg"]), query))
    labels = set(re.findall(r">(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: \(\d\))?)<", drawn))
    assert len(labels) == 2, "both of one minute"


def test_points_of_a_cases_trend_are_labelled_by_time_and_server(client, people, finished):
    suite = make_suite(people.alice, "ours")
    make_run(suite, finished.server)
    query = {"suite": suite.slug, "case": suite.cases.first().pk}
    drawn = text_of(client.get(reverse("figure", args=["agent-trend", "svg"]), query))
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", drawn)
    assert labels.count("Embedded") == 1
    assert len([label for label in labels if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", label)]) == 1
