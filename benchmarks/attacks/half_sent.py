"""Attack: many clients send half a request each and then stop.

python -m benchmarks.attacks.half_sent [--url http://127.0.0.1:8000] [--clients 500] [--seconds 60]

A client whose connection is closed reconnects immediately. Every other client announces a body and sends
only its beginning.
"""

from __future__ import annotations

import select
import socket
import sys
import time

from benchmarks.attacks.watching import Watching, arguments, place_of

HEADERS = b"GET /suites/ HTTP/1.1\r\nHost: localhost\r\nX-Half: "
BODY = (
    b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000000\r\n\r\nusername=a"
)


def half(place: tuple[str, int], number: int) -> socket.socket:
    client = socket.create_connection(place, timeout=5)
    client.sendall(BODY if number % 2 else HEADERS)
    return client


def main() -> None:
    options = arguments(__doc__, clients=500, seconds=60)
    place = place_of(options.url)
    closed = refused = 0
    with Watching(options.url) as watching:
        clients: dict[int, socket.socket] = {}
        end = time.monotonic() + options.seconds
        poll = select.poll()
        while time.monotonic() < end:
            while len(clients) < options.clients and time.monotonic() < end:
                try:
                    client = half(place, len(clients))
                except OSError:
                    refused += 1
                    break
                clients[client.fileno()] = client
                poll.register(client, select.POLLIN)
            for number, _ in poll.poll(500):  # a reply or end of file: this connection is finished
                poll.unregister(number)
                clients.pop(number).close()
                closed += 1
    for client in clients.values():
        client.close()
    print(f"{options.clients} clients; {closed} connections were closed and reopened, {refused} were refused")
    sys.exit(not watching.ends_well())


if __name__ == "__main__":
    main()
