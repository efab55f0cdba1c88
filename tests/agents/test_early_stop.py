"""Runs that stop as soon as the ratio is decided are marked, since their rates are not estimates."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.agents import presenters, selectors
from gym.agents.charts import suite_trend
from gym.agents.comparing import compare_runs
from gym.agents.models import AgentRun
from tests.agents.site import GOOD, make_run, make_server, make_suite
from tests.page_text import text_of

THREE = (
    "agent: echo\nsuccess_ratio: 1/3\ninteractions: [{text: hello, response: {text: {keywords: hello}}}]\n"
)


@pytest.fixture
def suite(people):
    return make_suite(people.alice, cases={"three": THREE, "one": GOOD})


@pytest.fixture
def early(people, suite) -> AgentRun:
    return make_run(suite, make_server(people.alice), early_stop=True, parallel=1)


def test_the_page_of_a_run_says_how_it_was_run(client, suite, early):
    page = text_of(client.get(early.get_absolute_url()))
    assert "stops once the ratio is decided" in page
    assert "1 parallel iteration<" in page
    assert "no interval, no pass@k and no exact test" in page
    full = make_run(suite, early.server, parallel=3)
    page = text_of(client.get(full.get_absolute_url()))
    assert "runs all iterations" in page
    assert "3 parallel iterations" in page


def test_a_rate_that_stopped_at_its_first_success_has_no_interval_and_no_pass_at_k(client, early):
    three = early.case_runs.get(name="three")
    assert (three.passed, three.n, three.planned) == (1, 1, 3)
    assert selectors.evidence_of(three).interval is None
    assert presenters.totals_of(early).iterations.interval is None
    assert presenters.case_context(three, [])["at_k"] == []
    assert [row.cases for row in presenters.at_k_of_run(early)] == [1], (
        "the case of one iteration alone, which cannot stop early"
    )
    page = text_of(client.get(three.get_absolute_url()))
    assert "early stop" in page
    assert "pass@k" not in page


def test_a_case_of_one_iteration_is_as_any_other(early):
    one = selectors.evidence_of(early.case_runs.get(name="one"))
    assert (one.early_stop, one.interval is None) == (False, False)


def test_the_matrix_marks_it(client, suite, early):
    assert "early stop" in text_of(client.get(suite.get_absolute_url()))


def test_trends_leave_it_out(people, suite, early):
    make_run(suite, early.server)
    assert suite_trend(suite, people.alice) is None
    make_run(suite, early.server)
    figure = suite_trend(suite, people.alice)
    assert figure is not None
    assert early.key not in {row[0] for row in figure.rows}
    assert len(list(figure.rows)) == 2


def test_it_is_not_compared_by_an_exact_test(client, suite, early):
    full = make_run(suite, early.server)
    (pair,) = compare_runs(early, full).pairs
    total, by_name = pair.total, {row.name: row.comparison for row in pair.cases}
    assert (by_name["three"].p, by_name["one"].p, total.p) == (None, 1.0, None)
    assert by_name["three"].difference == 0.0
    page = text_of(client.get(reverse("agent-compare"), {"a": early.key, "b": full.key}))
    assert "no p: with early stopping" in page
