"""Transports that retry requests to busy servers and give up on unreachable servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lmgym.agents.transport import Deadline, Transport, TransportError

BUSY = (429, 503)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 16.0
"""Pause in seconds before the first retry, unless the server requests a longer one; doubled with each retry,
up to LONGEST_PAUSE."""
MAX_WAIT = 120.0
"""Maximum total waiting time for one request in seconds."""
PATIENCE = 3
"""Number of consecutive failed requests after which no more are sent to a server that answered before. A request fails
if it has no connection or is not accepted by a busy server within MAX_WAIT."""
HEAD_START = 1.0
"""Maximum time in seconds for which other requests wait for the first request of a run, so that parallel iterations do
not all try a server that is down. No request loses more than a tenth of its time."""
SLICE = 0.2
NOT_SENT = "Not sent: "


class RetryingTransport:
    """Transport that retries chat requests to a busy server (429, 503), respecting its Retry-After header.

    All threads of a run back off together. A request's deadline is extended by the waiting time and records it.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.transport = transport
        self.secrets = transport.secrets
        self.unsent = transport.unsent
        self.scheme = transport.scheme
        self._clock = clock
        self._sleep = sleep
        self._free_at = 0.0
        self._message = ""
        self._lock = threading.Lock()

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        pause = FIRST_PAUSE
        while True:
            self._wait(deadline)
            try:
                yield from self.transport.chat(agent, body, headers, deadline)
                return
            except TransportError as error:
                if error.code not in BUSY:
                    raise
                delay = max(error.retry_after or 0.0, pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                with self._lock:
                    self._free_at = max(self._free_at, self._clock() + delay)
                    self._message = error.message

    def _wait(self, deadline: Deadline) -> None:
        while (pause := self._free_at - self._clock()) > 0:
            if deadline.waited + pause > MAX_WAIT:
                limit = f"a request waits for at most {MAX_WAIT:g} s"
                raise _too_busy(deadline, pause, limit, self._message)
            if deadline.outer is not None and pause > deadline.outer.left:
                raise _too_busy(deadline, pause, "the test has less time left", self._message)
            deadline.extend(pause)
            until = self._clock() + pause
            while (rest := until - self._clock()) > 0:
                deadline.check()
                self._sleep(min(SLICE, rest))

    def get(self, path: str, deadline: Deadline) -> Any:
        return self.transport.get(path, deadline)


def _too_busy(deadline: Deadline, pause: float, limit: str, message: str) -> TransportError:
    """Build the error for a busy server. `message`: from the server's last response."""
    before = f"The request waited for {deadline.waited:,.0f} s. " if deadline.waited else ""
    text = f"The server is busy. {before}The server accepts another request in {pause:,.0f} s, but {limit}. {message}"
    return TransportError("status", text, code=BUSY[0])


class CircuitBreaker:
    """Transport for one run that stops sending requests to a server that is unreachable or remains too busy.

    Gives up after the first failure if the server has never answered, otherwise after PATIENCE consecutive failures.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.secrets = transport.secrets
        self.unsent = transport.unsent
        self.scheme = transport.scheme
        self._tries_left = 1
        self._why = ""
        self._begun = False
        self._known = threading.Event()
        self._lock = threading.Lock()

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        self._wait_for_first_request(deadline)
        if self._tries_left <= 0:
            raise TransportError("unreachable", f"{NOT_SENT}{self._why}.")
        try:
            for data in self.transport.chat(agent, body, headers, deadline):
                self._known.set()
                yield data
        except TransportError as error:
            busy = error.code in BUSY
            if error.no_connection or busy:
                with self._lock:
                    self._tries_left -= 1
                    self._why = (
                        "the server was too busy for earlier requests"
                        if busy
                        else "earlier requests did not reach the server"
                    )
            raise
        finally:
            self._known.set()
        self._tries_left = PATIENCE

    def _wait_for_first_request(self, deadline: Deadline) -> None:
        with self._lock:
            is_first, self._begun = not self._begun, True
        if not is_first and not self._known.is_set():
            began = time.monotonic()
            self._known.wait(min(HEAD_START, max(0.0, deadline.left / 10)))
            deadline.postpone(time.monotonic() - began)

    def get(self, path: str, deadline: Deadline) -> Any:
        return self.transport.get(path, deadline)


def run_transport(transport: Transport) -> Transport:
    """Wrap a transport for all requests of one run."""
    return CircuitBreaker(RetryingTransport(transport))
