"""Attack: one account uploads small files that expand to very large ones, to the addresses that accept files.

python -m benchmarks.attacks.uploads [--url http://127.0.0.1:8000] [--clients 4]
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

from benchmarks.attacks.people import alice, made
from benchmarks.attacks.watching import Watching, arguments
from benchmarks.edit.site import Person

GOAL_SECONDS = 5.0
"""Time limit for one response while other uploads are in progress."""
BOUNDARY = "hostile-file-boundary"
File = tuple[str, Callable[[], bytes]]
"""File name, and a function that generates the content."""

CORPORA: list[File] = [
    ("newlines.gz", lambda: gzip.compress(b"\n" * 20_000_000)),
    ("letters.gz", lambda: gzip.compress(b"a\n" * 10_000_000)),
    ("one-line.gz", lambda: gzip.compress(b"a " * 10_000_000)),
    ("zeros.gz", lambda: packed(b"\0", 1_000_000_000)),
    ("twice.gz", lambda: gzip.compress(packed(b"\0", 1_000_000_000))),
    ("parts.gz", lambda: gzip.compress(b"") * 500_000),
    ("line.jsonl", lambda: b'{"text": "' + b"a" * 19_900_000 + b'"}'),
    ("values.jsonl.gz", lambda: gzip.compress(b'{"text": "", "a": [' + b"[]," * 6_000_000 + b"0]}")),
    ("keys.jsonl", lambda: b'{"text": "", ' + b", ".join(b'"%x": 0' % n for n in range(1_500_000)) + b"}"),
]
LOGS: list[File] = [
    ("newlines.gz", lambda: packed(b"\n", 1_000_000_000)),
    ("rows.gz", lambda: packed(b'{"wordPredictions": []}\n', 199_000_000)),
    ("values.gz", lambda: gzip.compress(b'{"wordPredictions": [], "a": [' + b"[]," * 6_000_000 + b"0]}")),
    ("levels", lambda: b"[" * 100_000),
]
SUITES: list[File] = [
    ("commas.csv", lambda: b"," * 4_900_000),
    ("too-many-commas.csv", lambda: b"," * 10_000_000),
    ("columns.csv", lambda: b"item,condition" + b"," * 1_500_000 + b"\n1,a\n"),
    ("rows.csv", lambda: b"item,condition,a\n" + b"a\n" * 2_400_000),
    ("levels.json", lambda: b"[" * 100_000),
    ("values.json", lambda: b"[" + b"{}," * 1_600_000 + b"{}]"),
    ("lines.jsonl", lambda: b"{}\n" * 1_600_000),
    ("line.jsonl", lambda: b'{"sentence_good": "' + b"a" * 20_000_000),
]
RESULTS: list[File] = [
    ("commas.csv", lambda: b"," * 19_900_000),
    ("columns.csv", lambda: b"item,condition,region,surprisal_bits" + b"," * 3_900_000 + b"\n1,a\n"),
    ("rows.csv", lambda: b"item,condition,region,surprisal_bits\n" + b"a\n" * 9_900_000),
    ("tabs.tsv", lambda: b"sentence_id\ttoken_id\ttoken\tsurprisal\n" + b"\t" * 19_900_000),
    ("values.json", lambda: b"[" + b"{}," * 6_600_000 + b"{}]"),
]
ANSWERS: list[File] = [
    ("rows.tsv", lambda: b"a\n" * 2_400_000),
    ("lines.tsv", lambda: b"\n" * 4_900_000),
    ("tabs.tsv", lambda: b"\t" * 4_900_000),
]
CASES: list[File] = [
    ("entries.zip", lambda: entries(200_000)),
    ("zeros.zip", lambda: zeros(1_000)),
    ("cases.zip", lambda: cases(400)),
]
DOORS: list[tuple[str, str, list[File], dict[str, str]]] = [
    ("/api/v1/lmc/corpora/", "file", CORPORA, {"title": "Hostile"}),
    ("/api/v1/lmc/logs/", "file", LOGS, {"title": "Hostile"}),
    ("/api/v1/suites/", "file", SUITES, {"title": "Hostile"}),
    ("/api/v1/uploads/", "file", RESULTS, {}),
    ("/api/v1/propara/answer-sets/", "answers", ANSWERS, {"title": "Hostile"}),
]


def packed(piece: bytes, size: int) -> bytes:
    """Compress `size` bytes of the repeated piece with gzip, without holding them in memory."""
    out = io.BytesIO()
    block = piece * (1_000_000 // len(piece))
    with gzip.GzipFile(fileobj=out, mode="wb") as stream:
        for _ in range(size // len(block)):
            stream.write(block)
    return out.getvalue()


def entries(number: int) -> bytes:
    """Return an archive of empty files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in range(number):
            archive.writestr(f"{name}.hocon", "")
    return out.getvalue()


def zeros(megabytes: int) -> bytes:
    """Return an archive of one large file."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.hocon", "w", force_zip64=True) as file,
    ):
        for _ in range(megabytes):
            file.write(b"\0" * 1_000_000)
    return out.getvalue()


def cases(number: int) -> bytes:
    """Return an archive of files that each have the maximum size."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in range(number):
            archive.writestr(f"{name}.hocon", b"a" * 999_999)
    return out.getvalue()


def form(field: str, name: str, data: bytes, others: dict[str, str]) -> bytes:
    """Return a multipart body whose last part is the file."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in others.items()
    ]
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
    return b"".join([*parts, head.encode(), data, f"\r\n--{BOUNDARY}--\r\n".encode()])


def posts(suite: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield (address, file name, body), generating each body on demand."""
    for address, field, files, others in [
        *DOORS,
        (f"/api/v1/agent-suites/{suite}/cases/", "file", CASES, {}),
    ]:
        for name, make in files:
            yield address, name, form(field, name, make(), others)


def send(person: Person, address: str, body: bytes) -> tuple[int, str]:
    headers = {
        "Cookie": "; ".join(f"{key}={value}" for key, value in person.cookies.items()),
        "X-CSRFToken": person.cookies.get("csrftoken", ""),
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
    }
    with contextlib.suppress(
        BrokenPipeError, ConnectionResetError
    ):  # rejected because of its length, with a response
        person.connection.request("POST", address, body, headers)
    answer = person.connection.getresponse()
    response_text = answer.read().decode("utf-8", "replace")
    if answer.will_close:
        person.connection.close()
    return answer.status, response_text


def main() -> None:
    options = arguments(__doc__, clients=4)
    person = alice(options.url)
    suite = made(person, "/api/v1/agent-suites/", {"title": f"Hostile {time.time():.0f}"})
    waiting: SimpleQueue[tuple[str, str, bytes]] = SimpleQueue()
    for post in posts(suite["id"]):
        waiting.put(post)
    longest: list[float] = [0.0]
    accepted: list[str] = []

    def work(mine: Person) -> None:
        while True:
            try:
                address, name, body = waiting.get_nowait()
            except Empty:
                return
            began = time.monotonic()
            status, response_text = send(mine, address, body)
            lasted = time.monotonic() - began
            longest.append(lasted)
            if status not in {400, 413}:
                accepted.append(f"{address} {name}: {status}")
            print(
                f"{lasted:6.2f} s  {len(body) / 1e3:9,.0f} kB  {status}  {address} {name}: {reason(response_text)}"
            )

    people = [person, *(alice(options.url) for _ in range(options.clients - 1))]
    with Watching(options.url) as watching:
        threads = [threading.Thread(target=work, args=(mine,)) for mine in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(
        f"slowest response to an upload: {max(longest):.2f} s; not rejected: {', '.join(accepted) or 'none'}"
    )
    sys.exit(not (watching.ends_well() and max(longest) < GOAL_SECONDS and not accepted))


def reason(response_text: str) -> str:
    match = re.search(r'"(?:message|detail)":\s*"([^"]*)', response_text)
    return (match[1] if match else response_text)[:100]


if __name__ == "__main__":
    main()
