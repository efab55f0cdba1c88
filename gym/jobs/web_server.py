"""A web process: waitress on a socket that the parent bound for all of them, and an end to it when it hangs.

waitress reads a request and holds back an answer without a thread, so that slow clients cost connections only.
"""

from __future__ import annotations

import faulthandler
import math
import os
import resource
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from importlib import import_module
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import connections
from django.urls import get_resolver
from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.task import ThreadedTaskDispatcher

from gym.client_ip import client_ip
from gym.time_limits import interrupt

MAX_BODY = 55_000_000
"""Bytes of a request: the largest file that any page takes (50 MB, the log of a game), and what a form adds to it."""
MAX_HEADER = 65_536
CONNECTIONS = 1_000
"""Of one process. Each takes a file descriptor, and a second one while a large body or answer lies on disk."""
IDLE_SECONDS = 30
"""Without a byte from the client, in the middle of a request too, its connection is closed."""
KEEP_CONNECTION_SECONDS = 60
"""A connection to the database may be used for so long. Then a new one is opened, which frees what the old one held."""
STALLED_SECONDS = 60
"""A client that reads nothing of its answer for so long is cut off by the kernel."""


def bound_socket(host: str, port: int) -> socket.socket:
    """The address is ours from now on; the first web process begins to listen. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; connections inherit it
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_SECONDS * 1_000)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def usual_processes() -> int:
    """Two, so that one that hangs is not the whole site; one where there is a single core."""
    return min(2, os.cpu_count() or 1)


def serve_here(bound: socket.socket, threads: int) -> None:
    """Serve in this process until SystemExit."""
    settings.GYM_WEB_THREADS = threads
    _allow_files(2 * CONNECTIONS + 200)
    _keep_connections()
    module, _, name = settings.WSGI_APPLICATION.rpartition(".")
    site = Watched(getattr(import_module(module), name), threads)
    get_resolver().url_patterns  # noqa: B018  everything is loaded before the first request is taken
    threading.Thread(target=site.watch, args=(settings.GYM_WEB_HANG_SECONDS,), daemon=True).start()
    if settings.GYM_WEB_REQUEST_SECONDS:
        limit = settings.GYM_WEB_REQUEST_SECONDS
        threading.Thread(target=site.interrupt_for_ever, args=(limit,), daemon=True).start()
    create_server(
        site,
        _dispatcher=fair_dispatcher(threads),
        sockets=[bound],
        threads=threads,
        connection_limit=CONNECTIONS,
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=5,
        max_request_header_size=MAX_HEADER,
        max_request_body_size=MAX_BODY,
        asyncore_use_poll=True,  # select() knows 1,024 files at most
        ident=None,
        clear_untrusted_proxy_headers=not settings.GYM_BEHIND_PROXY,
    ).run()


def _keep_connections() -> None:
    """Each thread keeps its connection to PostgreSQL, and looks before a request whether it still holds: to open one
    costs more than most pages ask of the database."""
    for database in connections.settings.values():
        if database["ENGINE"].endswith("postgresql"):
            database.update(CONN_MAX_AGE=KEEP_CONNECTION_SECONDS, CONN_HEALTH_CHECKS=True)


def _allow_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Watched:
    """A WSGI application that knows whether it still answers."""

    def __init__(self, application: Callable[..., Iterable[bytes]], threads: int) -> None:
        self.application = application
        self.threads = threads
        self.ended = 0
        self._lock = threading.Lock()
        self._begun: dict[int, float] = {}
        """By thread, when its request began. A thread has one request at a time, so what an interrupted one left here
        ends with the next."""

    @property
    def busy(self) -> int:
        return len(self._begun)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        thread = threading.get_ident()
        with self._lock:
            self._begun[thread] = time.monotonic()
        try:
            return self.application(environ, start_response)
        finally:
            with self._lock:
                self._begun.pop(thread, None)
                self.ended += 1

    def interrupt_long_requests(self, seconds: float) -> None:
        """Raise RequestTooLong in the threads of requests that compute for so long; an answer that is made while it is
        sent does not count. Once each: an interrupted request may leave its thread here while it is idle."""
        with (
            self._lock
        ):  # a request cannot end, and its thread take the next, between the look and the exception
            for thread, begun in self._begun.items():
                if time.monotonic() - begun > seconds:
                    self._begun[thread] = math.inf
                    interrupt(thread)

    def interrupt_for_ever(self, seconds: float) -> None:
        """Look for long requests every second."""
        while True:
            time.sleep(min(1.0, seconds / 4))
            self.interrupt_long_requests(seconds)

    def watch(self, seconds: int) -> None:
        """End this process, with what its threads are at in the log, when every thread is busy for so long and no
        request ends, or when nothing but one thread runs at all: the timer needs no interpreter."""
        ended = -1
        while True:
            if self.busy < self.threads or self.ended != ended:
                ended = self.ended
                faulthandler.dump_traceback_later(seconds, exit=True)
            time.sleep(min(1.0, seconds / 4))


# --- clients take turns at the threads ---

Task = TypeVar("Task")


class Turns(Generic[Task]):
    """Waiting tasks. Their clients come round-robin, so each waits for one request of every other client and not for
    all of them; the tasks of one client stay in their order.

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
    address = client_ip(
        str(channel.addr[0]), headers.get("X_FORWARDED_FOR", ""), behind_proxy=settings.GYM_BEHIND_PROXY
    )
    return address, headers.get("AUTHORIZATION", ""), headers.get("COOKIE", "")


def fair_dispatcher(threads: int) -> ThreadedTaskDispatcher:
    """waitress's threads, with turns for its queue."""
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.queue = Turns(client_of)  # type: ignore[assignment]  # has the methods that waitress calls
    dispatcher.set_thread_count(threads)
    return dispatcher
