"""How the driver talks to an agent server, whatever carries the bytes. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Trouble = Literal[
    "timeout", "unreachable", "refused", "status", "too-large", "encoding", "protocol", "stopped"
]


class TransportError(Exception):
    """Why there is no answer, by name: `timeout`, `unreachable` (no connection, or broken off), `refused` (an address
    this site does not talk to), `status` (anything but 200), `too-large`, `encoding`, `protocol`, `stopped`."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        self.trouble = trouble
        self.message = message
        super().__init__(message)


@dataclass(frozen=True)
class Deadline:
    """A moment of time.monotonic(), and what ends then."""

    at: float
    what: str = "The request"

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    @property
    def passed(self) -> bool:
        return self.left <= 0

    def error(self) -> TransportError:
        return TransportError("timeout", f"{self.what} took too long and was given up.")


def earliest(*deadlines: Deadline | None) -> Deadline:
    return min((deadline for deadline in deadlines if deadline), key=lambda deadline: deadline.at)


class Transport(Protocol):
    """Every method may raise TransportError, and gives up by itself when the deadline passes or `stop` says so."""

    secrets: tuple[str, ...]
    """Texts that must appear nowhere: the values of secret headers."""

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
