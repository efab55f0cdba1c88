"""Fair turns: each client of a web process waits for one request of every other client, not for all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from django.conf import settings
from waitress.channel import HTTPChannel
from waitress.task import ThreadedTaskDispatcher

from gym.lib.counted_address import counted_address

Task = TypeVar("Task")


class Turns(Generic[Task]):
    """Waiting tasks. Their clients come round-robin; the tasks of one client stay in their order.

    It has the part of a deque that waitress uses, under waitress's lock."""

    def __init__(self, client_of: Callable[[Task], Hashable]) -> None:
        self._client_of = client_of
        self._waiting: dict[Hashable, deque[Task]] = {}  # the client whose turn is next comes first

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def append(self, task: Task) -> None:
        self._waiting.setdefault(self._client_of(task), deque()).append(task)

    def popleft(self) -> Task:
        client = next(iter(self._waiting))
        tasks = self._waiting.pop(client)
        task = tasks.popleft()
        if tasks:
            self._waiting[client] = tasks
        return task


def client_of(channel: HTTPChannel) -> tuple[str, ...]:
    """Who asks: the address (that of the proxy's client behind a proxy) and the token or the cookies.

    Whoever invents tokens gets more turns, and is no better off than without turns."""
    headers = channel.requests[0].headers
    address = counted_address(
        str(channel.addr[0]), headers.get("X_FORWARDED_FOR", ""), behind_proxy=settings.GYM_BEHIND_PROXY
    )
    return address, headers.get("AUTHORIZATION", ""), headers.get("COOKIE", "")


def fair_dispatcher(threads: int) -> ThreadedTaskDispatcher:
    """waitress's threads, with turns for its queue."""
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.queue = Turns(client_of)
    dispatcher.set_thread_count(threads)
    return dispatcher
