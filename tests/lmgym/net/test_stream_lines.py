"""Streamed lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym import net
from lmgym.net import BadResponse, HTTPStatus, NetPolicy, TimedOut, TooLarge
from lmgym.net.responses import lines
from tests.lmgym.net.hostile import answer, server

HERE = NetPolicy.allowing("127.0.0.1", seconds=5, max_line_bytes=1000)


def test_lines_come_as_they_are_sent():
    seen = []

    def talk(connection, request):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for line in (b'{"a": 1}\n', b'{"b"', b": 2}\r\n", b"last"):
            connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            time.sleep(0.05)
        connection.sendall(b"0\r\n\r\n")

    with server(talk) as there, net.stream_lines("POST", there.url, json={}, policy=HERE) as came:
        for line in came:
            seen.append((line, time.monotonic()))
    assert [line for line, _ in seen] == [b'{"a": 1}', b'{"b": 2}', b"last"]
    assert seen[1][1] - seen[0][1] > 0.03


def test_leaving_early_hangs_up():
    hung_up = []

    def endless(connection, request):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"more\n")
                time.sleep(0.01)
        except OSError:
            hung_up.append(True)

    with server(endless) as there:
        with net.stream_lines("GET", there.url, policy=HERE) as came:
            assert next(came) == b"more"
        for _ in range(100):
            if hung_up:
                break
            time.sleep(0.02)
    assert hung_up


def test_a_line_without_end_is_too_large():
    def endless(connection, request):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 500)

    with (
        server(endless) as there,
        net.stream_lines("GET", there.url, policy=HERE) as came,
        pytest.raises(TooLarge, match="line"),
    ):
        next(came)


def test_a_stream_that_trickles_ends_at_the_deadline():
    def trickle(connection, request):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x\n")
            time.sleep(0.05)

    policy = NetPolicy.allowing("127.0.0.1", seconds=0.4)
    with (
        server(trickle) as there,
        net.stream_lines("GET", there.url, policy=policy) as came,
        pytest.raises(TimedOut),
    ):
        list(came)


def test_a_stream_that_breaks_off_is_a_bad_answer():
    with (
        server(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\na\nb") as there,
        net.stream_lines("GET", there.url, policy=HERE) as came,
        pytest.raises(BadResponse),
    ):
        list(came)


def test_a_failure_is_told_before_the_first_line():
    with (
        server(answer(b"no such model", "404 No")) as there,
        pytest.raises(HTTPStatus, match="no such model"),
        net.stream_lines("GET", there.url, policy=HERE),
    ):
        raise AssertionError


@given(st.lists(st.binary(max_size=20)), st.integers(1, 7))
def test_lines_do_not_depend_on_how_the_body_is_cut(given_lines, size):
    text = [line.replace(b"\n", b"").rstrip(b"\r") for line in given_lines]
    body = b"".join(line + b"\n" for line in text)
    cut = [body[start : start + size] for start in range(0, len(body), size)]
    assert list(lines(cut, 100, "it")) == text
