"""Who asks: nobody, alice the owner, bob who collaborates, charlie the stranger, and staff."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.record.shapes import shape

ROLES = {"nobody": "", "owner": "alice", "collaborator": "bob", "stranger": "charlie", "staff": "admin"}
PASSWORDS = {"alice": "demo-alice", "bob": "demo-bob", "admin": "demo-admin", "charlie": "rusty-lantern-42"}
HEADERS = (
    "content-type",
    "cache-control",
    "content-disposition",
    "link",
    "allow",
    "location",
    "retry-after",
    "www-authenticate",
    "deprecation",
)
LONGEST = 20_000
"""Lines of a body that are kept; a hash stands for the others."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    queries: int
    seconds: float
    waits: bool = False  # it asks for the state of a job again and again, as often as time allows

    def json(self) -> Any:
        return json.loads(self.body)

    def lines(self, scrub: Any) -> Iterator[str]:
        yield f"status: {self.status}"
        for name in HEADERS:
            if name in self.headers:
                yield f"{name}: {scrub(self.headers[name])}"
        if not self.waits:
            yield f"queries: {self.queries}"
        yield "--"
        kept = list(shape(self.body, self.headers.get("content-type", ""), scrub))
        yield from kept[:LONGEST]
        if rest := kept[LONGEST:]:
            yield f"# {len(rest)} more lines, {hashlib.sha256(chr(10).join(rest).encode()).hexdigest()[:16]}"


class _Counter:
    def __init__(self) -> None:
        self.queries = 0

    def __call__(self, execute: Any, *rest: Any) -> Any:
        self.queries += 1
        return execute(*rest)


@dataclass
class Person:
    """A browser: Django's test client with what it stores."""

    role: str
    client: Any = field(init=False)

    def __post_init__(self) -> None:
        from django.test import Client

        self.client = Client(HTTP_HOST="localhost", raise_request_exception=False)

    def ask(self, method: str, path: str, **how: Any) -> Answer:
        from django.db import connection

        counter, began = _Counter(), perf_counter()
        with connection.execute_wrapper(counter):
            response = self.client.generic(method, path, **how)
            body = b"".join(response.streaming_content) if response.streaming else response.content
            response.close()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, body, counter.queries, perf_counter() - began)


def encoded(
    data: Any, *, files: dict[str, Any] | None = None, form: bool = False, **headers: str
) -> dict[str, Any]:
    """How Django's client sends this: JSON, or a form with files (name -> (file name, content))."""
    if not form and files is None:
        return headers if data is None else {"data": json.dumps(data), "content_type": "application/json"}
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

    given = dict(data or {})
    for name, (filename, content) in (files or {}).items():
        given[name] = SimpleUploadedFile(filename, content)
    return {"data": encode_multipart(BOUNDARY, given), "content_type": MULTIPART_CONTENT}


@contextmanager
def quiet() -> Iterator[None]:
    import logging

    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def write(path: Path, lines: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
