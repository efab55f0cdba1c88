"""Kept responses of this process, within GYM_PAGE_CACHE_MB."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings

OVERHEAD_BYTES = 5_000
"""Approximate size of an entry without its body, with a key of up to LONGEST_KEY characters."""
LONGEST_KEY = 2_000
"""Characters of a key, which contains the address and headers of the client. Longer ones are not kept."""
LARGEST_PART = 8
"""A response larger than this part of the limit (an eighth) is not kept."""

WAIT_SECONDS = 15.0
"""Longest time that a request waits for another one to compute the same response."""


@dataclass(frozen=True)
class Kept:
    """A response, the versions of the tables that it was read from, and its end on the monotonic clock."""

    body: bytes
    headers: tuple[tuple[str, str], ...]
    match: Any
    dependencies: Mapping[str, Any]
    ends: float

    @property
    def size(self) -> int:
        return len(self.body) + OVERHEAD_BYTES

    def is_current(self, versions: Mapping[str, Any]) -> bool:
        """Return True if no table has changed. A table that is no longer watched has changed."""
        return all(versions.get(table) == version for table, version in self.dependencies.items())


class Store:
    """The least recently used responses are dropped first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._computing: dict[Hashable, threading.Event] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Hashable]:
        with self._lock:
            return iter(list(self._kept))

    def get(self, key: Hashable) -> Kept | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            if kept.ends <= time.monotonic():
                self._drop(key)
                return None
            self._kept.move_to_end(key)
            return kept

    def put(self, key: Hashable, kept: Kept) -> None:
        limit = settings.GYM_PAGE_CACHE_MB * 1_000_000
        if kept.size > limit / LARGEST_PART:
            return
        with self._lock:
            self._drop(key)
            self._kept[key] = kept
            self.size += kept.size
            while self.size > limit:
                self._drop(next(iter(self._kept)))

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[bool]:
        """Yield True to the first thread that computes a response again. Yields False to others once it has, or after
        WAIT_SECONDS, so that a change does not make every thread compute the same slow page. Nobody waits for a
        response that was not kept before, because it may not be kept this time either."""
        with self._lock:
            done = self._computing.get(key)
            is_first = done is None
            if done is None and key in self._kept:
                done = self._computing[key] = threading.Event()
        if done is None:
            yield True
            return
        if not is_first:
            if not done.wait(WAIT_SECONDS):
                self._end_turn(key, done)  # its thread was interrupted before it could end the turn
            yield False
            return
        try:
            yield True
        finally:
            self._end_turn(key, done)

    def _end_turn(self, key: Hashable, done: threading.Event) -> None:
        with self._lock:
            if self._computing.get(key) is done:
                del self._computing[key]
        done.set()

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._drop(key)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.size = 0

    def _drop(self, key: Hashable) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self.size -= kept.size


store = Store()
