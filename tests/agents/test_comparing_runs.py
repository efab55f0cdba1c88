"""Two runs beside each other: by Fisher's test where the answers differ, in pairs where they are the same."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.agents.core.pass_rates import compare, corrected
from gym.agents.models import AgentRun
from gym.agents.site import presenters, services
from gym.jobs.testing import run_pending
from tests.agents.site import FLAKY, make_case, make_run, make_server, make_suite

ALWAYS = FLAKY.replace("2/4", "2/10")


@pytest.fixture
def run(people) -> AgentRun:
    suite = make_suite(people.alice, cases={"flaky": ALWAYS})
    return make_run(suite, make_server(people.alice))


def again(run: AgentRun, text: str = ALWAYS, **more) -> AgentRun:
    case = make_case(run.suite, "flaky")
    case.text = text
    services.save_case(case, actor=run.suite.owner)
    made = services.queue_rescoring(run, actor=run.suite.owner, **more)
    run_pending()
    return AgentRun.objects.get(pk=made.pk)


def test_other_answers_are_independent_samples(run):
    other = make_run(run.suite, run.server)
    rows, total = presenters.compared(run, other)
    assert rows[0].comparison.test == total.test == "Fisher's exact test, two-sided"
    assert total.changed is None


def test_a_scoring_again_is_compared_iteration_by_iteration(client, run):
    second = again(run, ALWAYS.replace("keywords: world", 'keywords: ["world", "nowhere"]'))
    rows, total = presenters.compared(run, second)
    assert (total.first, total.second, total.changed) == ((5, 10), (0, 10), (0, 5))
    assert total.p == pytest.approx(2 / 2**5)
    assert rows[0].comparison == total
    page = client.get(reverse("agent-compare"), {"a": run.key, "b": second.key}).content.decode()
    assert "McNemar" in page
    assert "+0 −5" in page
    answer = client.get(reverse("api-agent-compare"), {"first": run.key, "second": second.key}).json()
    assert answer["total"]["changed"] == [0, 5]
    assert answer["cases"][0]["test"].startswith("McNemar")


def test_two_ticked_runs_are_compared_the_earlier_one_first(client, people, run):
    other = make_run(run.suite, run.server)
    page = client.get(reverse("agent-runs")).content.decode()
    assert page.count('type="checkbox" name="run"') == 2
    ticked = {"ticked": "yes", "run": [other.key, run.key]}
    assert client.get(reverse("agent-compare"), ticked).url.endswith(f"?first={run.key}&second={other.key}")
    for too_few in ([], [run.key], [run.key, "nothing\0"]):
        answer = client.get(reverse("agent-compare"), {"ticked": "yes", "run": too_few}, follow=True)
        assert "Tick two finished runs of one suite" in answer.content.decode()
    client.force_login(people.alice)
    form = client.get(run.suite.get_absolute_url()).content.decode()
    assert f"({run.server.model.slug}), by alice" in form  # agents are chosen by name, slug and owner


def test_two_scorings_of_the_same_answers_are_pairs_as_well(run):
    second = again(run)
    third = again(second)
    assert presenters.compared(second, third)[1].changed == (0, 0)
    assert presenters.compared(third, run)[1].changed == (0, 0)
    assert presenters.compared(third, run)[1].p == 1.0


def test_answers_are_scored_again_by_the_other_reading(client, people, run):
    text = ALWAYS.replace("keywords: world", "less: Hz")  # "Hello world" is less than that, "Goodbye" as well
    by_document = again(run, text)
    assert (by_document.options["reading"], by_document.case_runs.get().passed) == ("document", 10)
    client.force_login(people.alice)
    answer = client.post(reverse("agent-run-rescore", args=[run.key]), {"reading": "reference-compatible"})
    run_pending()
    as_code = AgentRun.objects.latest("pk")
    assert answer.url == as_code.get_absolute_url()
    assert (as_code.options["reading"], as_code.case_runs.get().passed) == ("reference-compatible", 0)
    assert presenters.compared(by_document, as_code)[1].changed == (0, 10)
    page = client.get(run.get_absolute_url()).content.decode()
    assert 'value="reference-compatible"' in page
    client.post(reverse("agent-run-rescore", args=[run.key]), {"reading": "aloud"})
    assert AgentRun.objects.latest("pk") == as_code


def test_a_difference_has_an_interval_and_p_is_corrected_for_all_cases():
    # 10/10 and 3/10: Wilson's limits 0.7225 to 1 and 0.1078 to 0.6032, squared and added by Newcombe's method 10.
    rows = [
        compare((10, 10), (3, 10)),
        None,
        compare((5, 10), (5, 10)),
        compare((10, 10), (3, 10), early_stop=True),
    ]
    first, nothing, same, early = corrected(rows)
    assert (first.interval.low, first.interval.high) == pytest.approx((-0.8922, -0.2889), abs=1e-4)
    assert first.p_holm == pytest.approx(2 * first.p)
    assert (nothing, same.p_holm) == (None, 1.0)
    assert (early.interval, early.p_holm) == (None, None)


def test_a_comparison_is_taken_home_under_the_names_of_its_sides(client, people, run):
    other = make_run(run.suite, make_server(people.alice, "second-server"))
    names = presenters.names_apart(run, other)
    assert names == (run.server.model.label, other.server.model.label)
    query = {"first": run.key, "second": other.key}
    head, row = (
        client.get(reverse("agent-compare-download", args=["cases.csv"]), query).content.decode().splitlines()
    )
    assert head.startswith(
        f"case,passed {names[0]},iterations {names[0]},errors {names[0]},passed {names[1]}"
    )
    assert row.startswith("flaky,")
    checks = client.get(reverse("agent-compare-download", args=["checks.csv"]), query).content.decode()
    assert checks.startswith("case,connection,interaction,check,element,")
    page = client.get(reverse("agent-compare"), query).content.decode()
    assert f": {names[0]} and {names[1]}</h1>" in page
    assert client.get(reverse("agent-compare-download", args=["else.csv"]), query).status_code == 404
