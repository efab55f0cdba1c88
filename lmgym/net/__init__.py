"""The only way out of this site: every HTTP request it makes leaves through here.

    policy = NetPolicy.allowing("api.example.org:443", seconds=20)
    answer = net.request("POST", "https://lab.example.org/v1/completions", json={...}, policy=policy)
    with net.stream_lines("POST", url, json={...}, policy=policy) as lines:
        for line in lines: ...

The name is looked up once, every address of it is checked against the rules of the site, and the connection goes to
that very address. Time counts for the whole request, bytes before and after unpacking. No proxies, no cookies, no
`.netrc`. What can go wrong is named in `lmgym.net.errors`. docs/net.md says the rest.
"""

from __future__ import annotations

from lmgym.net.answers import Answer
from lmgym.net.client import request, stream_lines
from lmgym.net.errors import (
    BadAnswer,
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

__all__ = [
    "Answer",
    "BadAnswer",
    "HTTPStatus",
    "HungUp",
    "NetError",
    "NetPolicy",
    "NotAdmitted",
    "Refused",
    "TimedOut",
    "TooLarge",
    "Unreachable",
    "request",
    "stream_lines",
]
