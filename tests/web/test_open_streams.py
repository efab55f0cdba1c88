"""Streamed downloads leave web server threads free for other requests."""

from __future__ import annotations

import pytest

from gym import open_streams

TABLE = "/exports/tokens.csv"
API = "/api/v1/exports/tokens/csv/"


@pytest.fixture
def one_place(transactional_db, settings):
    """A limit of one download. There is no transaction around the test, because closing a response closes the
    connection, as in the server."""
    settings.GYM_WEB_THREADS = 2
    open_streams.slots.cache_clear()
    yield
    open_streams.slots.cache_clear()


def test_a_page_says_that_too_many_downloads_are_open_and_when_to_try_again(client, one_place):
    first = client.get(TABLE)
    assert first.status_code == 200
    refused = client.get(TABLE)
    assert (refused.status_code, refused["Retry-After"]) == (503, str(open_streams.RETRY_SECONDS))
    assert "Too many large downloads" in refused.content.decode()
    first.close()
    assert client.get(TABLE).status_code == 200


def test_the_api_says_it_as_every_other_error(client, one_place):
    held = client.get(API)
    assert (held.status_code, held.streaming) == (200, True)
    refused = client.get(API)
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert refused["Retry-After"] == str(open_streams.RETRY_SECONDS)


def test_what_nobody_sends_any_more_takes_no_place(client, one_place):
    for _ in range(3):
        answer = client.get(TABLE)
        assert answer.status_code == 200
        assert b"".join(answer.streaming_content)


def test_files_take_no_place(client, one_place):
    held = client.get(TABLE)
    assert held.status_code == 200
    for _ in range(2):
        assert client.get("/static/css/pages.css").status_code == 200
