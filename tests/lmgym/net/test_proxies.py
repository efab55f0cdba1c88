"""Proxies from environment variables: used only if a policy enables them, and only for the hosts it names."""

from __future__ import annotations

import socket

import pytest

from lmgym import net
from lmgym.net import NetPolicy, TimedOut, Unreachable
from tests.lmgym.net.hostile import answer, server


@pytest.fixture
def proxy(monkeypatch):
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    def use(url: str, scheme: str = "http") -> None:
        monkeypatch.setenv(f"{scheme}_proxy", url)

    return use


def policy(entry: str = "hub.example.org", **more) -> NetPolicy:
    return NetPolicy.allowing(entry, **{"seconds": 2, "proxies": True} | more)


def test_a_named_host_is_asked_by_way_of_the_proxy(proxy):
    with server(answer(b"{}")) as there:
        proxy(there.url)
        assert net.request("GET", "http://hub.example.org/api?x=1", policy=policy()).json() == {}
    assert there.seen[0].startswith(b"GET http://hub.example.org:80/api?x=1 HTTP/1.1\r\n")


def test_tls_is_asked_for_by_connect(proxy):
    with server(answer(status="403 Forbidden")) as there:
        proxy(there.url.replace("http://", "http://user:word@"), "https")
        with pytest.raises(Unreachable, match=r"The proxy did not connect to https://hub\.example\.org:443"):
            net.request("GET", "https://hub.example.org/", policy=policy())
    assert there.seen[0].startswith(b"CONNECT hub.example.org:443 HTTP/1.1\r\n")
    assert b"proxy-authorization: basic dxnlcjp3b3jk" in there.seen[0].lower()


def test_the_deadline_holds_for_the_proxy(proxy):
    def dawdle(connection: socket.socket, request: bytes) -> None:
        connection.recv(1)

    with server(dawdle) as there:
        proxy(there.url)
        with pytest.raises(TimedOut):
            net.request("GET", "http://hub.example.org/", policy=policy(seconds=0.3))


def test_an_address_and_what_no_proxy_lists_are_asked_directly(proxy, monkeypatch):
    with server(answer(b"{}")) as there:
        proxy("http://127.0.0.1:9")
        assert net.request("GET", there.url, policy=policy("127.0.0.1")).ok
        monkeypatch.setenv("no_proxy", "localhost")
        url = there.url.replace("127.0.0.1", "localhost")
        assert net.request("GET", url, policy=policy("localhost")).ok


@pytest.mark.parametrize(
    ("url", "says"),
    [("socks5://127.0.0.1:9", "is not an HTTP proxy"), ("http://proxy:port", "is not a valid address")],
)
def test_a_proxy_that_is_none_is_said(proxy, url, says):
    proxy(url)
    with pytest.raises(Unreachable, match=says):
        net.request("GET", "http://hub.example.org/", policy=policy())
