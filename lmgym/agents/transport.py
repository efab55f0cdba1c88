"""Transports to agent servers and chat endpoints, and the deadlines for their requests. HTTP goes through lmgym.net."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.parse import quote, urlsplit

from lmgym import net
from lmgym.agents.protocol import (
    MAX_BYTES,
    MAX_LINE,
    Answer,
    AnswerReader,
    ProtocolError,
    chat_context,
    history_of,
)
from lmgym.agents.redact import cut, redactor

Trouble = Literal[
    "timeout",
    "unreachable",
    "refused",
    "unsendable",
    "status",
    "too-large",
    "encoding",
    "protocol",
    "stopped",
]


class TransportError(Exception):
    """Raised if a request gets no answer.

    `trouble`: among others `unreachable` (no connection, or it was lost), `refused` (this site may not connect to the
    address), `unsendable` (the case contains data that cannot be sent), `status` (a status other than 2xx, or an error
    sent with status 200).
    `no_connection`: no connection was established, so the next request would fail as well. `code`: HTTP status.
    `retry_after`: seconds after which the server accepts another request, if it reports them.
    """

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        *,
        no_connection: bool = False,
        code: int = 0,
        retry_after: float | None = None,
    ) -> None:
        self.trouble = trouble
        self.message = message
        self.no_connection = no_connection
        self.code = code
        self.retry_after = retry_after
        super().__init__(message)


def never() -> bool:
    return False


@dataclass
class Deadline:
    """Time limit for an operation, as a value of time.monotonic(). It ends earlier if `stop` returns True.

    `what` names the operation in messages. `outer`: deadline of the enclosing operation, which is never extended.
    `waited` and `postponed`: seconds by which this deadline was extended because the server was busy, and because the
    request was delayed.
    """

    at: float
    what: str = "The request"
    stop: Callable[[], bool] = never
    outer: Deadline | None = None
    waited: float = 0.0
    postponed: float = 0.0

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    @property
    def passed(self) -> bool:
        return self.left <= 0

    def extend(self, seconds: float) -> None:
        """Extend the deadline by the time for which the server was busy; the response time excludes it."""
        self.waited += seconds
        self._later(seconds)

    def postpone(self, seconds: float) -> None:
        """Extend the deadline by a delay that occurred before the request was sent."""
        self.postponed += seconds
        self._later(seconds)

    def _later(self, seconds: float) -> None:
        self.at += seconds
        if self.outer is not None and self.at > self.outer.at:
            self.at, self.what = self.outer.at, self.outer.what

    def error(self) -> TransportError:
        return TransportError("timeout", f"{self.what} took too long and was cancelled.")

    def check(self) -> None:
        """Raise TransportError if the deadline has passed or the run was stopped."""
        if self.passed:
            raise self.error()
        if self.stop():
            raise TransportError("stopped", "The run was stopped.")


def earliest(*deadlines: Deadline | None) -> Deadline:
    return min((deadline for deadline in deadlines if deadline), key=lambda deadline: deadline.at)


class Transport(Protocol):
    """Connection to a server. Every method may raise TransportError, and gives up at the deadline."""

    secrets: tuple[str, ...]
    """Values of secret headers, which must not appear in output."""
    unsent: tuple[str, ...]
    """Parts of a case that cannot be sent: sly_data, metadata or both."""
    scheme: str
    """URL scheme: http or https; empty for a server in this process."""

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        """Send one request to an agent; yield the raw bytes of the answer as they arrive."""
        ...

    def get(self, path: str, deadline: Deadline) -> Any:
        """Return the JSON at a path of the server, such as /api/v1/list."""
        ...


def send_request(
    transport: Transport, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
) -> Answer:
    """Send one request and read the whole answer. Raises TransportError."""
    deadline.check()
    reader = AnswerReader()
    try:
        for data in transport.chat(agent, body, headers, deadline):
            reader.feed(data)
            deadline.check()
        return reader.finish()
    except ProtocolError as error:
        raise TransportError("protocol", str(error)) from None


# --- an agent server, over HTTP ---

MAX_JSON_BYTES = 2_000_000
MAX_ERROR_LENGTH = 500
"""Maximum length of a server's error message in characters."""
TROUBLES: tuple[tuple[type[net.NetError], Trouble], ...] = (
    (net.TimedOut, "timeout"),
    (net.TooLarge, "too-large"),
    (net.HTTPStatus, "status"),
    (net.BadResponse, "encoding"),
    (net.Refused, "refused"),
    (net.Unreachable, "unreachable"),
)


class HTTPTransport:
    """Transport to an agent server over HTTP.

    Args:
        url: URL of the server.
        policy: function from limits to a NetPolicy, such as gym.outbound_policy.net_policy.
        headers: headers sent with every request.
        secrets: values of `headers` that are secret.
    """

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
        # The server's headers take precedence, so that a case cannot replace a secret header.
        merged = _merged(headers, self.headers)
        try:
            with net.stream_lines("POST", address, headers=merged, json=body, policy=policy) as lines:
                for line in lines:
                    yield line + b"\n"
        except net.NetError as error:
            raise self._named(error, deadline) from None

    def get(self, path: str, deadline: Deadline) -> Any:
        return self._json(self._answer("GET", path, deadline), deadline)

    def _json(self, answer: net.Response, deadline: Deadline) -> Any:
        try:
            return answer.json()
        except net.NetError as error:
            raise self._named(error, deadline) from None

    def _answer(self, method: str, path: str, deadline: Deadline, **more: Any) -> net.Response:
        policy = self.policy(seconds=max(0.05, deadline.left), max_bytes=MAX_JSON_BYTES, redirects=0)
        try:
            answer = net.request(method, self.url + path, headers=self.headers, policy=policy, **more)
            return answer.raise_for_status()
        except net.NetError as error:
            raise self._named(error, deadline) from None

    def _named(self, error: net.NetError, deadline: Deadline) -> TransportError:
        trouble: Trouble = next((name for kind, name in TROUBLES if isinstance(error, kind)), "unreachable")
        if trouble == "timeout":
            return deadline.error()
        message = error.unnamed if isinstance(error, net.NotAdmitted) else self._without_address(str(error))
        if isinstance(error, net.HTTPStatus) and error.status == 404:
            message = "The server has no such agent (404)."
        no_connection = isinstance(error, net.Unreachable) and not isinstance(error, net.HungUp)
        code, later = (error.status, error.retry_after) if isinstance(error, net.HTTPStatus) else (0, None)
        clean = redactor(self.secrets)
        return TransportError(
            trouble, clean(message), no_connection=no_connection, code=code, retry_after=later
        )

    def _without_address(self, message: str) -> str:
        """Remove the server's address, because results are shown to users who are not allowed to see it."""
        parts = urlsplit(self.url)
        for known in (self.url, f"{parts.scheme}://{parts.netloc}", parts.netloc, parts.hostname or ""):
            if known:
                place = rf"(?<![\w.-]){re.escape(known)}(?![\w-])[^\s,;]*?(?=[.,;]?(?:\s|$))"
                message = re.sub(place, "the server", message, flags=re.IGNORECASE)
        return message[:1].upper() + message[1:]


def _merged(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Merge headers; headers in `second` take precedence. Names are case-insensitive."""
    names = {name.lower() for name in second}
    return {**{name: value for name, value in first.items() if name.lower() not in names}, **second}


def server_address_problem(url: str) -> str:
    """Return the problem with a server's address; empty if the address is plausible."""
    try:
        parts = urlsplit(url)
        port_ok = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        return "This is not a web address."
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        return "The address must begin with http:// or https:// and name a host, such as https://agents.example.org:8080."
    if parts.username or parts.password:
        return "The address may not contain a user name or password. Put them into secret headers."
    if parts.query or parts.fragment:
        return "The address may not contain ? or #."
    return ""


# --- chat endpoints, whose answers are converted to an agent server's stream of JSON lines ---


@dataclass(frozen=True)
class Completion:
    """Answer from a chat endpoint. `text`: None if the answer has no text. `ending`: a key of protocol.ENDINGS, or
    empty.
    """

    text: str | None
    tokens: Mapping[str, Any]
    ending: str = ""


def lines_for(agent: str, body: dict[str, Any], completion: Completion) -> Iterator[bytes]:
    """Yield the lines that an agent server would have sent for this completion."""
    text, tokens = body["user_message"]["text"], completion.tokens
    origin = [{"tool": agent, "instantiation_index": 1}]
    turns = [*history_of(body.get("chat_context")), ("HUMAN", text), ("AI", completion.text or "")]
    context = chat_context(origin, turns)
    messages = [{"type": "HUMAN", "text": text, "origin": origin}]
    if tokens:
        messages.append({"type": "AGENT", "text": "", "origin": origin, "structure": dict(tokens)})
    messages.append(
        {
            "type": "AGENT_FRAMEWORK", "text": completion.text, "origin": origin, "chat_context": context,
            "finish_reason": completion.ending,
        }
    )  # fmt: skip
    for message in messages:
        yield json.dumps({"response": message}).encode() + b"\n"


class ChatTransport(HTTPTransport):
    """Transport to an OpenAI-compatible chat endpoint; `url` is the part before /chat/completions.

    Without `chat_model`, the name of the case's agent is used as the model name. Private data and metadata are not
    sent, because such endpoints do not accept them.
    """

    unsent: tuple[str, ...] = ("sly_data", "metadata")

    def __init__(self, url: str, chat_model: str = "", **more: Any) -> None:
        super().__init__(url, **more)
        self.chat_model = chat_model

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        text = body["user_message"]["text"]
        if text is None:
            yield b"{}\n"
            return
        roles = {"HUMAN": "user", "AI": "assistant"}
        turns = [*history_of(body.get("chat_context")), ("HUMAN", text)]
        messages = [{"role": roles.get(kind, "user"), "content": content} for kind, content in turns]
        sent = {"model": self.chat_model or agent, "messages": messages, "stream": False}
        answer = self._answer("POST", "/chat/completions", deadline, json=sent)
        completion = self._json(answer, deadline)
        if (error := error_within(completion)) is not None:
            message, code = error
            message = self._without_address(f"The server reported an error: {cut(message, MAX_ERROR_LENGTH)}")
            message = redactor(self.secrets)(message)
            raise TransportError("status", message, code=code, retry_after=answer.retry_after)
        yield from lines_for(agent, body, read_completion(completion))

    def get(self, path: str, deadline: Deadline) -> Any:
        """Return the models as the list of agents, or a constant status for "/" and "/healthz".

        Raises TransportError for other paths.
        """
        if path in ("/", "/healthz"):
            return {"service": "chat", "status": "ok", "versions": {}}
        if path == "/api/v1/list":
            models = super().get("/models", deadline)
            rows = models.get("data", []) if isinstance(models, dict) else []
            names = [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row]
            return {"agents": [{"agent_name": name, "description": ""} for name in names]}
        raise TransportError("status", "A chat endpoint has no such path.")


BUSY_CODES = {
    "rate_limit_exceeded": 429, "rate_limit_error": 429, "too_many_requests": 429, "resource_exhausted": 429,
    "overloaded_error": 503, "overloaded": 503, "server_overloaded": 503, "service_unavailable": 503,
    "unavailable": 503, "529": 503,
}  # fmt: skip
"""HTTP status by error code, for temporary errors sent with a different status."""


def error_within(completion: Any) -> tuple[str, int] | None:
    """Return message and status (0 if unknown) of an error sent with status 200; None if there is no error."""
    if not isinstance(completion, dict):
        return None
    choice = _first_choice(completion)
    error = (
        completion.get("error")
        or (choice or {}).get("error")
        or (completion if completion.get("object") == "error" else None)
    )
    if not error:
        return None
    if not isinstance(error, dict):
        return str(error), 0
    message = error.get("message") or json.dumps(error, ensure_ascii=False)
    return str(message), next(filter(None, map(_status_of, map(error.get, ("code", "status", "type")))), 0)


def _status_of(code: Any) -> int:
    name = str(code).lower()
    return BUSY_CODES.get(name) or (int(name) if STATUS.fullmatch(name) else 0)


STATUS = re.compile("[1-5][0-9][0-9]")


def _first_choice(completion: Any) -> dict[str, Any] | None:
    choices = completion.get("choices") if isinstance(completion, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def read_completion(completion: Any) -> Completion:
    """Read a chat completion, which may have no text. Raises TransportError if the JSON is not a chat completion."""
    choice = _first_choice(completion)
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, dict):
        raise TransportError("protocol", "The response is not a chat completion.")
    text, ending = _content(message.get("content")), str(choice.get("finish_reason") or "")
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        text, ending = refusal, "refusal"
    usage = completion.get("usage")
    keys = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = (
        {key: usage[key] for key in keys if isinstance(usage.get(key), int)}
        if isinstance(usage, dict)
        else {}
    )
    return Completion(text, counts, ending)


TEXT_KEYS = {None: "text", "text": "text", "output_text": "text", "refusal": "refusal"}
"""Key of the text by type of content part. Thoughts and images are omitted."""


def _content(content: Any) -> str | None:
    """Return the text of a message, which may be a list of parts. Raises TransportError."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TransportError(
            "protocol", "The content of the chat completion is neither text nor a list of parts."
        )
    texts = [_part(part) for part in content]
    return (
        "".join(text for text in texts if text is not None)
        if any(text is not None for text in texts)
        else None
    )


def _part(part: Any) -> str | None:
    if isinstance(part, dict):
        kind = part.get("type")
        part = (
            part.get(TEXT_KEYS[kind])
            if kind is None or (isinstance(kind, str) and kind in TEXT_KEYS)
            else None
        )
    return part if isinstance(part, str) else None
