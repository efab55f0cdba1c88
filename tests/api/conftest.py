"""Fixtures of the API tests."""

from __future__ import annotations

import pytest

from tests.api.worlds import make_world


@pytest.fixture
def world(people):
    return make_world(people)


@pytest.fixture
def get(client, people):
    """get(address, who=None, **query): the answer's JSON, which must be a 200."""

    def fetch(address: str, who: str = "", **query: str):
        client.logout()
        if who:
            client.force_login(getattr(people, who))
        response = client.get(f"/api/v1/{address}", query)
        assert response.status_code == 200, response.content
        return response.json()

    return fetch
