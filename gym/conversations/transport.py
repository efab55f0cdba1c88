"""How the driver talks to an agent server, whatever carries the bytes. Pure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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
    """Why there is no answer, by name: `timeout`, `unreachable` (no connection, or broken off), `refused` (an address
    this site does not talk to), `unsendable` (what the case asks for cannot be sent), `status` (anything but 200),
    `too-large`, `encoding`, `protocol`, `stopped`."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        self.trouble = trouble
        self.message = message
        super().__init__(message)


def never() -> bool:
    return False


@dataclass(frozen=True)
class Deadline:
    """A moment of time.monotonic(), and what ends then; or earlier, when `stop` says so."""

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
        """Raise TransportError when there is no time left, or nobody waits any more."""
        if self.passed:
            raise self.error()
        if self.stop():
            raise stopped()


def stopped() -> TransportError:
    return TransportError("stopped", "The run was stopped.")


@contextmanager
def one_at_a_time(lock: threading.Lock, check: Callable[[], None]) -> Iterator[None]:
    """Hold the lock. `check` is called while others hold it, and once it is ours; it may raise."""
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
    """Every method may raise TransportError, and gives up by itself when the deadline passes or `stop` says so."""

    secrets: tuple[str, ...]
    """Texts that must appear nowhere: the values of secret headers."""
    unsent: tuple[str, ...]
    """What of a case has no place in a request: of sly_data and metadata."""
    scheme: str
    """http or https; empty where nothing goes over a network."""

    def chat(
        self,
        agent: str,
        body: dict[str, Any],
        headers: Mapping[str, str],
        deadline: Deadline,
        stop: Callable[[], bool],
    ) -> Iterator[bytes]:
        """Send one request to an agent; the raw bytes of the answer as they come."""
        ...

    def get(self, path: str, deadline: Deadline) -> Any:
        """JSON from an address of the server, such as /api/v1/list."""
        ...
