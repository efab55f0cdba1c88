"""Attack: several clients request a large download and never read the response.

python -m benchmarks.attacks.slow_readers [--url http://127.0.0.1:8000] [--clients 8] [--seconds 30]

The download is a corpus that alice uploads first: 17 MB as text, more as JSON lines.
"""

from __future__ import annotations

import json
import socket
import sys
import time

from benchmarks.attacks.people import alice
from benchmarks.attacks.watching import Watching, arguments, place_of
from benchmarks.edit.site import Person

LINES = 90_000
WORDS = "donaudampfschifffahrtsgesellschaft " * 5 + "kapitaen"  # few tokens for their size
BORDER = "attacks-border"
UPLOAD_SECONDS = 900
SLUG = "large-for-slow-readers"


def upload(person: Person) -> None:
    if person.send("GET", f"/api/v1/lmc/corpora/{SLUG}/")[0] == 200:
        return
    text = "".join(f"{number:06} {WORDS}\n" for number in range(LINES))
    parts = {"title": "Large", "slug": SLUG, "visibility": "public", "format": "text"}
    body = "".join(
        f'--{BORDER}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parts.items()
    )
    body += (
        f'--{BORDER}\r\nContent-Disposition: form-data; name="file"; filename="large.txt"\r\n\r\n{text}\r\n'
    )
    kind = f"multipart/form-data; boundary={BORDER}"
    person.connection.timeout = UPLOAD_SECONDS
    person.connection.close()
    status, answer = person.send("POST", "/api/v1/lmc/corpora/", f"{body}--{BORDER}--\r\n", kind)
    if status != 201:
        raise SystemExit(f"The upload answered {status}: {json.loads(answer)['detail']}")


def ask_and_wait(place: tuple[str, int]) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(place)
    client.sendall(
        f"GET /games/corpora/{SLUG}/download/corpus.jsonl/ HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    )
    return client


def main() -> None:
    options = arguments(__doc__, clients=8, seconds=30)
    upload(alice(options.url))
    with Watching(options.url) as watching:
        clients = [ask_and_wait(place_of(options.url)) for _ in range(options.clients)]
        time.sleep(options.seconds)
    firsts = [client.recv(12).decode() for client in clients]
    for client in clients:
        client.close()
    print(f"{options.clients} clients; their responses begin: {', '.join(sorted(set(firsts)))}")
    sys.exit(not watching.ends_well())


if __name__ == "__main__":
    main()
