"""Authorization: Bearer lmg_…"""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gym.accounts.models import ApiToken
from gym.accounts.tokens import revoke_token
from gym.runs.models import SuiteRun
from tests.api.worlds import make_world
from tests.once import once_a_module

built, people, world = once_a_module(make_world)

RUNS = "/api/v1/runs/"
ASKED = {"suite": "public-suite", "model": "open-model", "again": True}


def post(client, headers):
    return client.post(RUNS, ASKED, content_type="application/json", headers=headers)


def test_a_token_sees_what_its_owner_sees(client, world, bearer):
    address = "/api/v1/suites/private-suite/"
    assert client.get(address, headers=bearer("alice")).status_code == 200
    assert client.get(address, headers=bearer("bob")).status_code == 200
    assert client.get(address, headers=bearer("charlie")).status_code == 404
    assert client.get(address).status_code == 404


def test_a_run_queued_by_a_token_belongs_to_its_owner(client, people, world, bearer):
    response = post(client, bearer("charlie", "run"))
    assert response.status_code == 201
    assert SuiteRun.objects.get(key=response.json()["id"]).owner == people.charlie


@pytest.mark.parametrize(
    ("scope", "reads", "runs"), [("read", 200, 403), ("write", 403, 403), ("run", 403, 201)]
)
def test_each_scope_opens_its_own_door_only(client, world, bearer, scope, reads, runs):
    headers = bearer("alice", scope)
    read, run = client.get(RUNS, headers=headers), post(client, headers)
    assert (read.status_code, run.status_code) == (reads, runs)
    for answer in (read, run):
        if answer.status_code == 403:
            assert "lacks the scope" in answer.json()["detail"]


@pytest.mark.parametrize("plain", ["", "lmg_", "lmg_" + "x" * 43, "x", "ü", "lmg_\x00"])
def test_a_made_up_token_is_a_401_even_where_nobody_needs_one(client, world, plain):
    response = client.get("/api/v1/suites/", headers={"authorization": f"Bearer {plain}"})
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_revoked_expired_and_orphaned_tokens_open_nothing(client, people, world, bearer):
    revoked, expired, orphaned = bearer("alice"), bearer("alice"), bearer("bob")
    first, second = ApiToken.objects.filter(user=people.alice).order_by("pk")
    revoke_token(first, actor=people.alice)
    ApiToken.objects.filter(pk=second.pk).update(expires=timezone.now() - timedelta(seconds=1))
    people.bob.is_active = False
    people.bob.save()
    for headers, says in ((revoked, "revoked"), (expired, "expired"), (orphaned, "disabled")):
        response = client.get(RUNS, headers=headers)
        assert response.status_code == 401
        assert says in response.json()["detail"]


def test_other_schemes_are_not_ours(client, people, world):
    basic = {"authorization": "Basic YWxpY2U6YWxpY2U="}  # alice:alice
    assert client.get("/api/v1/suites/", headers=basic).status_code == 200
    assert client.get("/api/v1/suites/private-suite/", headers=basic).status_code == 404


def test_a_token_opens_the_api_and_not_the_pages(client, world, bearer):
    assert client.get("/accounts/profile/", headers=bearer("alice")).status_code == 302
    assert client.get("/suites/private-suite/", headers=bearer("alice")).status_code == 404


def test_the_token_counts_and_not_the_session_beside_it(client, people, world, bearer):
    client.force_login(people.alice)
    assert client.get("/api/v1/suites/private-suite/", headers=bearer("charlie")).status_code == 404


def test_last_use_is_remembered_to_the_minute(client, people, world, bearer, django_assert_num_queries):
    headers = bearer("alice")
    client.get("/api/v1/", headers=headers)
    token = ApiToken.objects.get()
    assert timezone.now() - token.last_used < timedelta(seconds=10)
    with django_assert_num_queries(1) as queries:
        client.get("/api/v1/", headers=headers)
    assert queries[0]["sql"].startswith("SELECT")


def test_reads_write_the_last_use_once_a_minute_and_nothing_else(client, people, world, bearer, monkeypatch):
    start, headers = timezone.now(), bearer("alice")
    for seconds, writes in ((0, 1), (1, 0), (59, 0), (61, 1), (62, 0), (120, 0), (122, 1)):
        now = start + timedelta(seconds=seconds)
        monkeypatch.setattr("gym.accounts.tokens.timezone", SimpleNamespace(now=lambda now=now: now))
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/api/v1/suites/private-suite/", headers=headers).status_code == 200
        written = [query["sql"] for query in queries if not query["sql"].startswith("SELECT")]
        assert len(written) == writes, (seconds, written)
        assert all("last_used" in sql for sql in written)
        assert (ApiToken.objects.get().last_used == now) == bool(writes)


def test_guessing_tokens_ends_and_good_ones_still_work(client, world, bearer, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ADDRESS = 3
    bad = {"authorization": "Bearer lmg_guess"}
    answers = [client.get("/api/v1/", headers=bad) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert int(answers[-1]["Retry-After"]) > 100
    assert client.get("/api/v1/", headers=bearer("alice")).status_code == 200


def test_requests_are_counted_per_account_whatever_its_tokens(client, world, bearer, settings):
    settings.GYM_API_REQUESTS_PER_MINUTE = 3
    tokens = [bearer("alice"), bearer("alice")]
    answers = [client.get("/api/v1/", headers=tokens[number % 2]) for number in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 0 < int(answers[-1]["Retry-After"]) <= 60
    assert client.get("/api/v1/", headers=bearer("bob")).status_code == 200
    assert client.get("/api/v1/").status_code == 200  # anonymous requests have a separate limit


def test_calls_of_a_signed_in_browser_are_not_counted(client, people, world, bearer, settings):
    settings.GYM_API_REQUESTS_PER_MINUTE = 3
    client.force_login(people.alice)
    assert {client.get("/api/v1/me/").status_code for _ in range(5)} == {200}
    client.logout()
    answers = [client.get("/api/v1/me/", headers=bearer("alice")).status_code for _ in range(4)]
    assert answers == [200, 200, 200, 429]


def test_counting_requests_takes_no_query(client, db, settings, django_assert_num_queries):
    settings.GYM_API_REQUESTS_PER_MINUTE = 2
    with django_assert_num_queries(0):
        answers = [client.get("/api/v1/").status_code for _ in range(3)]
    assert answers == [200, 200, 429]
