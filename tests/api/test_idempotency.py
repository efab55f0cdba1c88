"""Idempotency-Key: a repeated POST has no second effect."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from gym.api.models import SentRequest
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from suites.models import Suite
from tests.api.worlds import make_world
from tests.lmgym.suites.documents import suite_bytes
from tests.once import once_a_module

built, people, world = once_a_module(make_world)

ASKED = {"suite": "public-suite", "model": "open-model", "again": True}


def ask(send, body=ASKED, key="k", who="alice"):
    return send("post", "runs/", body, who, **{"Idempotency-Key": key})


def test_the_same_request_gets_the_same_answer(send, world):
    before = SuiteRun.objects.count()
    first, again = ask(send), ask(send)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again["Location"] == first["Location"]
    assert (first.get("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (None, "true")
    assert SuiteRun.objects.count() == before + 1


def test_another_request_with_the_key_is_a_422(send, world):
    ask(send)
    for body, address in ((ASKED | {"revision": 1}, "runs/"), (ASKED, "formulas/explain/")):
        response = send("post", address, body, "alice", **{"Idempotency-Key": "k"})
        assert (response.status_code, response.json()["code"]) == (422, "key-reused")


def test_everybody_has_keys_of_their_own(send, world):
    assert ask(send).json()["id"] != ask(send, who="bob").json()["id"]


def test_while_it_is_being_answered_it_is_a_409(send, world):
    ask(send)
    SentRequest.objects.update(status=None)
    response = ask(send)
    assert (response.status_code, response["Retry-After"]) == (409, "1")


def test_a_request_that_was_cut_off_may_be_sent_again_after_two_minutes(send, world):
    first = ask(send).json()["id"]
    SentRequest.objects.update(status=None, created=timezone.now() - timedelta(minutes=3))
    assert ask(send).json()["id"] != first


def test_a_key_is_forgotten_after_a_day(send, world):
    first = ask(send).json()["id"]
    SentRequest.objects.update(created=timezone.now() - timedelta(hours=25))
    assert ask(send).json()["id"] != first


def test_what_was_refused_is_not_kept(send, world):
    assert ask(send, {"suite": "public-suite", "model": "nothing"}).status_code == 400
    assert not SentRequest.objects.exists()
    assert ask(send).status_code == 201


def test_a_failure_in_the_middle_leaves_nothing(send, world, monkeypatch):
    def half(*args, **kwargs):
        queue_run(*args, **kwargs)
        raise RuntimeError("broken")

    before = SuiteRun.objects.count()
    monkeypatch.setattr("gym.runs.work.services.queue_run", half)
    with pytest.raises(RuntimeError):
        ask(send)
    assert (SuiteRun.objects.count(), SentRequest.objects.count()) == (before, 0)


@pytest.mark.parametrize("key", ["", "two words", "x" * 201, "ü"])
def test_a_key_that_is_none_is_a_400(send, world, key):
    response = ask(send, key=key)
    assert response.status_code == 400
    assert response.json()["errors"][0]["where"] == "Idempotency-Key"


def test_forms_are_compared_by_what_is_in_them(client, people):
    client.force_login(people.alice)

    def post(name: str):
        file = SimpleUploadedFile("suite.json", suite_bytes(name=name, items=5))
        return client.post(
            "/api/v1/suites/", {"file": file, "visibility": "public"}, headers={"Idempotency-Key": "k"}
        )

    before = Suite.objects.count()
    assert post("one").json()["slug"] == post("one").json()["slug"] == "one"
    assert Suite.objects.count() == before + 1
    assert post("two").status_code == 422
