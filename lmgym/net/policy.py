"""Limits of a request: servers it may reach, time and bytes."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any

from lmgym.net.rules import Rule, parse_rule
from lmgym.net.wire import Lookup, look_up


@dataclass(frozen=True)
class NetPolicy:
    """Limits of one request.

    Attributes:
        rules: servers that may be reached; without rules, none.
        seconds: total time for name lookup, connecting, TLS, sending, waiting, reading and all redirects.
        max_bytes: limit on the decompressed body; received bytes are limited to 8 times as many, plus room for headers.
        max_line_bytes: limit on one line of `stream_lines`.
        redirects: number of redirects to follow; with 0, the 3xx response is returned.
        proxies: for hosts that a rule names, use the proxy set in the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY,
            NO_PROXY), which then resolves their names.
        tls: certificates to trust instead of the system's.
    """

    rules: tuple[Rule, ...] = ()
    seconds: float = 30.0
    max_bytes: int = 10_000_000
    max_request_bytes: int = 5_000_000
    max_line_bytes: int = 1_000_000
    redirects: int = 0
    proxies: bool = False
    tls: ssl.SSLContext | None = field(default=None, compare=False, repr=False)
    lookup: Lookup = field(default=look_up, compare=False, repr=False)

    @classmethod
    def allowing(cls, *entries: str, **limits: Any) -> NetPolicy:
        """Build a policy from rules in the syntax of GYM_NET_ALLOW. Raises ValueError for an invalid rule."""
        return cls(rules=tuple(parse_rule(entry) for entry in entries), **limits)
