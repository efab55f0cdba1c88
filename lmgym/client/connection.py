"""Base of the client: requests, paginated lists, polling."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from .transport import Transport
from .values import AgentRun, Game, Model, Run

Awaited = TypeVar("Awaited", Run, Game, AgentRun, Model)
POLL_SECONDS = 0.5
MAX_POLL_SECONDS = 5.0


class Connection:
    """Requests to a site. `server` is its URL; `token` is from your profile page (not needed to read public data)."""

    def __init__(self, server: str, token: str = "", *, timeout: float = 60.0) -> None:
        self.transport = Transport(server, token, timeout)

    def get(self, path: str, **query: Any) -> Any:
        """Read JSON from a path below /api/v1/, such as `client.get("me/")`."""
        return self.transport.send("GET", path, query=query).json()

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.transport.send("POST", path, body=body).json()

    def rows(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a list, page by page."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if page["next"] is None:
                return
            page = self.get(page["next"])

    def _ended(
        self,
        read: Callable[[str], Awaited],
        key: str,
        on_update: Callable[[Awaited], None] | None,
        seconds: float,
    ) -> Awaited:
        end, pause = time.monotonic() + seconds, POLL_SECONDS
        while True:
            state = read(key)
            if on_update:
                on_update(state)
            if state.is_final:
                return state
            if time.monotonic() > end:
                kind = type(state).__name__
                raise TimeoutError(f"{kind} {key} is still {state.state} after {seconds:.0f} s")
            self.transport.sleep(pause)
            pause = min(pause * 1.5, MAX_POLL_SECONDS)
