"""POST /api/v1/runs/: queue a model on a suite."""

from __future__ import annotations

import pytest
from django.test import Client

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from lmgym.models.engine import ScoringPolicy
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.api.worlds import make_world
from tests.factories import make_model, make_suite
from tests.lmgym.suites.documents import suite_bytes
from tests.once import once_a_module

built, people, world = once_a_module(make_world)

RUNS = "/api/v1/runs/"
ASKED = {"suite": "public-suite", "model": "open-model", "again": True}


@pytest.fixture
def post(client, people):
    def send(given: object, who: str = "charlie"):
        client.logout()
        if who:
            client.force_login(getattr(people, who))
        return client.post(RUNS, given, content_type="application/json")

    return send


@pytest.fixture
def counted(world):
    """Number of runs before the test."""
    return SuiteRun.objects.count()


def test_a_run_is_queued_with_the_suites_own_policy(post, people, world):
    response = post(ASKED)
    assert response.status_code == 201
    run = SuiteRun.objects.get(key=response.json()["id"])
    assert (run.owner, run.revision, run.model) == (
        people.charlie,
        world.revisions["public"],
        world.open_model,
    )
    assert (response.json()["state"], response.json()["policy"]["join"]) == ("queued", "space")
    run_pending()
    run.refresh_from_db()
    assert run.state == "done"


def test_the_policy_is_changed_field_by_field(post, world):
    response = post(ASKED | {"policy": {"metric": "max", "eos": True}})
    changed = {"metric": "max", "eos": True}
    assert response.json()["policy"] == ScoringPolicy().to_dict() | changed


def test_a_revision_is_named_by_its_number(post, people, world):
    suite = world.revisions["public"].suite
    suites.replace_draft(suite, read_suite(suite_bytes(items=4)), actor=people.alice)
    suites.freeze(suite, actor=people.alice)
    assert post(ASKED).json()["revision"] == 2
    assert post(ASKED | {"revision": 1}).json()["revision"] == 1


@pytest.mark.parametrize(
    ("given", "field", "says"),
    [
        ({"model": "open-model"}, "$.suite", "required"),
        ({"suite": "public-suite"}, "$.model", "required"),
        (ASKED | {"suite": "two words"}, "$.suite", "valid"),
        (ASKED | {"suite": None}, "$.suite", "null"),
        (ASKED | {"model": ["open-model"]}, "$.model", "a string"),
        (ASKED | {"modell": "x"}, "$.modell", "Did you mean “model”?"),
        (ASKED | {"revision": "1"}, "$.revision", "whole number"),
        (ASKED | {"revision": True}, "$.revision", "whole number"),
        (ASKED | {"revision": -1}, "$.revision", "greater than or equal to 1"),
        (ASKED | {"revision": 10**30}, "$", "too large"),
        (ASKED | {"policy": "sum"}, "$.policy", "dictionary"),
        (ASKED | {"policy": {"metric": "mode"}}, "$.policy.metric", "not a valid choice"),
        (ASKED | {"policy": {"bos": 1}}, "$.policy.bos", "a string"),
        (ASKED | {"policy": {"bos": "no"}}, "$.policy.bos", "choose one of auto, always, never, or a token"),
        (ASKED | {"policy": {"bos": "a" * 101}}, "$.policy.bos", "which is not a token"),
        (ASKED | {"policy": {"eos": "yes"}}, "$.policy.eos", "true or false"),
        (ASKED | {"policy": {"join": ["space"]}}, "$.policy.join", "a string"),
        (ASKED | {"policy": {"temperature": 1}}, "$.policy.temperature", "There is no field"),
        ([], "$", "Invalid data"),
        ("{", "$", "JSON parse error"),
    ],
)
def test_a_bad_field_is_a_400_that_names_it(post, counted, given, field, says):
    response = post(given)
    assert response.status_code == 400
    [trouble] = response.json()["errors"]
    assert trouble["where"] == field
    assert says in trouble["message"]
    assert SuiteRun.objects.count() == counted


def test_a_draft_is_a_400_at_its_field(post, people, counted):
    make_suite(people.alice, name="raw", frozen=False)
    [without] = post(ASKED | {"suite": "raw"}).json()["errors"]
    assert (without["where"], "no frozen revision" in without["message"]) == ("$.suite", True)
    [draft] = post(ASKED | {"suite": "raw", "revision": 1}).json()["errors"]
    assert (draft["where"], draft["hint"]) == ("$.revision", "Freeze it first.")
    assert SuiteRun.objects.count() == counted


def test_a_model_that_is_not_ready_is_a_400_with_its_reason(post, people, counted):
    make_model(people.alice, slug="bad", status="broken", status_reason="There is no file")
    response = post(ASKED | {"model": "bad"})
    assert response.status_code == 400
    [trouble] = response.json()["errors"]
    assert trouble["where"] == "$.model"
    assert "There is no file" in trouble["message"]
    assert SuiteRun.objects.count() == counted


def test_nobody_starts_runs_without_an_account(post, counted):
    assert post(ASKED, who="").status_code == 401
    assert SuiteRun.objects.count() == counted


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("suite", "private-suite"),
        ("model", "secret-model"),
        ("suite", "no-such-suite"),
        ("model", "no-such-model"),
        ("revision", 7),
        ("revision", 2**31 - 1),
    ],
)
def test_what_is_invisible_is_as_if_it_were_not_there(post, counted, field, given):
    answer = post(ASKED | {field: given})
    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["where"] == f"$.{field}"
    assert error["message"] == f"There is no {field} “{given}”, or you may not see it."
    assert SuiteRun.objects.count() == counted


def test_a_collaborator_runs_on_a_private_suite(post, world):
    assert post(ASKED | {"suite": "private-suite"}, who="bob").status_code == 201


def test_too_many_active_jobs_is_a_429(post, world, settings):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    assert post(ASKED).status_code == 201
    assert post(ASKED).status_code == 429
    assert (
        SuiteRun.objects.filter(completed_at=None).count() == Job.objects.filter(state="queued").count() == 1
    )
    assert post(ASKED, who="bob").status_code == 201


def test_a_form_of_another_site_starts_nothing(people, counted):
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.charlie)
    assert client.post(RUNS, ASKED, content_type="application/json").status_code == 403
    assert client.post(RUNS, ASKED).status_code in (403, 415)
    assert SuiteRun.objects.count() == counted


def test_a_body_that_is_nested_too_deep_is_a_400(client, people):
    client.force_login(people.alice)
    answer = client.post(RUNS, data="[" * 100_000, content_type="application/json")
    assert answer.status_code == 400
    deep = '{"suite": "a", "model": "b", "policy": ' + '{"x":' * 3000 + "1" + "}" * 3001
    assert client.post(RUNS, data=deep, content_type="application/json").status_code == 400


def test_the_same_run_is_answered_as_what_is_there_unless_a_new_one_is_wanted(post, world):
    same = {"suite": "public-suite", "model": "open-model", "policy": {"eos": True}}
    first = post(same)
    waiting = post(same, who="bob")
    assert (first.status_code, waiting.status_code, waiting["Location"]) == (201, 200, first["Location"])
    run_pending()
    there = post(same)
    assert (there.status_code, there.json()["id"], there.json()["state"]) == (200, first.json()["id"], "done")
    assert post(same | {"policy": {"metric": "max"}}).status_code == 201
    again = post(same | {"again": True})
    assert (again.status_code, again.json()["state"]) == (201, "queued")
    assert again.json()["id"] != first.json()["id"]


@pytest.mark.parametrize(
    ("address", "names"),
    [("runs/", {"suite": "before", "model": "m"}), ("runs/batch/", {"suites": ["before"], "models": ["m"]})],
)
@pytest.mark.parametrize("is_public", [True, False])
def test_a_suite_that_was_renamed_is_named_only_if_it_is_public(send, people, address, names, is_public):
    suite = make_suite(people.alice, name="before")
    make_model(people.alice, slug="m")
    suite.slug = "after"
    suite.save()
    if not is_public:
        suites.set_visibility(suite, "unlisted", actor=people.alice)
    answer = send("post", address, names, who="charlie").content.decode()
    assert ("It is now called “after”." in answer) == is_public
    assert suite.slug not in answer or is_public
