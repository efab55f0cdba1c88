"""What a run does with a server that does not answer: wait while it is busy, give it up when it is not there. Pure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lmgym.agents.transport import Deadline, Transport, TransportError

BUSY = (429, 503)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 16.0
"""Seconds between two tries where the server asks for no longer pause; doubled with each try."""
MOST_WAITED = 120.0
"""Seconds of waiting for one request, all pauses together."""
PATIENCE = 3
"""Requests in a row without a connection to a server that answered before, after which it is not asked again. The same
for requests that a busy server did not take within MOST_WAITED."""
HEAD_START = 1.0
"""Seconds that the first request of a run has, at most, to show whether the server is there. Iterations that begin
together would else all ask a server that is not. No request loses more than a tenth of its time by that."""
SLICE = 0.2
NOT_ASKED = "Not asked: "


class RetryingTransport:
    """A transport that asks a busy server (429, 503) again, no earlier than its Retry-After says. All threads of a run
    hold off together. The deadline of a request is put off by what was waited, and says how long that was."""

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
        self._told = ""
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
                asked = max(error.retry_after or 0.0, pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                with self._lock:
                    self._free_at = max(self._free_at, self._clock() + asked)
                    self._told = error.message

    def _wait(self, deadline: Deadline) -> None:
        while (pause := self._free_at - self._clock()) > 0:
            if deadline.waited + pause > MOST_WAITED:
                limit = f"at most {MOST_WAITED:g} s are waited for a request"
                raise _too_busy(deadline, pause, limit, self._told)
            if deadline.outer is not None and pause > deadline.outer.left:
                raise _too_busy(deadline, pause, "the test has less time left", self._told)
            deadline.put_off(pause)
            until = self._clock() + pause
            while (rest := until - self._clock()) > 0:
                deadline.check()
                self._sleep(min(SLICE, rest))

    def get(self, path: str, deadline: Deadline) -> Any:
        return self.transport.get(path, deadline)


def _too_busy(deadline: Deadline, pause: float, limit: str, told: str) -> TransportError:
    """`told`: what the server said of it last."""
    before = f"It was waited for {deadline.waited:,.0f} s. " if deadline.waited else ""
    message = f"The server is busy. {before}It may be asked again in {pause:,.0f} s, but {limit}. {told}"
    return TransportError("status", message, code=BUSY[0])


class CircuitBreaker:
    """A transport for one run. A server to which there is no connection is not asked for every iteration: it is given
    up after the first request where it has never answered, else after PATIENCE in a row. So is a server that stays too
    busy."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.secrets = transport.secrets
        self.unsent = transport.unsent
        self.scheme = transport.scheme
        self._left = 1
        self._why = ""
        self._begun = False
        self._known = threading.Event()
        self._lock = threading.Lock()

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        self._let_the_first_begin(deadline)
        if self._left <= 0:
            raise TransportError("unreachable", f"{NOT_ASKED}{self._why}.")
        try:
            for data in self.transport.chat(agent, body, headers, deadline):
                self._known.set()
                yield data
        except TransportError as error:
            busy = error.code in BUSY
            if error.no_connection or busy:
                with self._lock:
                    self._left -= 1
                    self._why = (
                        "the server was too busy for earlier requests"
                        if busy
                        else "earlier requests did not reach the server"
                    )
            raise
        finally:
            self._known.set()
        self._left = PATIENCE

    def _let_the_first_begin(self, deadline: Deadline) -> None:
        with self._lock:
            is_first, self._begun = not self._begun, True
        if not is_first and not self._known.is_set():
            began = time.monotonic()
            self._known.wait(min(HEAD_START, max(0.0, deadline.left / 10)))
            deadline.hold(time.monotonic() - began)

    def get(self, path: str, deadline: Deadline) -> Any:
        return self.transport.get(path, deadline)


def run_transport(transport: Transport) -> Transport:
    """The server as all requests of one run ask it."""
    return CircuitBreaker(RetryingTransport(transport))
