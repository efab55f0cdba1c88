"""Every error below /api/ is problem+json, including those raised outside our views."""

from __future__ import annotations

import logging

import pytest

from gym.api.errors import PROBLEM


def test_a_form_with_more_fields_than_are_read_is_a_problem(client, people):
    client.force_login(people.alice)
    form = {f"field{number}": "x" for number in range(1_100)}
    answer = client.post("/api/v1/uploads/", form)
    assert (answer.status_code, answer["Content-Type"]) == (400, PROBLEM)
    assert "number of GET/POST parameters" in answer.json()["detail"]


def test_an_unexpected_error_is_a_problem_and_is_logged(client, people, monkeypatch, caplog):
    def broken(*args, **more):
        raise RuntimeError("the wheel fell off")

    monkeypatch.setattr("gym.api.views.description", broken)
    client.raise_request_exception = False
    with caplog.at_level(logging.ERROR):
        answer = client.get("/api/v1/schema/")
    assert (answer.status_code, answer["Content-Type"]) == (500, PROBLEM)
    assert answer.json()["code"] == "internal-error"
    assert "wheel" not in answer.content.decode()
    assert "the wheel fell off" in caplog.text
    monkeypatch.setattr("gym.pages.site_pages.workers", broken)
    assert client.get("/queue/")["Content-Type"].startswith("text/html")


def test_a_request_for_another_host_is_a_problem(client):
    answer = client.get("/api/v1/", headers={"host": "elsewhere.example"})
    assert (answer.status_code, answer["Content-Type"]) == (400, PROBLEM)
    page = client.get("/", headers={"host": "elsewhere.example"})
    assert (page.status_code, page["Content-Type"].partition(";")[0]) == (400, "text/html")


@pytest.fixture
def three(settings):
    settings.GYM_API_REQUESTS_PER_MINUTE = 3


def test_refusals_without_a_token_count_as_requests(client, db, three):
    answers = [client.get("/api/v1/me/") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert client.get("/api/v1/suites/").status_code == 429


def test_refusals_of_a_token_that_lacks_a_scope_count_too(client, people, bearer, three):
    headers = bearer("alice", "read")
    answers = [client.post("/api/v1/suites/", headers=headers).status_code for _ in range(4)]
    assert answers == [403, 403, 403, 429]


def test_wrong_tokens_are_counted(client, db, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ADDRESS = 3
    headers = {"authorization": "Bearer lmg_wrong"}
    answers = [client.get("/api/v1/me/", headers=headers).status_code for _ in range(5)]
    assert answers == [401, 401, 401, 429, 429]
