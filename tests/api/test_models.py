"""Registered models through the API."""

from __future__ import annotations

import json

from gym.runs.work.services import queue_run
from tests.factories import make_model, make_revision


def slugs(page) -> list[str]:
    return [model["slug"] for model in page["results"]]


def test_a_model_says_what_it_is_and_how_it_is(get, people):
    make_model(
        people.alice,
        slug="m",
        status="broken",
        status_reason="There is no file.",
        corpus="none",
        parameters=7,
    )
    found = get("models/m/")
    assert {key: found[key] for key in ("slug", "name", "owner", "backend", "status", "status_reason")} == {
        "slug": "m",
        "name": "M",
        "owner": "alice",
        "backend": "uniform",
        "status": "broken",
        "status_reason": "There is no file.",
    }
    assert (found["parameters"], found["vocabulary_size"], found["corpus"]) == (7, None, "none")
    assert found["config"] is None
    assert get("models/m/", "alice")["config"] == {"vocabulary_size": 1024, "unit": "word"}


def send(client, method: str, slug: str, given=None):
    return client.generic(
        method, f"/api/v1/models/{slug}/", json.dumps(given) if given else "", content_type="application/json"
    )


def test_a_mistyped_model_is_corrected_and_deleted(client, people):
    given = {"slug": "m", "name": "M", "backend": "uniform", "config": {"vocabulary_size": 8, "unit": "word"}}
    client.force_login(people.alice)
    made = client.post("/api/v1/models/", given, content_type="application/json")
    assert (made.status_code, made.json()["visibility"]) == (201, "private")
    right = {"vocabulary_size": 16, "unit": "word"}
    answer = send(client, "PATCH", "m", {"config": right, "name": "Sixteen"})
    assert answer.status_code == 200, answer.content
    assert (answer.json()["config"], answer.json()["name"]) == (right, "Sixteen")
    answer = send(client, "PATCH", "m", {"backend": "causal", "config": {"source": "hub", "repo": "a/b"}})
    assert (answer.json()["backend"], answer.json()["status"]) == ("causal", "unapproved")
    assert send(client, "DELETE", "m").status_code == 204
    assert send(client, "GET", "m").status_code == 404


def test_a_correction_that_does_not_fit_names_the_place(client, people):
    make_model(people.alice, slug="m")
    client.force_login(people.alice)
    answer = send(client, "PATCH", "m", {"config": {"vocabulary_size": 1, "unit": "word"}})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["where"] == "$.config.vocabulary_size"
    assert send(client, "PATCH", "m", {"backend": "causal"}).json()["errors"][0]["where"] == "$.config"


def test_results_keep_a_model_as_it_is(client, people):
    model = make_model(people.alice, slug="m")
    queue_run(make_revision(people.alice), model, actor=people.alice)
    client.force_login(people.alice)
    wrong = {"config": {"vocabulary_size": 16, "unit": "word"}, "name": "Sixteen"}
    for answer in (send(client, "PATCH", "m", wrong), send(client, "DELETE", "m")):
        assert (answer.status_code, answer.json()["code"]) == (409, "in-use")
        assert "M is used in 1 suite run." in answer.json()["detail"]
    model.refresh_from_db()
    assert (model.name, model.config["vocabulary_size"]) == ("M", 1024)


def test_collaborators_change_the_card_only(client, people):
    model = make_model(people.alice, slug="m")
    model.collaborations.create(user=people.bob, role="edit")
    client.force_login(people.bob)
    assert send(client, "PATCH", "m", {"licence": "MIT"}).status_code == 200
    assert send(client, "PATCH", "m", {"config": {"vocabulary_size": 16, "unit": "word"}}).status_code == 403
    assert send(client, "DELETE", "m").status_code == 403


def test_the_owner_changes_the_start_token(people, send):
    tried = {"token": "</s>", "candidates": [{"token": "<s>"}, {"token": "</s>"}, {"token": None}]}
    facts = {"bos": "</s>", "probe": {"start_tokens": tried}}
    make_model(people.alice, slug="chat", backend="causal", config={}, facts=facts)
    changed = send("patch", "models/chat/", {"start_token": "<s>"})
    assert (changed.status_code, changed.json()["facts"]["bos"]) == (200, "<s>")
    assert send("patch", "models/chat/", {"start_token": ""}).json()["facts"]["bos"] is None
    refused = send("patch", "models/chat/", {"start_token": "<nowhere>"})
    [trouble] = refused.json()["errors"]
    assert (refused.status_code, trouble["where"]) == (400, "$.start_token")
    assert "Choose a token that the check tried: <s>, </s>, no start token." in trouble["message"]
    assert send("patch", "models/chat/", {"start_token": "<s>"}, who="charlie").status_code == 403
