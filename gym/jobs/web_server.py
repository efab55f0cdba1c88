"""A web process: waitress on a socket bound by the parent, with fair scheduling of clients and a watchdog.

waitress reads requests and buffers responses without a thread, so slow clients occupy only connections.
"""

from __future__ import annotations

import faulthandler
import gc
import math
import resource
import signal
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
"""Maximum bytes of a request: the largest upload (50 MB, the log of a game) with the overhead of its form."""
MAX_HEADER = 65_536
CONNECTIONS = 1_000
"""Maximum connections of a process. Each needs a file descriptor, or two while a large body is buffered on disk."""
IDLE_SECONDS = 30
"""Seconds without data from the client after which a connection is closed, even in the middle of a request."""
KEEP_CONNECTION_SECONDS = 60
"""Lifetime of a database connection. Replacing it frees its memory on the server."""
STALLED_SECONDS = 60
"""Seconds after which the kernel closes a connection whose client reads nothing."""


def bound_socket(host: str, port: int) -> socket.socket:
    """Bind the address; web processes listen on it. Raises OSError."""
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


def serve_here(bound: socket.socket, threads: int) -> None:
    """Serve in this process until SIGTERM. Call it in the main thread."""
    settings.GYM_WEB_THREADS = threads
    _allow_files(2 * CONNECTIONS + 200)
    _keep_connections()
    module, _, name = settings.WSGI_APPLICATION.rpartition(".")
    site = Watched(getattr(import_module(module), name), threads)
    get_resolver().url_patterns  # noqa: B018  load everything before the first request
    collect_less_often()
    threading.Thread(target=site.watch, args=(settings.GYM_WEB_HANG_SECONDS,), daemon=True).start()
    if settings.GYM_WEB_REQUEST_SECONDS:
        limit = settings.GYM_WEB_REQUEST_SECONDS
        threading.Thread(target=site.interrupt_forever, args=(limit,), daemon=True).start()
    server = create_server(
        site,
        _dispatcher=fair_dispatcher(threads),
        sockets=[bound],
        threads=threads,
        connection_limit=CONNECTIONS,
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=5,
        max_request_header_size=MAX_HEADER,
        max_request_body_size=MAX_BODY,
        asyncore_use_poll=True,  # select() supports at most 1,024 files
        ident=None,
        clear_untrusted_proxy_headers=not settings.GYM_BEHIND_PROXY,
    )
    # Not earlier: the exception would be lost if the signal arrived in a callback of the garbage collector. Until now
    # there is nothing to finish, so the default action serves.
    signal.signal(signal.SIGTERM, _stop)
    server.run()


def collect_less_often() -> None:
    """Set the garbage collector for pages: they make thousands of objects, none of them in cycles. The objects of
    loaded code are never looked at."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _stop(number: int, frame: object) -> None:
    raise SystemExit(0)  # waitress finishes running requests


def _keep_connections() -> None:
    """Keep a database connection per thread: opening one costs more than the queries of most pages. Those of PostgreSQL
    are checked before each request."""
    for database in connections.settings.values():
        has_server = database["ENGINE"].endswith("postgresql")
        database.update(CONN_MAX_AGE=KEEP_CONNECTION_SECONDS, CONN_HEALTH_CHECKS=has_server)


def _allow_files(number: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class Watched:
    """WSGI wrapper that detects hanging and overlong requests."""

    def __init__(self, application: Callable[..., Iterable[bytes]], threads: int) -> None:
        self.application = application
        self.threads = threads
        self.ended = 0
        self._lock = threading.Lock()
        self._begun: dict[int, float] = {}
        """Start time of the current request by thread; infinity once that request has been interrupted."""

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
        """Raise RequestTooLong once in each thread whose request has run for `seconds`. Streaming a response does not
        count."""
        # locked, so that the thread cannot start another request between the check and the exception
        with self._lock:
            for thread, begun in self._begun.items():
                if time.monotonic() - begun > seconds:
                    self._begun[thread] = math.inf
                    interrupt(thread)

    def interrupt_forever(self, seconds: float) -> None:
        """Call `interrupt_long_requests` at least every second."""
        while True:
            time.sleep(min(1.0, seconds / 4))
            self.interrupt_long_requests(seconds)

    def watch(self, seconds: int) -> None:
        """Exit, logging the stacks of all threads, if all threads are busy and no request ends for `seconds`, or if the
        interpreter is blocked, which faulthandler's timer detects."""
        ended = -1
        while True:
            if self.busy < self.threads or self.ended != ended:
                ended = self.ended
                faulthandler.dump_traceback_later(seconds, exit=True)
            time.sleep(min(1.0, seconds / 4))


# --- fair scheduling of clients ---

Task = TypeVar("Task")


class Turns(Generic[Task]):
    """Queue of tasks, round-robin over clients: a client waits for at most one request of every other client. The tasks
    of one client stay in order.

    Implements the methods of deque that waitress calls under its lock.
    """

    def __init__(self, client_of: Callable[[Task], Hashable]) -> None:
        self._client_of = client_of
        self._waiting: dict[Hashable, deque[Task]] = {}  # in the order of turns

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
    """Identify a client by IP address (behind a proxy, that of the proxy's client) and token or cookies.

    A client that sends random tokens gets more turns, which is no worse than a plain queue.
    """
    headers = channel.requests[0].headers
    address = client_ip(
        str(channel.addr[0]), headers.get("X_FORWARDED_FOR", ""), behind_proxy=settings.GYM_BEHIND_PROXY
    )
    return address, headers.get("AUTHORIZATION", ""), headers.get("COOKIE", "")


def fair_dispatcher(threads: int) -> ThreadedTaskDispatcher:
    """Create waitress's dispatcher with `Turns` as its queue."""
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.queue = Turns(client_of)  # type: ignore[assignment]  # has the methods that waitress calls
    dispatcher.set_thread_count(threads)
    return dispatcher
