"""How to talk to an agent: over HTTP (through lmgym.net), by a chat endpoint, or to a language model; deadlines."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
    """Why there is no answer: `unreachable` (no connection, or it broke off), `refused` (this site may not connect to
    the address), `unsendable` (the case asks for something that cannot be sent), `status` (anything but 200).
    `no_connection`: there was none, so that the next request would not reach the server either. `code`: the status;
    `retry_after`: seconds after which the server wants to be asked again, where it says so."""

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
    """When to give up: at a time of time.monotonic(), or earlier when `stop` returns True. `what` is given up.
    `outer`: the deadline of what the request is a part of; nothing puts it off. This one was put off by `waited`
    seconds while the server was busy, and by `held` before the request began."""

    at: float
    what: str = "The request"
    stop: Callable[[], bool] = never
    outer: Deadline | None = None
    waited: float = 0.0
    held: float = 0.0

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    @property
    def passed(self) -> bool:
        return self.left <= 0

    def put_off(self, seconds: float) -> None:
        """The server was busy for so long, which is no part of its answer's time."""
        self.waited += seconds
        self._later(seconds)

    def hold(self, seconds: float) -> None:
        """The request began so much later, which is no part of its answer's time."""
        self.held += seconds
        self._later(seconds)

    def _later(self, seconds: float) -> None:
        self.at += seconds
        if self.outer is not None and self.at > self.outer.at:
            self.at, self.what = self.outer.at, self.outer.what

    def error(self) -> TransportError:
        return TransportError("timeout", f"{self.what} took too long and was given up.")

    def check(self) -> None:
        """Raise TransportError when the time is up or the run was stopped."""
        if self.passed:
            raise self.error()
        if self.stop():
            raise TransportError("stopped", "The run was stopped.")


@contextmanager
def one_at_a_time(lock: threading.Lock, check: Callable[[], None]) -> Iterator[None]:
    """Hold the lock. `check` is called while waiting and once after acquiring; it may raise."""
    while not lock.acquire(timeout=0.1):
        check()
    try:
        check()
        yield
    finally:
        lock.release()


def earliest(*deadlines: Deadline | None) -> Deadline:
    return min((deadline for deadline in deadlines if deadline), key=lambda deadline: deadline.at)


class Transport(Protocol):
    """Every method may raise TransportError, and gives up by itself at the deadline."""

    secrets: tuple[str, ...]
    """Values of secret headers, which must appear in no output."""
    unsent: tuple[str, ...]
    """Which of sly_data and metadata cannot be sent."""
    scheme: str
    """http or https; empty without a network."""

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        """Send one request to an agent; the raw bytes of the answer as they come."""
        ...

    def get(self, path: str, deadline: Deadline) -> Any:
        """JSON from an address of the server, such as /api/v1/list."""
        ...


def ask(
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

SMALL = 2_000_000
MAX_TOLD = 500
"""Characters of a server's message about an error."""
TROUBLES: tuple[tuple[type[net.NetError], Trouble], ...] = (
    (net.TimedOut, "timeout"),
    (net.TooLarge, "too-large"),
    (net.HTTPStatus, "status"),
    (net.BadResponse, "encoding"),
    (net.Refused, "refused"),
    (net.Unreachable, "unreachable"),
)


class HTTPTransport:
    """One agent server. `headers` go with every request; `secrets` are the secret values among them. `policy` makes a
    NetPolicy from limits, such as gym.outbound_policy.net_policy."""

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
        return self._json(self._answer("GET", path, deadline), deadline)

    def _json(self, answer: net.Response, deadline: Deadline) -> Any:
        try:
            return answer.json()
        except net.NetError as error:
            raise self._named(error, deadline) from None

    def _answer(self, method: str, path: str, deadline: Deadline, **more: Any) -> net.Response:
        policy = self.policy(seconds=max(0.05, deadline.left), max_bytes=SMALL, redirects=0)
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


# --- chat endpoints and language models: their answers as the stream of JSON lines of an agent server ---


@dataclass(frozen=True)
class Completion:
    """`text` is None where the model said nothing; `ending`: how it ended, as servers name it (protocol.ENDINGS)."""

    text: str | None
    tokens: Mapping[str, Any]
    ending: str = ""


def lines_for(agent: str, body: dict[str, Any], said: Completion) -> Iterator[bytes]:
    """What an agent server would have sent."""
    text, tokens = body["user_message"]["text"], said.tokens
    origin = [{"tool": agent, "instantiation_index": 1}]
    turns = [*history_of(body.get("chat_context")), ("HUMAN", text), ("AI", said.text or "")]
    context = chat_context(origin, turns)
    told = [{"type": "HUMAN", "text": text, "origin": origin}]
    if tokens:
        told.append({"type": "AGENT", "text": "", "origin": origin, "structure": dict(tokens)})
    told.append(
        {
            "type": "AGENT_FRAMEWORK", "text": said.text, "origin": origin, "chat_context": context,
            "finish_reason": said.ending,
        }
    )  # fmt: skip
    for line in told:
        yield json.dumps({"response": line}).encode() + b"\n"


class ChatTransport(HTTPTransport):
    """An OpenAI-compatible chat endpoint: `url` ends before /chat/completions. Without `chat_model` the case's agent
    names the model. Private data and metadata are not sent: such an endpoint has no place for them."""

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
        said = [*history_of(body.get("chat_context")), ("HUMAN", text)]
        messages = [{"role": roles.get(kind, "user"), "content": told} for kind, told in said]
        sent = {"model": self.chat_model or agent, "messages": messages, "stream": False}
        answer = self._answer("POST", "/chat/completions", deadline, json=sent)
        given = self._json(answer, deadline)
        if (told := error_within(given)) is not None:
            message, code = told
            message = self._without_address(f"The server reported an error: {cut(message, MAX_TOLD)}")
            message = redactor(self.secrets)(message)
            raise TransportError("status", message, code=code, retry_after=answer.retry_after)
        yield from lines_for(agent, body, read_completion(given))

    def get(self, path: str, deadline: Deadline) -> Any:
        """The list of models stands for the list of agents; there is no more to know."""
        if path in ("/", "/healthz"):
            return {"service": "chat", "status": "ok", "versions": {}}
        if path == "/api/v1/list":
            models = super().get("/models", deadline)
            rows = models.get("data", []) if isinstance(models, dict) else []
            names = [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row]
            return {"agents": [{"agent_name": name, "description": ""} for name in names]}
        raise TransportError("status", "A chat endpoint does not tell this.")


BUSY_WORDS = {
    "rate_limit_exceeded": 429, "rate_limit_error": 429, "too_many_requests": 429, "resource_exhausted": 429,
    "overloaded_error": 503, "overloaded": 503, "server_overloaded": 503, "service_unavailable": 503,
    "unavailable": 503, "529": 503,
}  # fmt: skip
"""What servers say of a state that passes, where they do not say it by a status of HTTP."""


def error_within(given: Any) -> tuple[str, int] | None:
    """Message and status (0 without one) of an error that a server sends as an answer with status 200; None where it is
    no error."""
    if not isinstance(given, dict):
        return None
    choice = _first_choice(given)
    told = (
        given.get("error")
        or (choice or {}).get("error")
        or (given if given.get("object") == "error" else None)
    )
    if not told:
        return None
    if not isinstance(told, dict):
        return str(told), 0
    message = told.get("message") or json.dumps(told, ensure_ascii=False)
    return str(message), next(filter(None, map(_status_of, map(told.get, ("code", "status", "type")))), 0)


def _status_of(code: Any) -> int:
    word = str(code).lower()
    return BUSY_WORDS.get(word) or (int(word) if STATUS.fullmatch(word) else 0)


STATUS = re.compile("[1-5][0-9][0-9]")


def _first_choice(given: Any) -> dict[str, Any] | None:
    choices = given.get("choices") if isinstance(given, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def read_completion(given: Any) -> Completion:
    """What a chat completion says. Raises TransportError where it is none; one without text is an answer."""
    choice = _first_choice(given)
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, dict):
        raise TransportError("protocol", "The answer is no chat completion.")
    text, ending = _content(message.get("content")), str(choice.get("finish_reason") or "")
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        text, ending = refusal, "refusal"
    usage = given.get("usage")
    keys = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = (
        {key: usage[key] for key in keys if isinstance(usage.get(key), int)}
        if isinstance(usage, dict)
        else {}
    )
    return Completion(text, counts, ending)


SPOKEN = {None: "text", "text": "text", "output_text": "text", "refusal": "refusal"}
"""Kinds of parts that are said, and the key of their text; thoughts and pictures are not."""


def _content(content: Any) -> str | None:
    """The text of a message, whose parts may be listed. Raises TransportError."""
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
        part = part.get(SPOKEN[kind]) if kind is None or (isinstance(kind, str) and kind in SPOKEN) else None
    return part if isinstance(part, str) else None


class ContinuingTransport:
    """A language model that continues what was said: no instructions, no roles, a line per turn.

    continue_text: (text, seconds left) -> (continuation, tokens read, tokens written). One request at a time.
    """

    secrets: tuple[str, ...] = ()
    unsent: tuple[str, ...] = ("sly_data", "metadata")
    scheme = ""

    def __init__(self, name: str, continue_text: Callable[[str, float], tuple[str, int, int]]) -> None:
        self.name = name
        self.continue_text = continue_text
        self._one_at_a_time = threading.Lock()

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        text = body["user_message"]["text"]
        if text is None:
            yield b"{}\n"
            return
        said = "\n".join([*(told for _, told in history_of(body.get("chat_context"))), text])
        with one_at_a_time(self._one_at_a_time, deadline.check):
            answer, read, written = self.continue_text(said, deadline.left)
        if deadline.passed:
            raise deadline.error()
        tokens = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        yield from lines_for(agent, body, Completion(answer, tokens))

    def get(self, path: str, deadline: Deadline) -> Any:
        if path in ("/", "/healthz"):
            return {"service": "model", "status": "ok", "versions": {}}
        if path == "/api/v1/list":
            return {"agents": [{"agent_name": self.name, "description": "continues what it is told"}]}
        raise TransportError("status", "A model does not tell this.")
