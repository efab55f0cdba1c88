"""Sockets with one deadline and one byte limit for a whole request, connected to addresses checked beforehand."""

from __future__ import annotations

import contextlib
import ipaddress
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore2

from lmgym.net.errors import TimedOut, TooLarge, Unreachable
from lmgym.net.rules import Address

_TRIED_ADDRESSES = 4
CONNECT_SECONDS = 20.0
"""Time limit for connecting by TCP, shared by all addresses of a name."""
_PASSING = (socket.EAI_AGAIN, socket.EAI_MEMORY, socket.EAI_SYSTEM)
_SLICE = 65_536
Lookup = Callable[[str, int], list[Address]]


class Deadline:
    """Time limit of a whole request. `what` is the server name for messages."""

    def __init__(self, seconds: float, what: str) -> None:
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._what = what

    def left(self) -> float:
        """Return the seconds left, or raise TimedOut."""
        left = self._end - time.monotonic()
        if left <= 0:
            self.passed()
        return left

    def passed(self) -> None:
        """Raise TimedOut."""
        raise TimedOut(f"{self._what} took longer than {self._seconds:g} s.")


def look_up(host: str, port: int) -> list[Address]:
    """Resolve a name, or an address in any spelling, with the system's resolver.

    Returns:
        All addresses; empty if the name does not exist.

    Raises:
        Unreachable: the resolver failed.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except UnicodeError:
        return []
    except OSError as error:
        if isinstance(error, socket.gaierror) and error.errno not in _PASSING:
            return []
        raise Unreachable(f"{host} cannot be resolved at the moment. Try again later.") from error
    return list(dict.fromkeys(ipaddress.ip_address(entry[4][0]) for entry in entries))


def look_up_within(lookup: Lookup, host: str, port: int, deadline: Deadline) -> list[Address]:
    """Call `lookup` within the deadline. The system's resolver cannot be cancelled, so it runs in a daemon thread."""
    results: queue.SimpleQueue[list[Address] | BaseException] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            results.put(lookup(host, port))
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
            results.put(error)

    threading.Thread(target=resolve, name=f"look up {host}", daemon=True).start()
    try:
        result = results.get(timeout=deadline.left())
    except queue.Empty:
        deadline.passed()
        raise AssertionError from None
    if isinstance(result, BaseException):
        raise result
    return result


class Stream(httpcore2.NetworkStream):
    """A socket under one deadline and one byte limit."""

    def __init__(self, sock: socket.socket, deadline: Deadline, most_bytes: int, what: str) -> None:
        self._sock = sock
        self._deadline = deadline
        self._left_bytes = most_bytes
        self._what = what

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._sock.settimeout(self._deadline.left())
        try:
            data = self._sock.recv(max_bytes)
        except TimeoutError:
            self._deadline.passed()
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise TooLarge(f"{self._what} sent more bytes than allowed.")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        view = memoryview(buffer)
        while view:
            self._sock.settimeout(self._deadline.left())
            try:
                view = view[self._sock.send(view[:_SLICE]) :]
            except TimeoutError:
                self._deadline.passed()
            except OSError as error:
                raise httpcore2.WriteError(str(error)) from error

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        self._sock.settimeout(self._deadline.left())
        try:
            sock = ssl_context.wrap_socket(self._sock, server_hostname=server_hostname)
        except TimeoutError:
            self.close()
            self._deadline.passed()
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise Unreachable(
                f"The certificate of {self._what} is not valid: {error.verify_message}."
            ) from error
        except OSError as error:
            self.close()
            raise Unreachable(f"{self._what} does not speak TLS on this port.") from error
        return Stream(sock, self._deadline, self._left_bytes, self._what)

    def get_extra_info(self, info: str) -> Any:
        return None


class Fixed(httpcore2.NetworkBackend):
    """Network backend that connects only to addresses checked beforehand, even if the name now resolves to others."""

    def __init__(self, addresses: list[Address], deadline: Deadline, most_bytes: int, what: str) -> None:
        self._addresses = addresses[:_TRIED_ADDRESSES]
        self._deadline = deadline
        self._most_bytes = most_bytes
        self._what = what

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Stream:
        for left in reversed(range(len(self._addresses))):
            address = self._addresses[-1 - left]
            try:
                sock = socket.create_connection(
                    (str(address), port), min(self._deadline.left(), CONNECT_SECONDS) / (left + 1)
                )
            except OSError as error:
                if left:
                    continue
                # Raised even after the deadline: no request was sent, so no request timed out.
                raise Unreachable(f"No connection to {self._what}.") from error
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return Stream(sock, self._deadline, self._most_bytes, self._what)
        raise AssertionError
