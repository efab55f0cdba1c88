"""Runs with different answers are compared by Fisher's exact test, scorings of the same answers in pairs."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from gym.agents import services
from gym.agents.comparing import compare_runs, distinct_names
from gym.agents.models import AgentCase, AgentRun
from gym.jobs.testing import run_pending
from lmgym.agents.run_comparison import Side, compare_rates
from lmgym.stats.comparison import corrected
from tests.agents.site import FLAKY, make_case, make_run, make_server, make_suite
from tests.once import once_a_module
from tests.page_text import text_of

ALWAYS = FLAKY.replace("2/4", "2/10")


built, people, run = once_a_module(
    lambda people: make_run(make_suite(people.alice, cases={"flaky": ALWAYS}), make_server(people.alice))
)


def again(run: AgentRun, text: str = ALWAYS, **more) -> AgentRun:
    case = make_case(run.suite, "flaky")
    case.text = text
    services.save_case(case, actor=run.suite.owner)
    made = services.queue_rescoring(run, actor=run.suite.owner, **more)
    run_pending()
    return AgentRun.objects.get(pk=made.pk)


def changed(comparison) -> tuple[int | None, int | None]:
    return comparison.only_first, comparison.only_second


def test_other_answers_are_independent_samples(run):
    other = make_run(run.suite, run.server)
    (pair,) = compare_runs(run, other).pairs
    assert pair.cases[0].comparison.test == pair.total.test == "fisher"
    assert (pair.total.n, pair.total.only_first) == (None, None)


def test_a_scoring_again_is_compared_iteration_by_iteration(client, run):
    second = again(run, ALWAYS.replace("keywords: world", 'keywords: ["world", "nowhere"]'))
    (pair,) = compare_runs(run, second).pairs
    total = pair.total
    assert (total.first_count, total.second_count) == ("5/10", "0/10")
    assert changed(total) == (5, 0)
    assert total.p == pytest.approx(2 / 2**5)
    assert pair.cases[0].comparison == total
    assert client.get(reverse("agent-compare"), {"a": run.key, "b": "nosuch"}).status_code == 404
    page = text_of(client.get(reverse("agent-compare"), {"a": run.key, "b": second.key}))
    assert "McNemar" in page
    assert "+0 −5" in page
    answer = client.get(reverse("api-agent-compare"), {"first": run.key, "second": second.key}).json()
    assert answer["comparisons"][0]["total"]["only_first"] == 5
    assert answer["comparisons"][0]["cases"][0]["test"] == "mcnemar"


def test_two_ticked_runs_are_compared_the_earlier_one_first(client, people, run):
    other = make_run(run.suite, run.server)
    page = text_of(client.get(reverse("agent-runs")))
    assert page.count('type="checkbox" name="run"') == 2
    ticked = {"ticked": "yes", "run": [other.key, run.key]}
    assert client.get(reverse("agent-compare"), ticked).url.endswith(f"?first={run.key}&second={other.key}")
    for too_few in ([], [run.key], [run.key, "nothing\0"]):
        answer = client.get(reverse("agent-compare"), {"ticked": "yes", "run": too_few}, follow=True)
        assert "Tick 2 to 5 finished runs of the same suite" in text_of(answer)
    client.force_login(people.alice)
    form = text_of(client.get(run.suite.get_absolute_url()))
    assert f"({run.server.model.slug}), by alice" in form  # agents are chosen by name, slug and owner


def test_two_scorings_of_the_same_answers_are_pairs_as_well(run):
    second = again(run)
    third = again(second)
    assert changed(compare_runs(second, third).pairs[0].total) == (0, 0)
    assert changed(compare_runs(third, run).pairs[0].total) == (0, 0)
    assert compare_runs(third, run).pairs[0].total.p == 1.0


def test_answers_are_scored_again_by_the_other_reading(client, people, run):
    text = ALWAYS.replace("keywords: world", "less: Hz")  # both answers are less than that
    by_document = again(run, text)
    assert (by_document.options["reading"], by_document.case_runs.get().passed) == ("document", 10)
    client.force_login(people.alice)
    answer = client.post(reverse("agent-run-rescore", args=[run.key]), {"reading": "reference-compatible"})
    run_pending()
    as_code = AgentRun.objects.latest("pk")
    assert answer.url == as_code.get_absolute_url()
    assert "stored answers</a> scored again" in text_of(client.get(answer.url))
    assert (as_code.options["reading"], as_code.case_runs.get().passed) == ("reference-compatible", 0)
    assert changed(compare_runs(by_document, as_code).pairs[0].total) == (10, 0)
    page = text_of(client.get(run.get_absolute_url()))
    assert 'value="reference-compatible"' in page
    client.post(reverse("agent-run-rescore", args=[run.key]), {"reading": "aloud"})
    assert AgentRun.objects.latest("pk") == as_code


def test_a_difference_has_an_interval_and_p_is_corrected_for_all_cases():
    # 10/10 and 3/10: Wilson's limits 0.7225 to 1 and 0.1078 to 0.6032, squared and added by Newcombe's method 10.
    high, low, half = Side("old", 10, 10), Side("new", 3, 10), Side("new", 5, 10)
    rows = [
        compare_rates(high, low),
        compare_rates(half, half),
        compare_rates(high, low, early_stop=True),
    ]
    first, same, early = corrected(rows)
    assert (first.low, first.high) == pytest.approx((-0.8922, -0.2889), abs=1e-4)
    assert first.p_corrected == pytest.approx(2 * first.p)
    assert same.p_corrected == 1.0
    assert (early.low, early.p_corrected) == (None, None)


def test_a_comparison_is_taken_home_under_the_names_of_its_runs(client, people, run):
    other = make_run(run.suite, make_server(people.alice, "second-server"))
    names = distinct_names([run, other])
    assert names == [run.server.model.label, other.server.model.label]
    query = {"first": run.key, "second": other.key}
    head, row = (
        client.get(reverse("agent-compare-download", args=["cases.csv"]), query).content.decode().splitlines()
    )
    assert head.startswith("case,same_text,first_outcome,second_outcome,first,second,measure,n,first_value,")
    assert row.startswith(f"flaky,True,pass,pass,{names[0]},{names[1]},rate,,")
    checks = client.get(reverse("agent-compare-download", args=["checks.csv"]), query).content.decode()
    assert checks.startswith("case,connection,interaction,where,element,first,second,")
    page = text_of(client.get(reverse("agent-compare"), query))
    assert f": {names[0]} and {names[1]}</h1>" in page
    assert client.get(reverse("agent-compare-download", args=["else.csv"]), query).status_code == 404


def test_several_runs_are_compared_with_the_first_and_p_is_corrected_for_all_of_them(client, run):
    never = again(run, ALWAYS.replace("keywords: world", "keywords: nowhere"))
    same = again(run)
    ticked = client.get(reverse("agent-compare"), {"ticked": "yes", "run": [same.key, run.key, never.key]})
    assert ticked.url.endswith(f"?first={run.key}&second={never.key}&second={same.key}")
    found = compare_runs(run, never, same, by_check=True)
    worse, equal = (pair.cases[0].comparison for pair in found.pairs)
    assert (changed(worse), worse.p_corrected) == ((5, 0), pytest.approx(2 * worse.p))
    assert (equal.difference, equal.p_corrected) == (0, 1.0)
    assert [pair.checks[0].comparison.p_corrected for pair in found.pairs] == [worse.p_corrected, 1.0]
    assert [pair.total.p_corrected for pair in found.pairs] == [worse.p_corrected, 1.0]
    page = text_of(client.get(ticked.url))
    for pair in found.pairs:
        assert f"{pair.name} − {found.name}</th>" in page
    answer = client.get(f"{reverse('api-agent-compare')}{ticked.url[ticked.url.index('?') :]}").json()
    assert [row["id"] for row in answer["comparisons"]] == [never.key, same.key]
    assert answer["comparisons"][0]["cases"][0]["p_corrected"] == worse.p_corrected
    table = client.get(f"{reverse('agent-compare-download', args=['cases.csv'])}?{ticked.url.split('?')[1]}")
    assert len(table.content.decode().splitlines()) == 3


def test_runs_of_one_minute_keep_their_names_and_are_told_apart(people, run):
    other = make_run(run.suite, make_server(people.alice, "other"))
    third, fourth = (make_run(run.suite, run.server) for _ in range(2))
    at = datetime(2026, 5, 4, 7, 5, 9, tzinfo=timezone.get_current_timezone())
    for place, one in enumerate((run, other, third, fourth)):
        one.created = at + timedelta(seconds=10 * min(place, 2))
    assert distinct_names([run, other, third]) == [
        "Embedded, 04 May, 07:05:09", "Other, 04 May, 07:05:19", "Embedded, 04 May, 07:05:29",
    ]  # fmt: skip
    assert distinct_names([run, third, fourth])[1:] == [
        "04 May, 07:05:29 (1)", "04 May, 07:05:29 (2)",
    ]  # fmt: skip


def test_the_transcripts_of_two_runs_stand_side_by_side(client, people, run):
    hers = make_server(people.alice, "hers", visibility="private")
    other, secret = make_run(run.suite, make_server(people.alice, "other")), make_run(run.suite, hers)
    first, second = run.case_runs.get(), other.case_runs.get()
    beside = f"{first.get_absolute_url()}?beside={second.pk}"
    page = text_of(client.get(reverse("agent-compare"), {"first": run.key, "second": other.key}))
    assert f'<a href="{beside}#transcripts">side by side</a>' in page
    (turn,) = client.get(beside).context["turns"]
    assert [(name, made.number) for name, made, *_ in turn.answers] == [
        ("Embedded", 1), ("Other", 1), ("Embedded", 2), ("Other", 2),
    ]  # fmt: skip
    for hidden in (secret.case_runs.get().pk, 999_999, "x", "9" * 40):
        assert client.get(f"{first.get_absolute_url()}?beside={hidden}").status_code == 404


def test_runs_of_two_suites_are_compared_with_a_note_and_under_both_names(client, people, run):
    other = make_run(make_suite(people.alice, "elsewhere", cases={"flaky": ALWAYS}), run.server)
    page = text_of(client.get(reverse("agent-compare"), {"first": run.key, "second": other.key}))
    assert "These runs are from different suites" in page
    assert "<h1>Manners, Elsewhere: " in page


def test_a_case_that_only_one_run_has_is_shown_without_a_difference(client, people, run):
    AgentCase.objects.create(suite=run.suite, name="new", text=ALWAYS, agent="echo")
    other = make_run(run.suite, run.server)
    found = compare_runs(run, other).by_case()
    assert [(row.name, row.first is None, row.rows[0].comparison.difference is None) for row in found] == [
        ("flaky", False, False),
        ("new", True, True),
    ]


def test_more_than_five_runs_or_fewer_than_two_are_refused_with_the_reason(client, run):
    for keys in ([run.key], ["a", "b", "c", "d", "e"]):
        query = {"first": run.key, "second": keys}
        page = client.get(reverse("agent-compare"), query, follow=True)
        assert "Tick 2 to 5 finished runs of the same suite to compare them." in text_of(page)
        answer = client.get(reverse("api-agent-compare"), query)
        assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "?second")
