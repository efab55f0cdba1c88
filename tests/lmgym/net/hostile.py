"""Small local servers that send exactly the bytes that a test specifies."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Behaviour = Callable[[socket.socket, bytes], None]


@dataclass
class Server:
    port: int
    seen: list[bytes] = field(default_factory=list)
    """Heads and bodies of the received requests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def server(
    behave: Behaviour | bytes, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Iterator[Server]:
    """Run a server whose connections have a thread each."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.bind((host, 0))
    listening.listen()
    found = Server(listening.getsockname()[1])
    open_sockets: list[socket.socket] = []

    def converse(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if tls is not None:
                connection = tls.wrap_socket(connection, server_side=True)
            request = read_request(connection)
            found.seen.append(request)
            if callable(behave):
                behave(connection, request)
            else:
                connection.sendall(behave)
        with contextlib.suppress(OSError):
            connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            open_sockets.append(connection)
            threading.Thread(target=converse, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield found
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in open_sockets:
            with contextlib.suppress(OSError):
                connection.close()


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        ),
        0,
    )
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


def answer(body: bytes = b"{}", status: str = "200 OK", **headers: str) -> bytes:
    """Return a complete response; header names have underscores for hyphens."""
    given = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body
