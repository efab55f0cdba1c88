"""POST score/: surprisals of sentences."""

from __future__ import annotations

import pytest

from gym.accounts import daily_sentences
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import ScoreCache, ScoreRequest
from gym.runs.work import score_requests
from tests.factories import make_model

SENT = {"model": "m", "sentences": ["The cat sleeps.", "No!"]}


@pytest.fixture
def model(people):
    return make_model(people.alice, slug="m")


@pytest.fixture
def at_once(monkeypatch):
    """Let requests not wait for their job; tests run the worker themselves."""
    monkeypatch.setattr(score_requests, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(score_requests.wait_for, "__defaults__", (0.0,))


@pytest.fixture
def worker_beside(monkeypatch):
    """A worker that finishes while the request waits."""

    def wait(request, seconds=0.0):
        run_pending("preview")
        return ScoreRequest.objects.select_related("model", "job").get(pk=request.pk)

    monkeypatch.setattr(score_requests, "wait_for", wait)


def test_what_is_done_soon_is_answered_at_once(send, model, worker_beside):
    response = send("post", "score/", SENT)
    found = response.json()
    assert (response.status_code, found["state"], found["policy"]) == (
        200,
        "done",
        {"bos": "auto", "eos": False, "whitespace": "none"},
    )
    assert [row["text"] for row in found["sentences"]] == SENT["sentences"]
    first = found["sentences"][0]
    assert (first["surprisal"], first["failure"]) == (40.0, "")
    assert [(token["token"], token["surprisal"], token["start"]) for token in first["tokens"]][:2] == [
        ("The", 10.0, 0),
        ("cat", 10.0, 4),
    ]
    assert send("get", f"score/{found['id']}/").json() == found


def test_what_takes_longer_is_a_202_with_a_place_to_ask(send, model, at_once):
    response = send("post", "score/", SENT)
    assert (response.status_code, response["Retry-After"]) == (202, "1")
    place = response["Location"].partition("/api/v1/")[2]
    assert send("get", place).status_code == 202
    run_pending("preview")
    done = send("get", place)
    assert (done.status_code, done.json()["sentences"][1]["surprisal"]) == (200, 20.0)


def test_sentences_go_into_the_cache_and_come_from_it(send, model, worker_beside):
    send("post", "score/", SENT)
    assert ScoreCache.objects.count() == 2
    send("post", "score/", SENT | {"sentences": ["No!", "Yes!"]})
    assert ScoreCache.objects.count() == 3


def test_a_model_that_fails_is_a_422_with_its_reason(send, model, at_once):
    model.config = {"vocabulary_size": "many"}
    model.save()
    place = send("post", "score/", SENT)["Location"].partition("/api/v1/")[2]
    run_pending("preview")
    response = send("get", place)
    assert (response.status_code, response.json()["code"]) == (422, "not-scored")
    assert "vocabulary_size" in response.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"sentences": []}, "$.sentences"),
        ({"sentences": ["x"] * 1001}, "$.sentences"),
        ({"sentences": ["x" * 10_001]}, "$.sentences[0]"),
        ({"sentences": ["x" * 9_000] * 30}, "$.sentences"),
        ({"sentences": [7]}, "$.sentences[0]"),
        ({"sentences": ["half \ud83d"]}, "$"),
        ({"policy": {"join": "none"}}, "$.policy.join"),
        ({"model": "broken"}, "$.model"),
    ],
)
def test_what_cannot_be_scored_is_a_400_that_says_where(send, people, model, changes, where):
    make_model(people.alice, slug="broken", status="broken", status_reason="No file")
    response = send("post", "score/", SENT | changes)
    assert response.status_code == 400
    assert response.json()["errors"][0]["where"].startswith(where)
    assert not Job.objects.exists()


def test_it_counts_for_the_daily_cap(send, people, model, at_once, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = 3
    assert send("post", "score/", SENT).status_code == 202
    assert daily_sentences.used_by(people.alice) == 2
    response = send("post", "score/", SENT)
    assert (response.status_code, response.json()["code"]) == (429, "limit-reached")
    assert 86_000 < int(response["Retry-After"]) <= 86_402
    never = send("post", "score/", SENT | {"sentences": ["x"] * 4}, who="bob")
    assert (never.status_code, never.get("Retry-After")) == (429, None)
    assert send("post", "score/", SENT, who="staff").status_code == 202


def test_somebody_elses_sentences_are_not_there(send, model, at_once):
    place = send("post", "score/", SENT)["Location"].partition("/api/v1/")[2]
    assert send("get", place, who="bob").status_code == 404
    assert send("get", place, who="").status_code == 401


def test_a_token_needs_the_scope_run(client, people, model, bearer, at_once):
    def post(*scopes):
        return client.post(
            "/api/v1/score/", SENT, content_type="application/json", headers=bearer("alice", *scopes)
        )

    assert (post("read", "write").status_code, post("run").status_code) == (403, 202)
