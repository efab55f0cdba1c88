"""HTTP transport: JSON, problem+json errors, and retries according to Retry-After."""

from __future__ import annotations

import copyreg
import json
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

TRIES = 4
PATIENCE = 300.0
"""Maximum total seconds that a request waits between retries."""


class NotReached(Exception):
    """The server does not respond, or its response is not JSON."""


class ApiError(Exception):
    """An error response. `errors`: [{"where", "message", "hint"}], see docs/api.md."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail", "")) or f"The server responded with status {status}."
        self.existing = str(problem.get("suite", "")), problem.get("revision")  # of the identical suite
        self.errors: list[dict[str, str]] = list(problem.get("errors", []))
        self.groups: list[dict[str, Any]] = list(problem.get("problem_groups", []))  # the errors, by kind
        super().__init__(self.detail)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without calling `__init__`."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # not in typeshed

    def lines(self) -> list[str]:
        """Format for display: one line for each group of errors; without groups, the summary (unless there is exactly
        one error) and one line for each error."""
        if self.groups:
            return [*map(line_of, self.groups)]
        summary = [self.detail] if len(self.errors) != 1 else []
        return [*summary, *map(line_of, self.errors)]


_PLACE = re.compile(
    r"\$\.(?:items\[(?P<item>\d+)\]|predictions\[(?P<prediction>\d+)\])"
    r"(?:\.conditions\[(?P<condition>\d+)\])?(?:\.regions\[(?P<region>\d+)\])?"
)


def place_in_words(where: str) -> str:
    """Convert a JSON path to words: item 4, condition 1, region 3.

    Repeats `lmgym.text.problems.in_words`, so that this folder can be copied without the rest of `lmgym`.
    """
    if match := _PLACE.match(where):
        return ", ".join(f"{name} {int(n) + 1}" for name, n in match.groupdict().items() if n is not None)
    return re.sub(r"\A(\$\.?|\?)", "", where)


def line_of(row: Mapping[str, Any]) -> str:
    """Format an error of the API on one line: place, message, hint."""
    location = place_in_words(row["where"])
    where = f"{location}: " if location else ""
    if not row["hint"]:
        return f"{where}{row['message']}"
    stop = "" if row["message"].endswith((".", "!", "?", ":")) else "."
    return f"{where}{row['message']}{stop} {row['hint']}"


class _SameSite(HTTPRedirectHandler):
    """Follow the redirects of moved objects, which keep method and body, to addresses that begin with `api`. No others,
    because a token must not reach another host."""

    def __init__(self, api: str) -> None:
        self.api = api

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if code not in {307, 308} or not newurl.startswith(self.api):
            return None
        return Request(newurl, req.data, req.headers, method=req.get_method())  # noqa: S310  http(s)


@dataclass
class HttpResponse:
    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        """Parse the body. Raises NotReached if it is not JSON, because the server is then no LM Gym site."""
        try:
            return json.loads(self.body) if self.body else None
        except ValueError:
            raise NotReached("The response is not JSON. Is this the address of an LM Gym site?") from None


@dataclass
class Transport:
    """HTTP requests to a site. `server` is its URL, with or without a path."""

    server: str
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        parts = urlsplit(self.server)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ValueError(f"{self.server!r} is not the address of a site. Use https://…")
        self.server = self.server.rstrip("/")
        self.token = self.token.strip()  # a line end from a file or a pipe
        if not self.token.isascii() or not self.token.isprintable() or " " in self.token:
            raise ValueError(
                "The token has characters that no token has. Copy it again, without quotes or comments."
            )
        self._opener = build_opener(_SameSite(self.address("")))

    def address(self, path: str, query: Mapping[str, Any] | None = None) -> str:
        """Return the URL of a path below /api/v1/, or of a list's `next`, which already is a URL.

        Only the part of a URL below /api/v1/ is used, so no other host is contacted. Raises ValueError if it has none.
        """
        if path.startswith(("http://", "https://")):
            if urlsplit(path).path.startswith(urlsplit(self.server).path) and "/api/v1/" in path:
                return f"{self.server}/api/v1/{path.split('/api/v1/', 1)[1]}"
            raise ValueError(f"{path} is not a URL of {self.server}")
        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        return f"{self.server}/api/v1/{path}" + (
            f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        )

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        files: Sequence[tuple[str, bytes]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """Send a request, with retries. Each POST has an Idempotency-Key, so that a retry has no second effect. Raises
        ApiError and NotReached."""
        data, more = _body(body, files)
        sent = {"Accept": "*/*", **more, **(headers or {})}
        if method == "POST":
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        waited, pause = 0.0, 0.5
        for left in reversed(range(TRIES)):
            try:
                return self._once(Request(self.address(path, query), data, sent, method=method))  # noqa: S310  http(s)
            except NotReached:
                if not left:
                    raise
                wait, pause = pause, pause * 2
            except _RetryAfter as refusal:
                wait = refusal.seconds
                if not left or waited + wait > PATIENCE:
                    raise refusal.error from None
            waited += wait
            self.sleep(wait)
        raise AssertionError

    def _once(self, request: Request) -> HttpResponse:
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                return HttpResponse(response.status, response.headers, response.read())
        except HTTPError as refused:
            problem = _problem(refused)
            if refused.code == 404 and not problem.get("errors"):
                path = unquote(request.full_url.removeprefix(self.address("")))
                problem["detail"] = f"{path}: {problem.get('detail', 'not found')}"
            error = ApiError(refused.code, problem)
            retry_after = refused.headers.get("Retry-After", "")
            if refused.code in {409, 429, 503} and retry_after.isdigit():
                raise _RetryAfter(float(retry_after), error) from None
            raise error from None
        except (URLError, HTTPException, OSError) as error:
            raise NotReached(f"{self.server} does not respond: {getattr(error, 'reason', error)}") from error


class _RetryAfter(Exception):
    def __init__(self, seconds: float, error: ApiError) -> None:
        self.seconds, self.error = seconds, error


def _problem(refused: HTTPError) -> dict[str, Any]:
    try:
        problem = json.loads(refused.read())
    except (ValueError, OSError):
        problem = None
    if isinstance(problem, dict):
        return problem
    if (place := refused.headers.get("Location")) and 300 <= refused.code < 400:
        return {
            "detail": f"The server redirects to {place}, which was not followed. Is that the address of the site?"
        }
    return {
        "detail": f"The server responded with {refused.code} {refused.reason}. Is this the address of an LM Gym site?"
    }


def _body(body: Any, files: Sequence[tuple[str, bytes]]) -> tuple[bytes | None, dict[str, str]]:
    """Encode JSON, or a form with files and the fields of `body`."""
    if not files:
        if body is None:
            return None, {}
        return json.dumps(body).encode(), {"Content-Type": "application/json"}
    boundary = uuid.uuid4().hex
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in (body or {}).items()
    ]
    for filename, data in files:
        name = filename.replace('"', "_").replace("\r", "_").replace("\n", "_")
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        parts += [head.encode(), data, b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), {"Content-Type": f"multipart/form-data; boundary={boundary}"}
