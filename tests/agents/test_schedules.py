"""Scheduled runs, and notifications when a pass rate falls significantly or a verdict is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from gym.agents import actors, schedules, services
from gym.agents.models import AgentCase, AgentRun, AgentSchedule, CaseRun
from gym.jobs.models import Job
from gym.jobs.reaper import reap
from gym.jobs.testing import run_pending
from gym.notices.models import Notice
from lmgym.agents import demo_server
from lmgym.agents.regression_test import (
    ALPHA,
    Limit,
    Regression,
    Stratum,
    compare_with_baseline,
    limits,
    min_iterations,
)
from tests.agents.site import GOOD, make_case, make_server, make_suite
from tests.page_text import text_of

MANY = GOOD.replace("agent: echo", 'agent: echo\nsuccess_ratio: "8/8"')

# --- the test ---


def test_one_case_is_fishers_exact_test_one_sided():
    from scipy.stats import fisher_exact

    found = compare_with_baseline([Stratum((9, 10), (4, 10))])
    assert found.p == pytest.approx(fisher_exact([[4, 6], [9, 1]], alternative="less").pvalue)
    assert (found.before, found.now, found.cases) == (0.9, 0.4, 1)


def test_cases_of_different_difficulty_are_not_pooled_into_one_table():
    """An easy case now has more iterations and a hard one fewer: pooling would show a change where there is
    none."""
    strata = [Stratum((50, 50), (5, 5)), Stratum((0, 5), (0, 50))]
    assert compare_with_baseline(strata).p == 1.0
    assert compare_with_baseline([Stratum((50, 55), (5, 55))]).p < 1e-10


def test_several_cases_add_up_and_cases_without_a_verdict_are_left_out():
    """With several cases p is doubled, because single cases are tested as well."""
    one = [Stratum((3, 3), (0, 3))]
    assert compare_with_baseline(one).p == pytest.approx(1 / 20)
    assert compare_with_baseline(one * 3).p == pytest.approx(2 / 20**3)
    found = compare_with_baseline([*one, Stratum((0, 0), (0, 3), "new"), Stratum((3, 3), (0, 0), "gone")])
    assert (found.p, found.cases, found.lost) == (compare_with_baseline(one).p, 1, ("gone",))
    assert compare_with_baseline([]).p is None


DEAD = Stratum((50, 50), (0, 10), "dead")


@pytest.mark.parametrize(
    "others",
    [[Stratum((30, 50), (6, 10))] * 9, [Stratum((25, 50), (8, 10))] * 4],
    ids=["as before", "better"],
)
def test_a_dead_case_is_found_beside_flaky_ones(others):
    found = compare_with_baseline([*others, DEAD])
    assert not found.is_significant
    assert [(case.name, case.before, case.now) for case in found.regressed] == [("dead", (50, 50), (0, 10))]
    assert found.regressed[0].p < 1e-9


def test_single_cases_are_corrected_by_holm():
    """Alone, the case has p = 1/816; among ten cases, p is multiplied by 10, and by 2 for the pooled test."""
    one = Stratum((15, 15), (0, 3), "one")
    assert compare_with_baseline([one], alpha=0.01).regressed[0].p == pytest.approx(1 / 816)
    found = compare_with_baseline([one, *[Stratum((15, 15), (3, 3))] * 9], alpha=0.03)
    assert found.regressed[0].p == pytest.approx(2 * 10 / 816)


def test_a_stored_fall_is_read_again_also_one_without_cases():
    import json

    found = compare_with_baseline([DEAD, Stratum((3, 3), (0, 0), "gone")])
    again = Regression.from_dict(json.loads(json.dumps(found.as_dict())))
    assert (again.regressed_sentence, again.lost_sentence) == (found.regressed_sentence, found.lost_sentence)
    assert "dead (50/50 before, 0/10 now)" in again.regressed_sentence
    assert Regression.from_dict({"before": 1.0, "now": 0.5, "p": 0.1, "cases": 2}).regressed == ()


def test_limits_say_which_falls_can_be_found():
    assert limits([1] * 20) == [Limit(1, 20, max_passed=None, together=5)]
    assert limits([1] * 4) == [Limit(1, 4, max_passed=None, together=None)]
    assert limits([20] * 12) == [Limit(20, 12, max_passed=14, together=1)]
    assert min_iterations(1) == min_iterations(2) == 4
    assert min_iterations(20) == 5


@pytest.mark.parametrize(("n", "cases"), [(20, 12), (5, 20), (6, 3), (10, 1)])
def test_limits_are_those_of_the_test(n, cases):
    (limit,) = limits([n] * cases)
    rest = [Stratum((5 * n, 5 * n), (n, n))] * (cases - 1)
    assert compare_with_baseline([Stratum((5 * n, 5 * n), (limit.max_passed, n)), *rest]).regressed
    assert not compare_with_baseline([Stratum((5 * n, 5 * n), (limit.max_passed + 1, n)), *rest]).regressed


def test_as_many_cases_as_the_limit_says_have_to_fall_together():
    fell, stood = Stratum((5, 5), (0, 1)), Stratum((5, 5), (1, 1))
    assert compare_with_baseline([fell] * 5 + [stood] * 15).is_significant
    assert not compare_with_baseline([fell] * 4 + [stood] * 16).is_significant


def test_a_rise_is_no_fall():
    assert compare_with_baseline([Stratum((1, 10), (9, 10))]).p == pytest.approx(1.0, abs=1e-3)


def test_false_alarms_are_no_more_frequent_than_stated():
    import numpy as np

    rng = np.random.default_rng(1)
    found = [
        compare_with_baseline(
            [
                Stratum((int(rng.binomial(15, rate)), 15), (int(rng.binomial(3, rate)), 3))
                for rate in (0.3, 0.6, 0.8, 0.95)
            ],
            alpha=0.05,
        )
        for _ in range(400)
    ]
    alarms = sum(bool(one.p < 0.05 or one.regressed) for one in found)
    assert alarms <= 400 * 0.05 + 3 * (400 * 0.05 * 0.95) ** 0.5


def test_very_many_iterations_use_the_normal_approximation():
    few, many = (
        compare_with_baseline([Stratum((4500, 5000), (4400, 5000))]),
        compare_with_baseline([Stratum((9000, 10_001), (8860, 10_001))]),
    )
    assert 0 < few.p < 0.05
    assert 0 < many.p < 0.05


# --- on the site ---

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(people):
    return make_server(people.alice)


@pytest.fixture
def suite(people):
    return make_suite(people.alice, cases=dict.fromkeys(("a", "b"), MANY))


def due(schedule: AgentSchedule) -> None:
    AgentSchedule.objects.filter(pk=schedule.pk).update(next_at=timezone.now() - timedelta(minutes=1))


def passes(suite) -> AgentRun:
    """Reap, run pending jobs and reap again, as a worker does. Return the suite's newest run, if any."""
    reap()
    run_pending()
    reap()
    return AgentRun.objects.filter(suite=suite).order_by("-created").first()


def test_a_run_starts_when_it_is_due_and_not_before(people, suite, server):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night", iterations=2)
    assert passes(suite) is None
    due(schedule)
    run = passes(suite)
    assert (run.schedule, run.owner, run.iterations, run.is_done) == (schedule, people.alice, 2, True)
    schedule.refresh_from_db()
    assert timedelta() < schedule.next_at - timezone.now() <= timedelta(days=1)
    reap()
    assert AgentRun.objects.count() == 1


def test_nightly_runs_begin_at_night(people, suite, server):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    assert timezone.localtime(schedule.next_at).hour == schedules.NIGHT
    assert timezone.now() < schedule.next_at <= timezone.now() + timedelta(days=1)


def test_changed_cases_are_run_once_nobody_changes_them_any_more(people, suite, server):
    schedules.add_schedule(suite, server, actor=people.alice, every="change")
    assert passes(suite) is None
    case = make_case(suite, "a")
    case.text += "# changed\n"
    services.save_case(case, actor=people.alice)
    assert passes(suite) is None, "somebody may go on writing"
    AgentCase.objects.update(updated=timezone.now() - timedelta(minutes=3))
    assert passes(suite).is_done
    reap()
    assert AgentRun.objects.count() == 1
    services.delete_case(case, actor=people.alice)
    passes(suite)
    assert AgentRun.objects.count() == 2


def test_a_fall_beyond_chance_is_told_once_with_the_numbers(people, suite, server, client):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    for _ in range(2):
        due(schedule)
        good = passes(suite)
    assert good.regression["p"] == 1.0
    assert not Notice.objects.exists(), "nothing fell, and the end of a scheduled run is no news"
    due(schedule)
    reap()
    run_pending()
    bad = AgentRun.objects.order_by("-created").first()
    CaseRun.objects.filter(run=bad).update(passed=2)
    reap()
    reap()
    (notice,) = Notice.objects.all()
    assert (notice.user, notice.address) == (people.alice, bad.get_absolute_url())
    assert (
        "the pass rate fell significantly, from 1.00 to 0.25 "
        "(one-sided exact p < 0.001, 2 cases with unchanged text)"
    ) in notice.text
    bad.refresh_from_db()
    assert bad.regression["p"] < ALPHA
    assert "pass rate 1.00 before, 0.25 now; one-sided exact p &lt; 0.001, 2 cases" in text_of(
        client.get(bad.get_absolute_url())
    )
    assert client.get(f"/api/v1/agent-runs/{bad.key}/").json()["regression"]["cases"] == 2


def test_a_dead_case_and_a_lost_verdict_are_told_beside_flaky_cases(people, server, client):
    names = ["solid", "gone", *(f"flaky{number}" for number in range(9))]
    suite = make_suite(people.alice, cases=dict.fromkeys(names, MANY.replace("8/8", "20/20")))
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    for _ in range(2):
        due(schedule)
        reap()
        run_pending()
        run = AgentRun.objects.order_by("-created").first()
        CaseRun.objects.filter(run=run, name__startswith="flaky").update(passed=10, outcome="pass")
        if run.pk != AgentRun.objects.order_by("created").first().pk:
            CaseRun.objects.filter(run=run, name="solid").update(passed=0, outcome="fail")
            lost = {"passed": 0, "n": 0, "errors": 20, "outcome": "error"}
            CaseRun.objects.filter(run=run, name="gone").update(**lost)
        reap()
    text = Notice.objects.get().text
    assert (
        "Pass rates fell significantly in 1 case (one-sided exact p < 0.001, Holm-corrected): "
        "solid (20/20 before, 0/20 now)." in text
    )
    assert "1 case no longer has a verdict: gone." in text
    assert "the pass rate fell" not in text
    page = text_of(client.get(run.get_absolute_url()))
    assert "solid (20/20 before, 0/20 now)" in page
    assert "1 case no longer has a verdict: gone." in page
    found = client.get(f"/api/v1/agent-runs/{run.key}/").json()["regression"]
    assert found["lost"] == ["gone"]
    assert [(case["name"], case["now"]) for case in found["regressed"]] == [("solid", [0, 20])]


def test_a_case_that_a_stopped_run_did_not_come_to_has_lost_nothing(people, suite, server):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    due(schedule)
    passes(suite)
    due(schedule)
    reap()
    run_pending()
    run = AgentRun.objects.order_by("-created").first()
    CaseRun.objects.filter(run=run, name="b").update(passed=0, n=0, errors=0, outcome="")
    reap()
    run.refresh_from_db()
    assert (run.regression["cases"], run.regression["lost"]) == (1, [])
    assert not Notice.objects.exists()


def test_the_form_says_which_falls_cannot_be_reported(people, suite, client):
    address = f"/agents/{suite.slug}/schedules/limits/"
    client.force_login(people.alice)
    assert f'hx-get="{address}"' not in text_of(client.get(suite.get_absolute_url())), "nothing to run on"
    make_server(people.alice)
    assert f'hx-get="{address}"' in text_of(client.get(suite.get_absolute_url()))
    as_cases_say = text_of(client.get(address))
    assert "3 or fewer pass" in as_cases_say
    once = text_of(client.get(address, {"schedule-iterations": "1"}))
    assert "never: too few iterations" in once
    assert "if it has at least 4 iterations" in once
    assert "less than or equal to 1000" in text_of(client.get(address, {"schedule-iterations": "9999"}))
    client.force_login(people.charlie)
    suite.visibility = "private"
    suite.save()
    assert client.get(address).status_code == 404


def test_cases_whose_text_changed_are_not_compared(people, suite, server):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    due(schedule)
    passes(suite)
    AgentCase.objects.filter(name="a").update(text=MANY.replace("keywords: hello", "keywords: nowhere"))
    due(schedule)
    assert passes(suite).regression["cases"] == 1
    assert not Notice.objects.exists()


def test_a_run_without_any_verdict_is_told(people, server):
    suite = make_suite(people.alice, cases={"a": GOOD.replace("agent: echo", "agent: broken")})
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    due(schedule)
    passes(suite)
    assert "ended without a verdict" in Notice.objects.get().text


def test_what_cannot_start_says_why_and_tries_again_later(people, suite, server):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    server.model.status = "broken"
    server.model.save()
    due(schedule)
    assert passes(suite) is None
    schedule.refresh_from_db()
    assert "is not ready" in schedule.trouble
    assert schedule.next_at > timezone.now()


def test_the_page_adds_shows_and_deletes(people, suite, server, client):
    client.force_login(people.alice)
    given = {"schedule-server": server.pk, "schedule-every": "night", "schedule-iterations": "20"}
    client.post(f"/agents/{suite.slug}/schedules/", given)
    schedule = AgentSchedule.objects.get()
    assert (schedule.every, schedule.iterations, schedule.owner) == ("night", 20, people.alice)
    page = text_of(client.get(suite.get_absolute_url()))
    assert "every night" in page
    client.force_login(people.charlie)
    assert client.post(f"/agents/{suite.slug}/schedules/{schedule.pk}/delete/").status_code == 404
    client.force_login(people.alice)
    client.post(f"/agents/{suite.slug}/schedules/{schedule.pk}/delete/")
    assert not AgentSchedule.objects.exists()


def test_only_who_may_run_may_schedule(people, server):
    suite = make_suite(people.alice, visibility="private")
    with pytest.raises(PermissionDenied):
        schedules.add_schedule(suite, server, actor=people.charlie, every="night")
    with pytest.raises(ValidationError):
        schedules.add_schedule(suite, server, actor=people.alice, every="minute")


# --- when the version changes ---


@pytest.fixture
def deploy(monkeypatch):
    """`deploy(version)` makes the embedded server report another version."""
    return lambda version: monkeypatch.setattr(demo_server, "VERSION", version)


@pytest.fixture
def waits_for_a_version(people, suite, server, deploy) -> AgentSchedule:
    deploy("1.1")
    return schedules.add_schedule(suite, server, actor=people.alice, every="version")


def test_the_first_version_is_run_and_then_every_other_one(suite, waits_for_a_version, deploy):
    assert passes(suite) is None, "not before its time"
    due(waits_for_a_version)
    assert passes(suite).versions == ["lm-gym-embedded 1.1"]
    due(waits_for_a_version)
    passes(suite)
    assert AgentRun.objects.count() == 1, "the same version"
    deploy("1.2")
    passes(suite)
    assert AgentRun.objects.count() == 1, "it is asked once in ten minutes"
    due(waits_for_a_version)
    assert passes(suite).versions == ["lm-gym-embedded 1.2"]
    waits_for_a_version.refresh_from_db()
    left = waits_for_a_version.next_at - timezone.now()
    assert timedelta(minutes=8) < left <= schedules.VERSION_PERIOD
    assert Job.objects.filter(kind="agent_version").count() == 1, "earlier questions are not kept"


@pytest.mark.parametrize("told", [None, ""])
def test_a_server_that_tells_no_version_starts_nothing_and_the_page_says_so(
    people, suite, waits_for_a_version, client, monkeypatch, told
):
    with monkeypatch.context() as silent:
        silent.setattr(actors, "fetch_version", lambda transport: told)
        due(waits_for_a_version)
        assert passes(suite) is None
    client.force_login(people.alice)
    assert schedules.NO_VERSION in text_of(client.get(suite.get_absolute_url()))
    due(waits_for_a_version)
    assert passes(suite).is_done
    waits_for_a_version.refresh_from_db()
    assert waits_for_a_version.trouble == ""


def test_a_server_is_asked_once_for_all_schedules_and_nobody_s_page_lists_it(people, suite, server, deploy):
    other = make_suite(people.alice, "other")
    for one in (suite, other, other):
        due(schedules.add_schedule(one, server, actor=people.alice, every="version"))
    reap()
    due(AgentSchedule.objects.filter(suite=other).first())
    reap()
    assert [job.owner for job in Job.objects.filter(kind="agent_version")] == [None]
    run_pending()
    assert AgentRun.objects.count() == 3


def test_a_version_whose_run_could_not_start_is_tried_again(people, suite, server, waits_for_a_version):
    server.model.status = "broken"
    server.model.save()
    due(waits_for_a_version)
    assert passes(suite) is None
    server.model.status = "ready"
    server.model.save()
    due(waits_for_a_version)
    assert passes(suite).is_done


def test_a_server_that_has_no_version_is_refused(people, suite, server):
    server.kind = "chat"
    with pytest.raises(ValidationError, match="reports no version"):
        schedules.add_schedule(suite, server, actor=people.alice, every="version")
