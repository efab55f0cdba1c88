"""Redirects: followed only on request; each target is checked like the first address."""

from __future__ import annotations

import pytest

from lmgym import net
from lmgym.net import NetPolicy, Refused
from tests.lmgym.net.hostile import answer, server


def following(*more: str, hops: int = 2) -> NetPolicy:
    return NetPolicy.allowing("127.0.0.1", *more, seconds=5, redirects=hops)


def test_a_redirect_is_handed_over_as_it_is():
    with server(answer(b"", "302 Found", Location="http://127.0.0.1:9/")) as there:
        got = net.request("GET", there.url, policy=following(hops=0))
    assert (got.status, got.headers["location"]) == (302, "http://127.0.0.1:9/")


def test_a_redirect_to_the_inside_is_refused():
    for target in (
        "http://169.254.169.254/latest/",
        "http://[::1]/",
        "file:///etc/passwd",
        "http://127.0.0.2/",
    ):
        with server(answer(b"", "302 Found", Location=target)) as there, pytest.raises(Refused):
            net.request("GET", there.url, policy=following())


def test_secrets_stay_with_the_server_they_are_for():
    with (
        server(answer(b'"here"')) as second,
        server(answer(b"", "307 There", Location=f"{second.url}/x")) as first,
    ):
        headers = {"Authorization": "Bearer hush", "X-Session": "hush", "Accept": "text/plain"}
        assert net.request("GET", first.url, headers=headers, policy=following()).json() == "here"
    assert b"hush" in first.seen[0]
    assert b"hush" not in second.seen[0]
    assert b"accept: text/plain" in second.seen[0]


def test_a_body_is_not_sent_on_to_another_server():
    with (
        server(answer()) as second,
        server(answer(b"", "307 There", Location=second.url)) as first,
        pytest.raises(Refused, match="bodies are not sent"),
    ):
        net.request("POST", first.url, json={}, policy=following())
    assert not second.seen


def test_a_relative_redirect_keeps_the_headers():
    def behave(connection, request):
        moved = request.startswith(b"GET /old ")
        connection.sendall(answer(b"", "308 Moved", Location="/new") if moved else answer(b'"new"'))

    with server(behave) as there:
        got = net.request("GET", f"{there.url}/old", headers={"Authorization": "x"}, policy=following())
    assert got.json() == "new"
    assert all(b"authorization: x" in head for head in there.seen)


def test_after_a_post_the_result_is_fetched():
    def behave(connection, request):
        posted = request.startswith(b"POST")
        connection.sendall(answer(b"", "303 See Other", Location="/done") if posted else answer(b'"done"'))

    with server(behave) as there:
        assert net.request("POST", there.url, json={"a": 1}, policy=following()).json() == "done"
    assert there.seen[1].startswith(b"GET /done")
    assert there.seen[1].endswith(b"\r\n\r\n")


def test_a_circle_ends():
    with server(answer(b"", "302 Found", Location="/")) as there, pytest.raises(Refused, match="more than 2"):
        net.request("GET", there.url, policy=following())
    assert len(there.seen) == 3


def test_every_hop_counts_against_one_deadline():
    import time

    def slow(connection, request):
        time.sleep(0.2)
        connection.sendall(answer(b"", "302 Found", Location="/"))

    policy = NetPolicy.allowing("127.0.0.1", seconds=0.5, redirects=50)
    with server(slow) as there, pytest.raises(net.TimedOut):
        net.request("GET", there.url, policy=policy)
