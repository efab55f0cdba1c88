"""Talking to an agent server over HTTP, through gym.net. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from gym import net
from gym.agents.core.protocol import MAX_BYTES, MAX_LINE
from gym.agents.core.redact import redactor
from gym.agents.core.transport import Deadline, TransportError, Trouble

SMALL = 2_000_000
TROUBLES: tuple[tuple[type[net.NetError], Trouble], ...] = (
    (net.TimedOut, "timeout"),
    (net.TooLarge, "too-large"),
    (net.HTTPStatus, "status"),
    (net.BadAnswer, "encoding"),
    (net.Refused, "refused"),
    (net.Unreachable, "unreachable"),
)


class HTTPTransport:
    """One agent server. `headers` go with every request; `secrets` are the secret values among them. `policy` makes a
    NetPolicy from limits, such as gym.way_out.net_policy."""

    unsent: tuple[str, ...] = ()

    def __init__(
        self,
        url: str,
        *,
        policy: Callable[..., net.NetPolicy],
        headers: Mapping[str, str] | None = None,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.url = url.rstrip("/")
        self.scheme = urlsplit(url).scheme
        self.policy = policy
        self.headers = dict(headers or {})
        self.secrets = secrets

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        address = f"{self.url}/api/v1/{quote(agent, safe='/')}/streaming_chat"
        policy = self.policy(
            seconds=max(0.05, deadline.left), max_bytes=MAX_BYTES, max_line_bytes=MAX_LINE, redirects=0
        )
        # The server's own headers win, so that a case cannot replace a secret header.
        given = _merged(headers, self.headers)
        try:
            with net.stream_lines("POST", address, headers=given, json=body, policy=policy) as lines:
                for line in lines:
                    yield line + b"\n"
        except net.NetError as error:
            raise self._named(error, deadline) from None

    def get(self, path: str, deadline: Deadline) -> Any:
        return self._json("GET", path, deadline)

    def _json(self, method: str, path: str, deadline: Deadline, **more: Any) -> Any:
        policy = self.policy(seconds=max(0.05, deadline.left), max_bytes=SMALL, redirects=0)
        try:
            answer = net.request(method, self.url + path, headers=self.headers, policy=policy, **more)
            return answer.raise_for_status().json()
        except net.NetError as error:
            raise self._named(error, deadline) from None

    def _named(self, error: net.NetError, deadline: Deadline) -> TransportError:
        trouble: Trouble = next((name for kind, name in TROUBLES if isinstance(error, kind)), "unreachable")
        if trouble == "timeout":
            return deadline.error()
        message = error.unnamed if isinstance(error, net.NotAdmitted) else self._without_address(str(error))
        if isinstance(error, net.HTTPStatus) and error.status == 404:
            message = "The server has no such agent (404)."
        return TransportError(trouble, redactor(self.secrets)(message))

    def _without_address(self, message: str) -> str:
        """Results are shown to people who may not see the server's address."""
        parts = urlsplit(self.url)
        for known in (self.url, f"{parts.scheme}://{parts.netloc}", parts.netloc, parts.hostname or ""):
            if known:
                place = rf"(?<![\w.-]){re.escape(known)}(?![\w-])[^\s,;]*?(?=[.,;]?(?:\s|$))"
                message = re.sub(place, "the server", message, flags=re.IGNORECASE)
        return message[:1].upper() + message[1:]


def _merged(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Headers of both, the second winning whatever the case of the names."""
    taken = {name.lower() for name in second}
    return {**{name: value for name, value in first.items() if name.lower() not in taken}, **second}


def server_address_problem(url: str) -> str:
    """What is wrong with the address of a server, in words; empty when it can be tried."""
    try:
        parts = urlsplit(url)
        port_ok = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        return "This is not an address of the web."
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        return "The address begins with http:// or https:// and names a host, such as https://agents.example.org:8080."
    if parts.username or parts.password:
        return "Put keys into headers as secrets, not into the address."
    if parts.query or parts.fragment:
        return "The address ends before ? and #."
    return ""
