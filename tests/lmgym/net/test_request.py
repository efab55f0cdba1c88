"""Single requests to servers that misbehave in every way we could think of."""

from __future__ import annotations

import contextlib
import gzip
import ipaddress
import json
import socket
import time
import zlib

import pytest

from lmgym import net
from lmgym.net import (
    BadResponse,
    HTTPStatus,
    NetPolicy,
    NotAdmitted,
    Refused,
    TimedOut,
    TooLarge,
    Unreachable,
)
from tests.lmgym.net.hostile import answer, server

HERE = NetPolicy.allowing("127.0.0.1", seconds=5)


def limited(**limits) -> NetPolicy:
    return NetPolicy.allowing("127.0.0.1", **{"seconds": 5, **limits})


def test_json_goes_there_and_back():
    with server(answer(json.dumps({"ä": [1.5, None]}).encode())) as there:
        got = net.request(
            "POST", f"{there.url}/v1/x?y=ü", json={"q": "ß"}, headers={"X-One": "1"}, policy=HERE
        )
    assert (got.status, got.ok, got.json()) == (200, True, {"ä": [1.5, None]})
    head, body = there.seen[0].split(b"\r\n\r\n")
    assert json.loads(body) == {"q": "ß"}
    assert head.startswith(b"POST /v1/x?y=%C3%BC HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{there.port}".encode() in head
    assert b"x-one: 1" in head


def test_nothing_of_the_environment_is_used(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with server(answer(Set_Cookie="a=b")) as there:
        for _ in range(2):
            net.request("GET", there.url, policy=HERE)
    assert all(b"cookie" not in head.lower() for head in there.seen)


def test_loopback_is_refused_unless_listed():
    with server(answer()) as there:
        for host in ("127.0.0.1", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"):
            with pytest.raises(Refused):
                net.request("GET", f"http://{host}:{there.port}/", policy=NetPolicy.allowing("public"))
        with pytest.raises((Refused, Unreachable)):
            net.request("GET", f"http://localhost:{there.port}/", policy=NetPolicy.allowing("public"))
    assert not there.seen


def test_a_name_is_looked_up_once_and_the_checked_address_is_connected_to():
    """A resolver that returns a different address each time gains nothing."""
    asked = []

    def rebinding(host, port):
        asked.append(host)
        return [ipaddress.ip_address("127.0.0.1" if len(asked) == 1 else "10.255.255.1")]

    with server(answer()) as there:
        policy = limited(lookup=rebinding)
        assert net.request("GET", f"http://lab.example:{there.port}/", policy=policy).ok
        assert asked == ["lab.example"]
        with pytest.raises(Refused):
            net.request("GET", f"http://lab.example:{there.port}/", policy=policy)
    assert f"host: lab.example:{there.port}".encode() in there.seen[0]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "//127.0.0.1/",
        "127.0.0.1",
        "http:///x",
        "http://user:secret@127.0.0.1/",
        "http://127.0.0.1\\@example.org/",
        "http://127.0.0.1/\r\nX-Evil: 1",
        "http://127.0.0.1:99999/",
        "http://exa mple.org/",
        "http://[::1%25lo]/",
        "http://127.0.0.1/" + "a" * 5000,
    ],
)
def test_an_odd_address_is_refused(url):
    with pytest.raises(Refused):
        net.request("GET", url, policy=HERE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "1\r\nX-Evil: 2"),
        ("X-A", "1\nX-Evil: 2"),
        ("X-A", "\0"),
        ("X-A", "snow ☃"),
        ("X A", "1"),
        ("X-A\r\nX-B", "1"),
        ("", "1"),
        ("Host", "other.example"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("connection", "keep-alive"),
    ],
)
def test_headers_cannot_smuggle(name, value):
    with server(answer()) as there, pytest.raises(Refused, match="header"):
        net.request("GET", there.url, headers={name: value}, policy=HERE)
    assert not there.seen


def test_a_secret_is_in_no_message():
    with server(answer(b"no", "500 No")) as there:
        url = f"{there.url}/?key=hush"
        got = net.request("GET", url, headers={"Authorization": "Bearer hush"}, policy=HERE)
    with pytest.raises(HTTPStatus) as failed:
        got.raise_for_status()
    with pytest.raises(Refused) as refused:
        net.request("GET", "http://u:hush@127.0.0.1/", policy=HERE)
    with pytest.raises(Refused) as value:
        net.request("GET", there.url, headers={"Authorization": "Bearer hush\n"}, policy=HERE)
    assert "hush" not in f"{failed.value} {refused.value} {value.value} {HERE!r}"


def test_a_key_leaves_in_clear_text_only_for_hosts_that_were_named():
    def public(host, port):
        return [ipaddress.ip_address("203.0.114.1")]

    policy = NetPolicy.allowing("public", lookup=public, seconds=1)
    with pytest.raises(Refused, match="https"):
        net.request("GET", "http://api.example/", headers={"Authorization": "x"}, policy=policy)


def test_one_byte_a_moment_does_not_outlive_the_deadline():
    def drip(connection, request):
        for byte in answer(b"x" * 1000):
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    begun = time.monotonic()
    with server(drip) as there, pytest.raises(TimedOut, match=r"0\.5 s"):
        net.request("GET", there.url, policy=limited(seconds=0.5))
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"])
def test_silence_does_not_outlive_the_deadline(first):
    def hang(connection, request):
        connection.sendall(first)
        connection.recv(1)

    with server(hang) as there, pytest.raises(TimedOut):
        net.request("GET", there.url, policy=limited(seconds=0.3))


def test_a_server_that_does_not_read_does_not_outlive_the_deadline():
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(TimedOut):
            net.request("POST", url, content=b"x" * 4_900_000, policy=limited(seconds=0.5))


def test_a_resolver_that_hangs_does_not_outlive_the_deadline():
    def hang(host, port):
        time.sleep(3)
        return []

    begun = time.monotonic()
    with pytest.raises(TimedOut):
        net.request("GET", "http://slow.example/", policy=limited(seconds=0.3, lookup=hang))
    assert time.monotonic() - begun < 2


def test_continue_for_ever_ends():
    def continuing(connection, request):
        while True:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)

    with server(continuing) as there, pytest.raises((TooLarge, TimedOut)):
        net.request("GET", there.url, policy=limited(max_bytes=1000))


@pytest.mark.parametrize("length", ["1000000000", ""])
def test_a_gigabyte_is_not_read(length):
    sent = []

    def flood(connection, request):
        connection.sendall(
            b"HTTP/1.1 200 OK\r\n" + (f"Content-Length: {length}\r\n".encode() if length else b"") + b"\r\n"
        )
        for _ in range(1000):
            connection.sendall(b"x" * 1_000_000)
            sent.append(1)

    with server(flood) as there, pytest.raises(TooLarge, match="100000"):
        net.request("GET", there.url, policy=limited(max_bytes=100_000))
    assert len(sent) < 100


def test_a_bomb_does_not_unfold():
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert len(bomb) < 60_000
    with server(answer(bomb, Content_Encoding="gzip")) as there, pytest.raises(TooLarge):
        net.request("GET", there.url, policy=limited(max_bytes=1_000_000))


def test_a_packed_answer_is_unpacked():
    body = json.dumps(list(range(100_000))).encode()
    with server(answer(gzip.compress(body), Content_Encoding="gzip")) as there:
        assert net.request("GET", there.url, policy=HERE).body == body
    with server(answer(b"", Content_Encoding="gzip")) as there:
        assert net.request("GET", there.url, policy=HERE).body == b""


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b'{"a": 1}', "gzip"),
        (gzip.compress(b"{}" * 1000, mtime=0)[:-4], "gzip"),
        (gzip.compress(b"{}", mtime=0) + b"more", "gzip"),
        (gzip.compress(b"{}", mtime=0) + gzip.compress(b"{}", mtime=0), "gzip"),
        (gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "gzip, gzip"),
        (zlib.compress(b"{}"), "deflate"),
        (b"{}", "br"),
    ],
)
def test_an_answer_that_lies_about_its_packing_is_a_bad_answer(body, encoding):
    with server(answer(body, Content_Encoding=encoding)) as there, pytest.raises(BadResponse):
        net.request("GET", there.url, policy=HERE)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\0" * 100,
        b"HTTP/1.1 200 OK\r\nBad Header: x\r\n\r\n",
    ],
)
def test_what_is_not_http_is_a_bad_answer(raw):
    with server(raw) as there, pytest.raises(BadResponse):
        net.request("GET", there.url, policy=HERE)


def test_headers_without_end_are_a_bad_answer():
    def many(connection, request):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Header: y\r\n" * 1000)

    with server(many) as there, pytest.raises((BadResponse, TooLarge)):
        net.request("GET", there.url, policy=HERE)


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b'{"a": NaN}', b"[1e999]", b"[1e999", b"[" * 100_000, b"\xff\xfe"]
)
def test_what_is_not_json_is_a_bad_answer(body):
    with server(answer(body)) as there:
        got = net.request("GET", there.url, policy=HERE)
    with pytest.raises(BadResponse, match="not JSON"):
        got.json()


def test_a_status_tells_its_number_and_when_to_come_back():
    with server(answer(b"too   \n many\x1b[0m", "429 Slow down", Retry_After="7")) as there:
        got = net.request("GET", there.url, policy=HERE)
    with pytest.raises(HTTPStatus, match=r"429: too many\[0m") as failed:
        got.raise_for_status()
    assert (failed.value.status, failed.value.retry_after) == (429, 7)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"Retry_After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30),
        ({"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "-3"}, None),
        ({}, None),
    ],
)
def test_when_to_come_back_may_be_a_date_by_the_clock_of_the_server(told, seconds):
    with server(answer(b"", "503 Busy", **told)) as there:
        assert net.request("GET", there.url, policy=HERE).retry_after == seconds


def test_a_connection_that_nobody_takes_is_unreachable_also_when_the_time_is_up():
    with socket.socket() as listening, contextlib.ExitStack() as held:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):  # the system's queue is full, so the next connection gets no answer
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        with pytest.raises(Unreachable, match="No connection to"):
            net.request("GET", f"http://127.0.0.1:{listening.getsockname()[1]}/", policy=limited(seconds=0.4))


def test_nobody_there_is_unreachable():
    with server(answer()) as there:
        pass
    with pytest.raises(Unreachable, match="No connection to"):
        net.request("GET", there.url, policy=HERE)


@pytest.mark.parametrize("code", [socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_FAIL])
def test_an_unknown_name_is_refused_like_a_name_at_home(monkeypatch, code):
    def unknown(*args, **kwargs):
        raise socket.gaierror(code, "as the resolver says")

    at_home = NetPolicy.allowing("public", lookup=lambda host, port: [ipaddress.ip_address("10.1.2.3")])
    with pytest.raises(NotAdmitted) as hidden:
        net.request("GET", "http://hr.corp.example:8000/", policy=at_home)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NotAdmitted) as absent:
        net.request("GET", "http://hr.corp.example:8000/", policy=NetPolicy.allowing("public"))
    assert (str(hidden.value), hidden.value.unnamed) == (str(absent.value), absent.value.unnamed)


def test_a_resolver_that_is_down_is_worth_another_try(monkeypatch):
    def down(*args, **kwargs):
        raise socket.gaierror(socket.EAI_AGAIN, "later")

    monkeypatch.setattr(socket, "getaddrinfo", down)
    with pytest.raises(Unreachable, match="Try again"):
        net.request("GET", "http://api.example/", policy=NetPolicy.allowing("public"))


def test_a_large_request_is_not_sent():
    with pytest.raises(Refused):
        net.request("POST", "http://127.0.0.1:9/", content=b"x" * 101, policy=limited(max_request_bytes=100))
