"""Request `/healthz` repeatedly during an attack, each time on a new connection, and report the slowest response."""

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
    """Parse the address of the site, and integer options with their defaults."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument(
        "--url", default=DEFAULT_URL, help=f"address of your own site (default {DEFAULT_URL})"
    )
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    options = parser.parse_args()
    host = urlsplit(options.url).hostname
    if host not in {"127.0.0.1", "::1", "localhost"}:
        parser.error(f"{host} is not this machine. Only attack your own site on loopback.")
    return options


def place_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


class Watching:
    """Context manager that prints the slowest response at the end. `ends_well`: every request was answered,
    in less than a second.
    """

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
            f"slowest /healthz: {max(self.answers, default=0):.2f} s "
            f"({len(self.answers)} requests in {lasted:.0f} s, {self.failures} without a response)"
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
