"""What a request may reach, and how much of it there may be."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any

from lmgym.net.rules import Rule, parse_rule
from lmgym.net.wire import Lookup, look_up


@dataclass(frozen=True)
class NetPolicy:
    """Limits of one request. `rules` decide where it may go; without a rule it goes nowhere.

    seconds: for everything: looking up, connecting, TLS, sending, waiting, reading, and all redirects
    max_bytes: of the body, packed and unpacked
    max_line_bytes: of one line of `stream_lines`
    tls: certificates that are trusted instead of the system's
    redirects: how many are followed. 0: the answer 3xx is handed over as it is
    proxies: whether hosts that a rule names are asked by way of the proxy that the environment names (HTTPS_PROXY,
        HTTP_PROXY, ALL_PROXY, NO_PROXY), which then looks up their addresses
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
        """A policy with the rules of these entries, as GYM_NET_ALLOW spells them; ValueError names a wrong one."""
        return cls(rules=tuple(parse_rule(entry) for entry in entries), **limits)
