"""Simultaneous requests for the same run make one run. On PostgreSQL."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from gym.runs.models import SuiteRun
from gym.runs.work.bulk import queue_each
from models_registry.models import RegisteredModel
from suites.models import Suite
from tests.at_once import need_connections, together
from tests.factories import make_model, make_revision
from tests.people import make_people
from tests.runs.boards import finished_run

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 20


@pytest.fixture
def people(transactional_db):
    need_connections()
    return make_people()


@pytest.fixture
def asked(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    return revision.suite.slug, model.slug


def send_together(person, address, given, *, as_json=True):
    """Send the same POST from TIMES browsers of one person at once; return the responses."""
    answers = []

    def post(client):
        kind = {"content_type": "application/json"} if as_json else {}
        return lambda: answers.append(client.post(address, given, **kind))

    clients = [Client() for _ in range(TIMES)]
    for client in clients:
        client.force_login(person)
    assert not together(*map(post, clients))
    return answers


def test_equal_requests_make_one_run_and_all_are_told_of_it(people, asked):
    suite, model = asked
    answers = send_together(people.alice, "/api/v1/runs/", {"suite": suite, "model": model})
    run = SuiteRun.objects.get()
    assert sorted(answer.status_code for answer in answers) == [200] * (TIMES - 1) + [201]
    assert {answer.json()["id"] for answer in answers} == {run.key}


def test_equal_batches_make_one_run(people, asked):
    suite, model = asked
    answers = send_together(people.alice, "/api/v1/runs/batch/", {"suites": [suite], "models": [model]})
    run = SuiteRun.objects.get()
    cells = [answer.json()["cells"][0] for answer in answers]
    assert {cell["run"] for cell in cells} == {run.key}
    assert [cell["existing"] for cell in cells].count(False) == 1


def test_the_same_form_sent_from_many_tabs_makes_one_run(people, asked):
    suite, model = asked
    given = {
        "models": [model],
        "bos": "auto",
        "join": "space",
        "metric": "sum",
    }
    answers = send_together(people.alice, reverse("run-start", args=[suite, 1]), given, as_json=False)
    assert {answer.url for answer in answers} == {SuiteRun.objects.get().get_absolute_url()}


def test_the_same_deed_on_a_list_makes_one_run(people, asked):
    model = RegisteredModel.objects.get()
    assert not together(
        *[lambda: queue_each(Suite.objects.all(), [model], actor=people.alice) for _ in range(8)]
    )
    assert SuiteRun.objects.count() == 1


def test_what_a_table_lacks_is_queued_once(people, asked):
    other = make_revision(people.alice, name="other")
    finished_run(other, RegisteredModel.objects.get(), [1, 1, 1])
    answers = send_together(people.alice, reverse("leaderboard-run-missing"), {}, as_json=False)
    assert {answer.status_code for answer in answers} == {302}
    assert SuiteRun.objects.filter(completed_at=None).count() == 1
