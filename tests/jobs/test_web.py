"""`lmgym web` with the pages of the lab."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest

from tests.jobs.test_serve import is_alive, port, web_pid  # noqa: F401

pytestmark = pytest.mark.process
HALF = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: ",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf",
)


@pytest.fixture
def web(lab, port):  # noqa: F811
    """web(*options, **environment) starts a server and returns its process once it responds."""

    def start(*options: str, **environment: str):
        lab.env |= environment
        process = lab.start("web", "--port", str(port), *options)
        lab.until(lambda: web_pid(port) > 0, 60)
        return process

    return start


@pytest.fixture
def connect(port) -> Iterator:  # noqa: F811
    """connect(bytes) opens a connection and sends bytes."""
    made = []

    def send(data: bytes) -> socket.socket:
        made.append(socket.create_connection(("127.0.0.1", port), timeout=10))
        made[-1].sendall(data)
        return made[-1]

    yield send
    for connection in made:
        connection.close()


def test_half_sent_requests_keep_nobody_out(web, connect, port):  # noqa: F811
    web("--processes", "1", "--threads", "2")
    for number in range(150):
        connect(HALF[number % 2])
    assert web_pid(port) > 0


def test_a_body_larger_than_any_upload_is_refused_before_it_is_sent(web, connect):
    web()
    told = connect(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n").recv(4096)
    assert told.startswith(b"HTTP/1.1 413 ")


def test_while_one_process_hangs_the_other_answers_and_the_first_is_replaced(web, connect, lab, port):  # noqa: F811
    web("--processes", "2", "--threads", "1", GYM_WEB_HANG_SECONDS="2")
    first = web_pid(port)
    os.kill(first, signal.SIGSTOP)
    lab.until(lambda: web_pid(port) not in (0, first))
    second = web_pid(port)
    os.kill(first, signal.SIGCONT)
    connect(b"GET /hang HTTP/1.1\r\nHost: localhost\r\n\r\n")
    lab.until(lambda: "Timeout (0:00:02)!" in lab.read_log() and "in hang" in lab.read_log(), 60)
    lab.until(lambda: not is_alive(first) or not is_alive(second))
    lab.until(lambda: web_pid(port) > 0, 60)


@pytest.mark.parametrize("behind", ["0", "1"])
def test_headers_of_a_proxy_arrive_only_where_there_is_one(web, port, behind):  # noqa: F811
    web(GYM_BEHIND_PROXY=behind)
    sent = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https", "Forwarded": "for=203.0.113.7"}
    with urlopen(Request(f"http://127.0.0.1:{port}/headers", headers=sent), timeout=10) as answer:
        seen = json.load(answer)
        assert "Server" not in answer.headers
    assert {name: seen[name] for name in sent if name in seen} == (sent if behind == "1" else {})


def test_it_ends_with_its_processes_on_sigterm(web, port):  # noqa: F811
    server = web()
    child = web_pid(port)
    server.terminate()
    assert server.wait(15) == 0
    assert not is_alive(child)


def test_it_ends_with_the_parent_that_it_is_told(lab, port):  # noqa: F811
    server = lab.start("web", "--port", str(port), "--parent", "1")
    lab.until(lambda: server.poll() is not None, 60)
    assert web_pid(port) == 0
