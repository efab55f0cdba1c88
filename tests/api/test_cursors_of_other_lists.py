"""A cursor is valid only for its own list."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from django.urls import get_resolver, reverse

from gym.api.base import ListView
from tests.permissions.test_every_url import ROWS, make_world, patterns


def lists(world) -> list[str]:
    """Return the addresses of all paginated lists."""
    kinds = {
        pattern.name: pattern.callback.cls for _, pattern in patterns(get_resolver()) if is_list(pattern)
    }
    found = {
        reverse(name, args=[world.get(argument, argument) for argument in arguments])
        for method, name, arguments, _ in ROWS
        if method == "GET" and name in kinds
    }
    assert len(found) > 20
    return sorted(found)


def is_list(pattern) -> bool:
    kind = getattr(pattern.callback, "cls", None)
    return bool(kind) and issubclass(kind, ListView) and hasattr(kind, "get") and kind.get.operation.many


def test_a_cursor_belongs_to_its_list(client, people, settings):
    """Another list's cursor is a 400, never rows or a crash."""
    client.raise_request_exception = False
    settings.GYM_API_REQUESTS_PER_MINUTE = 0
    client.force_login(people.staff)
    everywhere = lists(make_world(people))
    cursors = {}
    for address in everywhere:
        answer = client.get(address, {"limit": 1})
        if answer.status_code == 200 and answer.json()["next"]:
            cursors[address] = parse_qs(urlsplit(answer.json()["next"]).query)["cursor"][0]
    assert {"/api/v1/models/", "/api/v1/runs/", "/api/v1/suites/"} <= set(cursors)
    for number, (at, cursor) in enumerate(cursors.items()):
        assert client.get(at, {"limit": 1, "cursor": cursor}).status_code == 200
        others = [other for other in everywhere if other != at]
        # Not every pair: neighbours in this order are the most similar lists.
        for other in {others[(number + step) % len(others)] for step in range(3)}:
            answer = client.get(other, {"cursor": cursor})
            if answer.status_code in (307, 404):
                continue  # this user may not see the list, or it has moved
            assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), (
                at,
                other,
            )
            assert "?cursor" in {trouble["where"] for trouble in answer.json()["errors"]}, (at, other)
