"""HTTP requests. Each hop of a redirect is checked against the policy before it is sent."""

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

from lmgym.net.errors import BadResponse, HungUp, Refused, Unreachable
from lmgym.net.policy import NetPolicy
from lmgym.net.responses import Response, headers_of, lines, pieces
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
    """One hop of a request."""

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
        """Server name for messages, without path and query, which may contain a key."""
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
) -> Response:
    """Send one request and read the complete response, whatever its status; see `Response.raise_for_status`.

    Args:
        json: value sent as a JSON body, with its content type.
        content: body in bytes, instead of `json`.

    Raises:
        NetError: see the subclasses in `lmgym.net.errors`.
        ValueError: both `json` and `content` are given.
    """
    call = _prepare(method, url, headers, json, content, policy)
    with _open(call, policy) as (response, server):
        body = b"".join(pieces(response, policy.max_bytes, server)) if call.method != "HEAD" else b""
        return Response(response.status, headers_of(response), body, server)


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
    """Stream the lines of a response as they arrive, such as JSON lines or server-sent events.

    Read the lines in the same thread. Leaving the context closes the connection.

    Raises:
        HTTPStatus: the status is not 2xx; raised before the first line.
        NetError: see the other subclasses in `lmgym.net.errors`.
    """
    call = _prepare(method, url, headers, json, content, policy)
    with _open(call, policy) as (response, server):
        body = pieces(response, policy.max_bytes, server)
        if not 200 <= response.status < 300:
            Response(response.status, headers_of(response), b"".join(body), server).raise_for_status()
        yield _named_errors(lines(body, policy.max_line_bytes, server), server)


def is_broken_transfer(error: Exception) -> bool:
    """Return whether an httpx2 exception means that a transfer broke off or stalled.

    The exception may come from another library that uses httpx2.
    """
    not_connected = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)
    return isinstance(error, httpx2.TransportError) and not isinstance(error, not_connected)


def _prepare(
    method: str,
    url: str,
    headers: Mapping[str, str] | None,
    json: Any,
    content: bytes | None,
    policy: NetPolicy,
) -> _Call:
    if method not in METHODS:
        raise Refused(f"The method {method[:20]!r} is not supported.")
    if json is not None and content is not None:
        raise ValueError("pass either json or content, not both")
    defaults = {"accept": "application/json", "user-agent": _USER_AGENT}
    if json is not None:
        content = json_module.dumps(json, allow_nan=False, ensure_ascii=False).encode("utf-8", "strict")
        defaults["content-type"] = "application/json"
    if len(content or b"") > policy.max_request_bytes:
        raise Refused(f"The request is larger than {policy.max_request_bytes:,} bytes.")
    call = _Call(method, _parse(url), defaults | _checked_headers(headers or {}), content or b"")
    if not 0 < call.port < 65536:
        raise Refused(f"{call.port} is not a valid port.")
    return call


def _parse(url: str) -> httpx2.URL:
    if len(url) > _MOST_URL:
        raise Refused(f"The address is longer than {_MOST_URL} characters.")
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError) as error:
        raise Refused("This is not a web address.") from error
    if parsed.scheme not in _SCHEMES:
        raise Refused("The address must start with http:// or https://.")
    if parsed.userinfo:
        raise Refused("The address must not contain a user name or password; use a secret instead.")
    if not re.fullmatch(rb"[A-Za-z0-9._:-]+", parsed.raw_host) or parsed.raw_host.startswith(b"."):
        raise Refused("The address has no valid host name.")
    return parsed.copy_with(fragment=None)


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Lower-case the names.

    Raises:
        Refused: a name is invalid or reserved, or a value could inject another header or request.
    """
    checked = {}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise Refused(f"{name[:60]!r} is not a valid header name.")
        if name.lower() in _OURS:
            raise Refused(f"The header {name} is set automatically.")
        if not _VALUE.fullmatch(value):
            raise Refused(
                f"The value of the header {name} contains characters that are not allowed in headers."
            )
        checked[name.lower()] = value.strip()
    return checked


@contextmanager
def _open(call: _Call, policy: NetPolicy) -> Iterator[tuple[httpcore2.Response, str]]:
    """Open the response to `call`, or to the last of its redirects, without reading its body."""
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
                raise Refused(f"{call.what} redirected the request more than {policy.redirects} times.")
            call = following
        finally:
            connection.close()


def _connection(
    call: _Call, policy: NetPolicy, deadline: Deadline
) -> httpcore2.HTTPConnection | httpcore2.HTTPProxy:
    if policy.proxies and any(rule.lists(call.host) for rule in policy.rules) and (proxy := _proxy(call)):
        return _proxy_connection(proxy, policy, deadline)
    addresses = look_up_within(policy.lookup, call.host, call.port, deadline)
    require_admitted(policy.rules, call.url.scheme, call.host, addresses, call.port)
    if call.url.scheme == "http" and _SECRET & set(call.headers):
        _require_listed(call, addresses, policy)
    origin = httpcore2.Origin(call.url.scheme.encode(), call.host.encode(), call.port)
    backend = Fixed(addresses, deadline, _most_bytes(policy), call.what)
    return httpcore2.HTTPConnection(origin, ssl_context=policy.tls, network_backend=backend)


def _most_bytes(policy: NetPolicy) -> int:
    """Return the limit on bytes received, which allows for chunked encoding enlarging a body several times."""
    return 8 * policy.max_bytes + _HEADER_ROOM


def _proxy(call: _Call) -> httpx2.URL | None:
    """Return the proxy that the environment sets for this host, if any."""
    proxies = getproxies()
    url = proxies.get(call.url.scheme) or proxies.get("all")
    if not url or proxy_bypass(call.host):
        return None
    try:
        return httpx2.URL(url if "://" in url else f"http://{url}")
    except (httpx2.InvalidURL, ValueError) as error:
        raise Unreachable("The proxy set in the environment is not a valid address.") from error


def _proxy_connection(proxy: httpx2.URL, policy: NetPolicy, deadline: Deadline) -> httpcore2.HTTPProxy:
    port = proxy.port or _SCHEMES.get(proxy.scheme, 80)
    server = f"the proxy {proxy.host}:{port}"
    addresses = look_up_within(policy.lookup, proxy.host, port, deadline)
    if proxy.scheme not in _SCHEMES or not addresses:
        raise Unreachable(
            f"The proxy {proxy.host}:{port} is not an HTTP proxy, or its name cannot be resolved."
        )
    credentials = (proxy.username, proxy.password) if proxy.userinfo else None
    return httpcore2.HTTPProxy(
        f"{proxy.scheme}://{proxy.netloc.decode('ascii')}",
        proxy_auth=credentials,
        ssl_context=policy.tls,
        network_backend=Fixed(addresses, deadline, _most_bytes(policy), server),
    )


def _require_listed(call: _Call, addresses: list[Address], policy: NetPolicy) -> None:
    """Raise Refused unless a rule lists the host by name or address.

    Only such hosts may receive a key in clear text.
    """
    named = tuple(rule for rule in policy.rules if rule.is_named)
    try:
        require_admitted(named, "http", call.host, addresses, call.port)
    except Refused:
        raise Refused(
            f"A key is sent to {call.what} only over https://, because others could read it over http://."
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
    """Return the request for a redirect, or None. Secrets and bodies are never sent to another server."""
    location = headers_of(response).get("location")
    if response.status not in _REDIRECTS or location is None:
        return None
    following = replace(call, url=_parse(str(call.url.join(_parse_relative(location)))))
    if call.url.scheme == "https" and following.url.scheme == "http":
        raise Refused(f"{call.what} redirects from https:// to http://.")
    if response.status == 303 and call.method != "HEAD":
        following = _without_body(replace(following, method="GET"))
    elif call.method == "POST" and response.status in (301, 302):
        raise Refused(
            f"{call.what} redirects a POST with {response.status}; register the address it redirects to."
        )
    if following.origin == call.origin:
        return following
    if following.content:
        raise Refused(
            f"{call.what} redirects to {following.what}; request bodies are not sent to another server."
        )
    return replace(following, headers={k: v for k, v in following.headers.items() if k in _HARMLESS})


def _parse_relative(location: str) -> str:
    if len(location) > _MOST_URL or not location.isprintable():
        raise Refused("The server redirects to an invalid address.")
    try:
        return str(httpx2.URL(location))
    except (httpx2.InvalidURL, ValueError) as error:
        raise Refused("The server redirects to an invalid address.") from error


def _without_body(call: _Call) -> _Call:
    headers = {name: value for name, value in call.headers.items() if name != "content-type"}
    return replace(call, content=b"", headers=headers)


@contextmanager
def _translated(server: str) -> Iterator[None]:
    try:
        yield
    except (httpcore2.ReadError, httpcore2.WriteError, httpcore2.ConnectError) as error:
        raise HungUp(f"{server} closed the connection before its response was complete.") from error
    except httpcore2.ProxyError as error:
        raise Unreachable(f"The proxy did not connect to {server}.") from error
    except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise BadResponse(f"{server} cut off its response, or does not speak HTTP: {error}") from error


def _named_errors(body_lines: Iterator[bytes], server: str) -> Iterator[bytes]:
    with _translated(server):
        yield from body_lines
