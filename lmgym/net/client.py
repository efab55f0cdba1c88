"""Requests: checked before they leave, hop by hop."""

from __future__ import annotations

import json as json_module
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from lmgym.net.answers import Answer, headers_of, lines, pieces
from lmgym.net.errors import BadAnswer, HungUp, Refused, Unreachable
from lmgym.net.policy import NetPolicy
from lmgym.net.rules import Address, require_admitted
from lmgym.net.wire import Deadline, Fixed, look_up_within

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
_SCHEMES = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade"}
    | {"accept-encoding", "expect", "proxy-connection", "keep-alive"}
)
_SECRET = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})
_HARMLESS = frozenset({"accept", "user-agent"})
_MOST_URL = 4000
_HEADER_ROOM = 200_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_USER_AGENT = "LM-Gym"


@dataclass(frozen=True)
class _Call:
    """One hop: where it goes and what it carries."""

    method: str
    url: httpx2.URL
    headers: dict[str, str]
    content: bytes

    @property
    def host(self) -> str:
        return self.url.raw_host.decode("ascii").rstrip(".")

    @property
    def port(self) -> int:
        return self.url.port or _SCHEMES[self.url.scheme]

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.url.scheme, self.host, self.port

    @property
    def what(self) -> str:
        """How messages call it: neither query nor path, which may hold a key."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.url.scheme}://{host}:{self.port}"


def request(
    method: str,
    url: str,
    *,
    policy: NetPolicy,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    content: bytes | None = None,
) -> Answer:
    """Send one request and read its whole answer, whatever its status; see `Answer.raise_for_status`.

    json: sent as the body, with its content type. content: the body as bytes instead.
    Raises the errors of `lmgym.net.errors`."""
    call = _prepare(method, url, headers, json, content, policy)
    with _open(call, policy) as (response, what):
        body = b"".join(pieces(response, policy.max_bytes, what)) if call.method != "HEAD" else b""
        return Answer(response.status, headers_of(response), body, what)


@contextmanager
def stream_lines(
    method: str,
    url: str,
    *,
    policy: NetPolicy,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    content: bytes | None = None,
) -> Iterator[Iterator[bytes]]:
    """Lines of an answer as they come, e.g. of JSON lines or server-sent events. Not for another thread.

    An answer that is not a success raises HTTPStatus before the first line. Leaving early hangs up."""
    call = _prepare(method, url, headers, json, content, policy)
    with _open(call, policy) as (response, what):
        body = pieces(response, policy.max_bytes, what)
        if not 200 <= response.status < 300:
            Answer(response.status, headers_of(response), b"".join(body), what).raise_for_status()
        yield _named_errors(lines(body, policy.max_line_bytes, what), what)


def _prepare(
    method: str,
    url: str,
    headers: Mapping[str, str] | None,
    json: Any,
    content: bytes | None,
    policy: NetPolicy,
) -> _Call:
    if method not in METHODS:
        raise Refused(f"{method[:20]!r} is not a method this site sends.")
    if json is not None and content is not None:
        raise ValueError("a request has one body")
    given = {"accept": "application/json", "user-agent": _USER_AGENT}
    if json is not None:
        content = json_module.dumps(json, allow_nan=False, ensure_ascii=False).encode("utf-8", "strict")
        given["content-type"] = "application/json"
    if len(content or b"") > policy.max_request_bytes:
        raise Refused(f"The request is larger than {policy.max_request_bytes} bytes.")
    call = _Call(method, _parse(url), given | _checked_headers(headers or {}), content or b"")
    if not 0 < call.port < 65536:
        raise Refused(f"{call.port} is not a port.")
    return call


def _parse(url: str) -> httpx2.URL:
    if len(url) > _MOST_URL:
        raise Refused(f"The address is longer than {_MOST_URL} characters.")
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError) as error:
        raise Refused("This is not an address of the web.") from error
    if parsed.scheme not in _SCHEMES:
        raise Refused("Only addresses that start with http:// or https:// are asked.")
    if parsed.userinfo:
        raise Refused("An address may hold no user name and no password; give them as a secret instead.")
    if not re.fullmatch(rb"[A-Za-z0-9._:-]+", parsed.raw_host) or parsed.raw_host.startswith(b"."):
        raise Refused("The address names no host.")
    return parsed.copy_with(fragment=None)


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Names in lower case. What could start another header or another request is refused."""
    checked = {}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise Refused(f"{name[:60]!r} is not the name of a header.")
        if name.lower() in _OURS:
            raise Refused(f"The header {name} is set by this site itself.")
        if not _VALUE.fullmatch(value):
            raise Refused(f"The value of the header {name} holds characters a header cannot hold.")
        checked[name.lower()] = value.strip()
    return checked


@contextmanager
def _open(call: _Call, policy: NetPolicy) -> Iterator[tuple[httpcore2.Response, str]]:
    """The answer to `call`, or to where it was sent on, with its body unread."""
    deadline = Deadline(policy.seconds, call.what)
    for left in reversed(range(policy.redirects + 1)):
        connection = _connection(call, policy, deadline)
        try:
            with _translated(call.what):
                response = connection.handle_request(_wire_request(call))
            following = _next_hop(call, response) if left or policy.redirects else None
            if following is None:
                with _translated(call.what):
                    yield response, call.what
                return
            if not left:
                raise Refused(f"{call.what} sends on more than {policy.redirects} times.")
            call = following
        finally:
            connection.close()


def _connection(
    call: _Call, policy: NetPolicy, deadline: Deadline
) -> httpcore2.HTTPConnection | httpcore2.HTTPProxy:
    if policy.proxies and any(rule.lists(call.host) for rule in policy.rules) and (proxy := _proxy(call)):
        return _through(proxy, policy, deadline)
    addresses = look_up_within(policy.lookup, call.host, call.port, deadline)
    require_admitted(policy.rules, call.url.scheme, call.host, addresses, call.port)
    if call.url.scheme == "http" and _SECRET & set(call.headers):
        _require_listed(call, addresses, policy)
    origin = httpcore2.Origin(call.url.scheme.encode(), call.host.encode(), call.port)
    backend = Fixed(addresses, deadline, _most_bytes(policy), call.what)
    return httpcore2.HTTPConnection(origin, ssl_context=policy.tls, network_backend=backend)


def _most_bytes(policy: NetPolicy) -> int:
    """On the wire, where a body that is cut into tiny chunks is larger."""
    return 8 * policy.max_bytes + _HEADER_ROOM


def _proxy(call: _Call) -> httpx2.URL | None:
    """The proxy that the environment names for this host."""
    named = getproxies()
    url = named.get(call.url.scheme) or named.get("all")
    if not url or proxy_bypass(call.host):
        return None
    try:
        return httpx2.URL(url if "://" in url else f"http://{url}")
    except (httpx2.InvalidURL, ValueError) as error:
        raise Unreachable("The proxy that the environment names is not a valid address.") from error


def _through(proxy: httpx2.URL, policy: NetPolicy, deadline: Deadline) -> httpcore2.HTTPProxy:
    port = proxy.port or _SCHEMES.get(proxy.scheme, 80)
    what = f"the proxy {proxy.host}:{port}"
    addresses = look_up_within(policy.lookup, proxy.host, port, deadline)
    if proxy.scheme not in _SCHEMES or not addresses:
        raise Unreachable(
            f"The proxy {proxy.host}:{port} is not an HTTP proxy, or its name cannot be resolved."
        )
    signed = (proxy.username, proxy.password) if proxy.userinfo else None
    return httpcore2.HTTPProxy(
        f"{proxy.scheme}://{proxy.netloc.decode('ascii')}",
        proxy_auth=signed,
        ssl_context=policy.tls,
        network_backend=Fixed(addresses, deadline, _most_bytes(policy), what),
    )


def _require_listed(call: _Call, addresses: list[Address], policy: NetPolicy) -> None:
    """A key in clear text goes only to hosts an administrator named."""
    named = tuple(rule for rule in policy.rules if rule.is_named)
    try:
        require_admitted(named, "http", call.host, addresses, call.port)
    except Refused:
        raise Refused(
            f"A key is sent to {call.what} only over https://, since others could read it."
        ) from None


def _wire_request(call: _Call) -> httpcore2.Request:
    host = call.url.netloc.decode("ascii")
    headers = {"host": host, "accept-encoding": "gzip, identity", "connection": "close"} | call.headers
    if call.content or call.method in ("POST", "PUT", "PATCH"):
        headers["content-length"] = str(len(call.content))
    return httpcore2.Request(
        call.method,
        httpcore2.URL(
            scheme=call.url.scheme.encode(),
            host=call.host.encode(),
            port=call.port,
            target=call.url.raw_path,
        ),
        headers=[(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        content=call.content,
    )


def _next_hop(call: _Call, response: httpcore2.Response) -> _Call | None:
    """Where the answer sends on to; None when it does not. Nothing secret and no body goes to another server."""
    location = headers_of(response).get("location")
    if response.status not in _REDIRECTS or location is None:
        return None
    following = replace(call, url=_parse(str(call.url.join(_parse_relative(location)))))
    if call.url.scheme == "https" and following.url.scheme == "http":
        raise Refused(f"{call.what} sends on from https:// to http://.")
    if response.status == 303 and call.method != "HEAD":
        following = _without_body(replace(following, method="GET"))
    elif call.method == "POST" and response.status in (301, 302):
        raise Refused(
            f"{call.what} sends a POST on with {response.status}; register the address it sends on to."
        )
    if following.origin == call.origin:
        return following
    if following.content:
        raise Refused(f"{call.what} sends a request on to {following.what}; its body is not sent there.")
    return replace(following, headers={k: v for k, v in following.headers.items() if k in _HARMLESS})


def _parse_relative(location: str) -> str:
    if len(location) > _MOST_URL or not location.isprintable():
        raise Refused("The answer sends on to something that is not an address.")
    try:
        return str(httpx2.URL(location))
    except (httpx2.InvalidURL, ValueError) as error:
        raise Refused("The answer sends on to something that is not an address.") from error


def _without_body(call: _Call) -> _Call:
    headers = {name: value for name, value in call.headers.items() if name != "content-type"}
    return replace(call, content=b"", headers=headers)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except (httpcore2.ReadError, httpcore2.WriteError, httpcore2.ConnectError) as error:
        raise HungUp(f"{what} hung up.") from error
    except httpcore2.ProxyError as error:
        raise Unreachable(f"The proxy does not connect to {what}.") from error
    except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise BadAnswer(f"{what} broke off, or does not speak HTTP: {error}") from error


def _named_errors(found: Iterator[bytes], what: str) -> Iterator[bytes]:
    with _translated(what):
        yield from found
