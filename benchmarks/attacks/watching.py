"""Asks `/healthz` again and again while an attack lasts, each time on a new connection, and says what took longest."""

from __future__ import annotations

import argparse
import http.client
import threading
import time
from types import TracebackType
from urllib.parse import urlsplit

PAUSE_SECONDS = 0.1
PATIENCE_SECONDS = 30
GOAL_SECONDS = 1.0
DEFAULT_URL = "http://127.0.0.1:8000"


def arguments(description: str | None, **numbers: int) -> argparse.Namespace:
    """The address of the site, and whole numbers with their defaults."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--url", default=DEFAULT_URL, help=f"of a site of your own (default {DEFAULT_URL})")
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    given = parser.parse_args()
    host = urlsplit(given.url).hostname
    if host not in {"127.0.0.1", "::1", "localhost"}:
        parser.error(f"{host} is not this machine; attack a site of your own on loopback")
    return given


def place_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


class Watching:
    """`with Watching(url): …` prints the longest answer at the end; `ends_well`: each came within the second."""

    def __init__(self, url: str) -> None:
        self.place = place_of(url)
        self.answers: list[float] = []
        self.failures = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watching:
        self.began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        lasted = time.monotonic() - self.began
        self._over.set()
        self._thread.join()
        print(
            f"longest /healthz: {max(self.answers, default=0):.2f} s "
            f"({len(self.answers)} asked in {lasted:.0f} s, {self.failures} without an answer)"
        )

    def ends_well(self) -> bool:
        return bool(self.answers) and not self.failures and max(self.answers) < GOAL_SECONDS

    def _watch(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            try:
                self._ask()
            except (OSError, http.client.HTTPException):
                self.failures += 1
            self.answers.append(time.monotonic() - began)
            time.sleep(PAUSE_SECONDS)

    def _ask(self) -> None:
        connection = http.client.HTTPConnection(*self.place, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise http.client.HTTPException(answer.status)
        finally:
            connection.close()
