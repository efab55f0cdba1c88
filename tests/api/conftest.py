"""Fixtures of the API tests."""

from __future__ import annotations

import pytest

from gym.accounts.tokens import create_token
from tests.api.worlds import make_world


@pytest.fixture
def world(people):
    return make_world(people)


@pytest.fixture
def get(client, people):
    """`get(address, who="", **query)` requests an address as `who`, requires a 200 and returns the JSON."""

    def fetch(address: str, who: str = "", **query: str):
        client.logout()
        if who:
            client.force_login(getattr(people, who))
        response = client.get(f"/api/v1/{address}", query)
        assert response.status_code == 200, response.content
        return response.json()

    return fetch


@pytest.fixture
def bearer(people):
    """`bearer(who, *scopes)` returns headers with a new token."""

    def headers(who="alice", *scopes, **more):
        _, plain = create_token(
            actor=getattr(people, who), name="test", scopes=scopes or ["read", "write", "run"], **more
        )
        return {"authorization": f"Bearer {plain}"}

    return headers


@pytest.fixture
def send(client, people):
    """`send("post", address, body, who, **headers)` sends a request as `who` and returns the response."""

    def act(method: str, address: str, body: object = None, who: str = "alice", **headers: str):
        client.logout()
        if who:
            client.force_login(getattr(people, who))
        extra = {"content_type": "application/json"} if body is not None else {}
        data = {"data": body} if body is not None else {}
        return getattr(client, method)(f"/api/v1/{address}", **data, **extra, headers=headers)

    return act
