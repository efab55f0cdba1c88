"""A schedule with secrets pauses when another user changes a case, until its owner resumes it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from gym.agents import pauses, schedules, services
from gym.agents.models import AgentCase, AgentRun, AgentSchedule
from gym.notices.models import Notice
from gym.sharing.models import Role
from tests.agents.site import GOOD, make_case, make_server, make_suite
from tests.once import once_a_module

pytestmark = pytest.mark.django_db
NAMES_IT = 'agent: echo\ninteractions: [{text: ${KEY}, response: {text: {keywords: "hus"}}}]'


built, people, server = once_a_module(lambda people: make_server(people.alice))


@pytest.fixture
def suite(people):
    made = make_suite(people.alice, variables={"KEY": "hush-hush"}, cases={"a": GOOD, "b": GOOD})
    made.collaborations.create(user=people.bob, role=Role.EDIT)
    return made


def start_all() -> int:
    """Make every schedule due, and return the number of runs that start."""
    AgentSchedule.objects.update(next_at=timezone.now() - timedelta(minutes=1))
    AgentCase.objects.update(updated=timezone.now() - timedelta(minutes=3))
    return schedules.start_due()


def edit(suite, actor, text=NAMES_IT):
    case = make_case(suite, "a")
    case.text = text
    services.save_case(case, actor=actor)


@pytest.mark.parametrize("every", ["night", "change"])
def test_a_case_of_somebody_else_is_not_run_with_the_owners_secrets(people, suite, server, every):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every=every)
    edit(suite, people.bob)
    assert start_all() == 0
    schedule.refresh_from_db()
    assert "bob changed a at " in schedule.trouble
    assert AgentRun.objects.count() == 0
    [notice] = Notice.objects.filter(user=people.alice)
    assert "is paused because bob changed a" in notice.text


def test_imported_and_new_cases_count_and_unchanged_ones_do_not(people, suite, server):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    services.import_cases(suite, {"a": GOOD}, actor=people.bob)
    schedule.refresh_from_db()
    assert not schedule.unseen
    services.import_cases(suite, {"a": NAMES_IT, "b": GOOD, "c": GOOD}, actor=people.bob)
    services.save_case(AgentCase(suite=suite, name="d", text=GOOD), actor=people.bob)
    schedule.refresh_from_db()
    assert [line.rpartition(" at ")[0] for line in schedule.unseen.splitlines()] == [
        "bob changed a, c",
        "bob changed d",
    ]


def test_its_owner_looks_and_resumes_it(people, suite, server, client):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="change")
    edit(suite, people.bob)
    assert start_all() == 0
    client.force_login(people.alice)
    page = client.get(suite.get_absolute_url()).content.decode()
    assert "Paused: bob changed a at" in page
    schedule.refresh_from_db()
    address = f"{suite.get_absolute_url()}schedules/{schedule.pk}/resume/"
    client.post(address, {"seen": schedule.unseen})
    assert start_all() == 1
    schedule.refresh_from_db()
    assert (schedule.unseen, schedule.trouble) == ("", "")
    assert not Notice.objects.filter(user=people.alice, text__contains="paused").exists()


def test_what_was_changed_after_the_look_keeps_it_paused(people, suite, server, client):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="change")
    edit(suite, people.bob)
    client.force_login(people.alice)
    schedule.refresh_from_db()
    services.import_cases(suite, {"late": NAMES_IT}, actor=people.bob)
    with pytest.raises(ValidationError, match="have changed again"):
        pauses.resume(schedule, actor=people.alice, seen=schedule.unseen)
    assert start_all() == 0
    schedule.refresh_from_db()
    pauses.resume(schedule, actor=people.alice, seen=schedule.unseen)
    assert start_all() == 1


def test_nobody_else_resumes_it(people, suite, server, client):
    schedule = schedules.add_schedule(suite, server, actor=people.alice, every="night")
    edit(suite, people.bob)
    schedule.refresh_from_db()
    for person in (people.bob, people.staff, people.charlie):
        with pytest.raises(PermissionDenied):
            pauses.resume(schedule, actor=person, seen=schedule.unseen)
    client.force_login(people.bob)
    assert client.post(f"{suite.get_absolute_url()}schedules/{schedule.pk}/resume/").status_code == 403


def test_ones_own_changes_pause_nothing(people, suite, server):
    schedules.add_schedule(suite, server, actor=people.alice, every="night")
    edit(suite, people.alice)
    assert start_all() == 1


def test_without_secrets_people_work_together_and_a_secret_that_comes_later_counts(people, suite, server):
    services.save_suite(suite, actor=people.alice, variables={"KEY": None})
    schedules.add_schedule(suite, server, actor=people.alice, every="night")
    edit(suite, people.bob)
    assert start_all() == 1
    services.save_suite(suite, actor=people.alice, variables={"KEY": "hush-hush"})
    AgentRun.objects.all().delete()
    assert start_all() == 0
