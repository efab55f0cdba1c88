"""How to talk to an agent: the interface of a transport, deadlines, one request and its answer. Pure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gym.agents.core.protocol import Answer, AnswerReader, ProtocolError

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
    the address), `unsendable` (the case asks for something that cannot be sent), `status` (anything but 200)."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        self.trouble = trouble
        self.message = message
        super().__init__(message)


def never() -> bool:
    return False


@dataclass(frozen=True)
class Deadline:
    """When to give up: at a time of time.monotonic(), or earlier when `stop` returns True. `what` is given up."""

    at: float
    what: str = "The request"
    stop: Callable[[], bool] = never

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    @property
    def passed(self) -> bool:
        return self.left <= 0

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
