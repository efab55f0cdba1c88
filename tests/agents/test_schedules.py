"""Scheduled runs, and notifications when a pass rate falls significantly or a verdict is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from gym.agents import actors, schedules, services
from gym.agents.models import AgentCase, AgentRun, AgentSchedule, AgentServer, AgentSuite, CaseRun
from gym.jobs.models import Job
from gym.jobs.reaper import reap
from gym.jobs.testing import run_pending
from gym.notices.models import Notice
from lmgym.agents import demo_server
from lmgym.agents.regression_test import ALPHA
from tests.agents.site import GOOD, make_case, make_server, make_suite
from tests.once import once_a_module
from tests.page_text import text_of

pytestmark = pytest.mark.django_db


built, people, world = once_a_module(
    lambda people: (make_suite(people.alice, cases={"a": GOOD, "b": GOOD}), make_server(people.alice))
)


@pytest.fixture
def suite(world) -> AgentSuite:
    return world[0]


@pytest.fixture
def server(world) -> AgentServer:
    return world[1]


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


def test_changed_cases_run_once_after_editing_has_stopped(people, suite, server):
    schedules.add_schedule(suite, server, actor=people.alice, every="change")
    assert passes(suite) is None
    case = make_case(suite, "a")
    case.text += "# changed\n"
    services.save_case(case, actor=people.alice)
    assert passes(suite) is None, "editing may continue"
    AgentCase.objects.update(updated=timezone.now() - timedelta(minutes=3))
    assert passes(suite).is_done
    reap()
    assert AgentRun.objects.count() == 1
    services.delete_case(case, actor=people.alice)
    passes(suite)
    assert AgentRun.objects.count() == 2


def test_a_significant_fall_is_notified_once_with_the_numbers(people, suite, server, client):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night", iterations=8)
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


def test_a_dead_case_and_a_lost_verdict_are_notified_while_others_improve(people, server, client):
    suite = make_suite(people.alice, "four", cases=dict.fromkeys(("solid", "gone", "up1", "up2"), GOOD))
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night", iterations=8)
    for fallen in (False, True):
        due(schedule)
        reap()
        run_pending()
        run = AgentRun.objects.order_by("-created").first()
        if fallen:
            CaseRun.objects.filter(run=run, name="solid").update(passed=0, outcome="fail")
            lost = {"passed": 0, "n": 0, "errors": 8, "outcome": "error"}
            CaseRun.objects.filter(run=run, name="gone").update(**lost)
        else:
            CaseRun.objects.filter(run=run, name__startswith="up").update(passed=4)
        reap()
    text = Notice.objects.get().text
    assert (
        "Pass rates fell significantly in 1 case (one-sided exact p < 0.001, Holm-corrected): "
        "solid (8/8 before, 0/8 now)." in text
    )
    assert "1 case no longer has a verdict: gone." in text
    assert "the pass rate fell" not in text
    page = text_of(client.get(run.get_absolute_url()))
    assert "solid (8/8 before, 0/8 now)" in page
    assert "1 case no longer has a verdict: gone." in page
    found = client.get(f"/api/v1/agent-runs/{run.key}/").json()["regression"]
    assert found["lost"] == ["gone"]
    assert [(case["name"], case["now"]) for case in found["regressed"]] == [("solid", [0, 8])]


def test_a_case_that_a_stopped_run_did_not_reach_has_not_lost_its_verdict(people, suite, server):
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


def test_the_form_shows_which_falls_cannot_be_reported(people, server, client):
    eight = GOOD.replace("agent: echo", 'agent: echo\nsuccess_ratio: "8/8"')
    suite = make_suite(people.alice, "eight", cases={"a": eight, "b": eight})
    address = f"/agents/{suite.slug}/schedules/limits/"
    client.force_login(people.alice)
    server.model.delete()
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
    AgentCase.objects.filter(name="a").update(text=GOOD.replace("keywords: hello", "keywords: nowhere"))
    due(schedule)
    assert passes(suite).regression["cases"] == 1
    assert not Notice.objects.exists()


def test_a_run_without_any_verdict_is_notified(people, server):
    suite = make_suite(people.alice, "broken", cases={"a": GOOD.replace("agent: echo", "agent: broken")})
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    due(schedule)
    passes(suite)
    assert "ended without a verdict" in Notice.objects.get().text


def test_a_run_that_cannot_start_shows_the_reason_and_is_retried_later(people, suite, server):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    server.model.status = "broken"
    server.model.save()
    due(schedule)
    assert passes(suite) is None
    schedule.refresh_from_db()
    assert "is not ready" in schedule.trouble
    assert schedule.next_at > timezone.now()


def test_the_page_adds_shows_and_deletes_a_schedule(people, suite, server, client):
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


def test_only_those_who_may_run_a_suite_may_schedule_it(people, server):
    suite = make_suite(people.alice, "closed", visibility="private")
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


def test_the_first_version_runs_and_then_each_new_one(suite, waits_for_a_version, deploy):
    assert passes(suite) is None, "not before its time"
    due(waits_for_a_version)
    assert passes(suite).versions == ["lm-gym-embedded 1.1"]
    due(waits_for_a_version)
    passes(suite)
    assert AgentRun.objects.count() == 1, "the same version"
    deploy("1.2")
    passes(suite)
    assert AgentRun.objects.count() == 1, "the server is asked at most once in ten minutes"
    due(waits_for_a_version)
    assert passes(suite).versions == ["lm-gym-embedded 1.2"]
    waits_for_a_version.refresh_from_db()
    left = waits_for_a_version.next_at - timezone.now()
    assert timedelta(minutes=8) < left <= schedules.VERSION_PERIOD
    assert Job.objects.filter(kind="agent_version").count() == 1, "earlier questions are not kept"


@pytest.mark.parametrize("version", [None, ""])
def test_a_server_that_reports_no_version_starts_nothing_and_the_page_shows_it(
    people, suite, waits_for_a_version, client, monkeypatch, version
):
    with monkeypatch.context() as silent:
        silent.setattr(actors, "fetch_version", lambda transport: version)
        due(waits_for_a_version)
        assert passes(suite) is None
    client.force_login(people.alice)
    assert schedules.NO_VERSION in text_of(client.get(suite.get_absolute_url()))
    due(waits_for_a_version)
    assert passes(suite).is_done
    waits_for_a_version.refresh_from_db()
    assert waits_for_a_version.trouble == ""


def test_a_server_is_asked_once_for_all_its_schedules_by_a_job_without_owner(people, suite, server, deploy):
    other = make_suite(people.alice, "other")
    for one in (suite, other, other):
        due(schedules.add_schedule(one, server, actor=people.alice, every="version"))
    reap()
    due(AgentSchedule.objects.filter(suite=other).first())
    reap()
    assert [job.owner for job in Job.objects.filter(kind="agent_version")] == [None]
    run_pending()
    assert AgentRun.objects.count() == 3


def test_a_version_whose_run_could_not_start_is_retried(people, suite, server, waits_for_a_version):
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
