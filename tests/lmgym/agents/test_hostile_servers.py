"""Hostile or broken servers: each leads to a defined outcome, and the run continues and ends."""

from __future__ import annotations

import gzip
import time

import pytest

from lmgym import net
from lmgym.agents.transport import HTTPTransport, server_address_problem
from tests.lmgym.agents.helpers import demo_server_url, run
from tests.lmgym.net.hostile import answer, server

TURN = "{text: q, timeout_in_seconds: 0.6, response: {text: {keywords: ok}}}"
CASE = f"agent: a, success_ratio: 1/2, interactions: [{TURN}]"
GOOD = b'{"response": {"type": "AGENT_FRAMEWORK", "text": "ok", "chat_context": {}}}\n'


def transport(url: str, *more: str, **options) -> HTTPTransport:
    return HTTPTransport(
        url, policy=lambda **limits: net.NetPolicy.allowing("127.0.0.1", *more, **limits), **options
    )


def hang(connection, request):
    time.sleep(3)


def drip(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json-lines\r\n\r\n")
    for _ in range(60):
        connection.sendall(b" ")
        time.sleep(0.05)


def pour(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    for _ in range(1024):
        connection.sendall((b"x" * 1023 + b"\n") * 1024)


def one_line(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    for _ in range(1024):
        connection.sendall(b"x" * 1024 * 1024)


BOMB = gzip.compress(b"\0" * 20_000_000, 1)
BEHAVIOURS = {
    "hangs": (hang, "timeout", "timeout"),
    "drips": (drip, "timeout", "timeout"),
    "sends a gigabyte": (pour, "error", "protocol"),
    "sends a gigabyte in one line": (one_line, "error", "too-large"),
    "lies about its encoding": (answer(b"not gzip", Content_Encoding="gzip"), "error", "encoding"),
    "says gzip and sends half of it": (
        answer(gzip.compress(GOOD * 50, mtime=0)[:-9], Content_Encoding="gzip"),
        "error",
        "encoding",
    ),
    "packs much into little": (answer(BOMB, Content_Encoding="gzip"), "error", "too-large"),
    "packs without saying so": (answer(gzip.compress(GOOD, mtime=0)), "error", "protocol"),
    "sends UTF-16 as UTF-8": (answer(GOOD.decode().encode("utf-16")), "error", "protocol"),
    "packs oddly": (answer(b"x", Content_Encoding="br"), "error", "encoding"),
    "no UTF-8": (answer(b"\xff\xfe\n"), "error", "protocol"),
    "answers 500": (answer(b"oh", "500 Oops"), "error", "status"),
    "answers 404": (answer(b"", "404 Not Found"), "error", "status"),
    "answers 503": (answer(b'{"error": "Too many concurrent requests"}', "503 Busy"), "error", "status"),
    "sends on to a private address": (
        answer(b"", "307 There", Location="http://10.0.0.1/"),
        "error",
        "status",
    ),
    "sends on to metadata": (answer(b"", "302 Found", Location="http://169.254.169.254/"), "error", "status"),
    "breaks off": (answer(GOOD, Content_Length="500"), "error", "encoding"),
    "speaks no HTTP": (b"SSH-2.0-OpenSSH\r\n", "error", "encoding"),
    "hangs up": (lambda connection, request: None, "error", None),
    "answers a page": (answer(b"<html>hi</html>", Content_Type="text/html"), "error", "protocol"),
    "names a number that is none": (
        answer(GOOD.replace(b'"ok"', b'"ok", "structure": {"k": 1e400}')),
        "error",
        "protocol",
    ),
    "a timeout after the head": (answer(GOOD + b'{"error": "Request timeout"}\n'), "error", "protocol"),
}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_every_misbehaviour_has_a_name_and_the_run_ends(name):
    behave, outcome, trouble = BEHAVIOURS[name]
    started = time.monotonic()
    with server(behave) as there:
        result = run(CASE, transport(there.url))
    assert time.monotonic() - started < 5
    assert (result.n + result.errors, result.counts) == (2, {outcome: 2})
    turn = result.iterations[0].turns[0]
    assert turn.error
    assert trouble is None or turn.trouble == trouble
    assert [check.outcome for check in result.iterations[0].checks] == [outcome]


def test_what_is_packed_as_it_says_is_read():
    with server(answer(gzip.compress(GOOD, mtime=0), Content_Encoding="gzip")) as there:
        assert run(CASE, transport(there.url)).outcome == "pass"


def test_a_good_server_passes():
    with server(answer(GOOD)) as there:
        assert run(CASE, transport(there.url)).outcome == "pass"


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1:81/base",
        "http://nosuch.invalid",
        "http://127.0.0.1:9/deep/er",
        "https://127.0.0.1:9",
        "http://[::1]:81",
    ],
)
def test_what_went_wrong_is_told_without_the_address(url):
    """Errors do not reveal the agent's address to people who may see the run."""
    told = run(CASE, transport(url)).iterations[0].turns[0].error
    assert told
    for part in ("10.0.0.1", "127.0.0.1", "nosuch", "81", ":9", "::1", "deep"):
        assert part not in told
    assert "he server" in told


def test_nobody_there():
    result = run(CASE, transport("http://127.0.0.1:9"))
    assert result.iterations[0].turns[0].trouble == "unreachable"


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1", "http://169.254.169.254", "http://[::1]:80", "http://0x7f.2"]
)
def test_addresses_that_are_not_allowed_are_refused_without_a_connection(url):
    result = run(CASE, transport(url))
    assert result.iterations[0].turns[0].trouble == "refused"


def test_secret_headers_are_sent_and_seen_nowhere():
    def tell(connection, request):
        said = b"Bearer hush-hush" if b"hush-hush" in request else b"nothing"
        line = (
            b'{"response": {"type": "AGENT_FRAMEWORK", "text": "you sent %s ok", "chat_context": {}}}' % said
        )
        connection.sendall(answer(line))

    headers = {"Authorization": "Bearer hush-hush"}
    with server(tell) as there:
        secret = transport(there.url, headers=headers, secrets=("Bearer hush-hush", "hush-hush"))
        result = run(CASE.replace("agent: a", "agent: a, metadata: {authorization: mine}"), secret)
    assert result.outcome == "pass"
    assert b"hush-hush" in there.seen[0]
    assert b"mine" not in there.seen[0]
    assert "hush" not in repr(result.as_dict())
    assert "you sent ••• ok" in repr(result.as_dict())


def test_the_embedded_agents_answer_over_a_real_socket():
    with demo_server_url() as url:
        there = transport(url)
        case = (
            "agent: calc, connections: [http, direct], success_ratio: 4/4, interactions: [{text: times, "
            "sly_data: {x: 847, y: 23}, "
            "response: {sly_data: {equals: {value: 19481}}, structure: {op: {value: times}}}}]"
        )
        result = run(case, there)
        assert (result.outcome, result.checks_made) == ("pass", 16)
        assert result.tokens["total_tokens"] > 0
        assert run("agent: nosuch, interactions: [{text: q}]", there).iterations[0].message == (
            "The server has no such agent (404)."
        )


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "http://", "x", "http://u:p@x", "http://x?y", "http://x#y", "http://x:99999", "http://[x"],
)
def test_addresses_that_are_none_are_said_to_be_none(url):
    assert server_address_problem(url)


def test_addresses_with_a_path_are_fine():
    assert server_address_problem("https://agents.example.org:8080/below") == ""
