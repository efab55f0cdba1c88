"""Readers or authors, in a separate process so that their processor time is counted apart from the site's.

Reads a plan from standard input and prints the result of every request, both as JSON. Each client is a thread with a
persistent connection, like a browser.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

PATIENCE = 120.0
Answer = tuple[str, float, int, int]
"""Page, seconds, status, bytes of the body as sent. The status is 0 if the connection broke."""
Place = tuple[int, str, int]
"""Position of a cell: item, condition, region."""


class Clients:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.answers: list[Answer] = []
        self.errors: list[str] = []
        self.lost = 0
        self.tags: dict[str, str] = {}
        """ETag by address; sent if the plan says `revalidate`."""
        self.begun = time.monotonic() + 0.5
        self.end = self.begun + plan["seconds"]
        self.turns = itertools.count()

    def run(self) -> dict[str, Any]:
        act, number = (
            (self.write, len(self.plan["authors"]))
            if self.plan["authors"]
            else (self.read, self.plan["readers"])
        )
        clients = [threading.Thread(target=self.guarded, args=(act, k)) for k in range(number)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        result = {"answers": self.answers, "errors": self.errors[:5], "lost": self.lost}
        return result | {"seconds": time.monotonic() - self.begun, "cpu": time.process_time()}

    def guarded(self, act: Callable[[int], None], number: int) -> None:
        """Count a client that breaks as a failed request, so that the benchmark does not pass without it."""
        try:
            act(number)
        except Exception as error:  # noqa: BLE001  whatever it is, it is reported
            self.answers.append(("client", 0.0, 0, 0))
            self.errors.append(f"client {number} stopped: {error!r}")

    def ask(self, connection: http.client.HTTPConnection, page: str, due: float, *request: Any) -> bytes:
        """Send a request. Its time counts from when it was due, so waiting is included."""
        try:
            connection.request(*request)
            response = connection.getresponse()
            status, body = response.status, response.read()
            if self.plan["revalidate"] and "ETag" in response.headers:
                self.tags[request[1]] = response.headers["ETag"]
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # the next request reconnects
            status, body = 0, repr(error).encode()
        self.answers.append((page, time.monotonic() - due, status, len(body)))
        if not is_success(status):
            self.errors.append(f"{request[1]} {status}: {body[:300].decode(errors='replace')}")
        return body if is_success(status) else b""

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.plan["port"], timeout=PATIENCE)

    def read(self, number: int) -> None:
        chance, connection, pages = random.Random(number), self.connection(), self.plan["pages"]
        for due in self.dues():
            page = chance.choice(sorted(pages))
            address = chance.choice(pages[page])
            headers = {"Accept-Encoding": "gzip"}
            if tag := self.tags.get(address):
                headers["If-None-Match"] = tag
            self.ask(connection, page, due, "GET", address, None, headers)

    def dues(self) -> Iterator[float]:
        """Yield the time at which each request of a reader is due: at once, or at its turn in the readers'
        common rate.
        """
        time.sleep(max(0.0, self.begun - time.monotonic()))
        rate = self.plan["rate"]
        while True:
            due = self.begun + next(self.turns) / rate if rate else time.monotonic()
            if max(due, time.monotonic()) >= self.end:  # later requests are not sent
                return
            time.sleep(max(0.0, due - time.monotonic()))
            yield due

    def write(self, number: int) -> None:
        """Edit one cell after another as the grid does, by sending the old and the new text. The two authors
        of a draft share its items: each edits every second one.
        """
        author, pause = self.plan["authors"][number], self.plan["pause"]
        headers, connection = self.headers(author), self.connection()
        version, texts = self.cells(connection, author["cells"], headers)
        mine = {place: text for place, text in texts.items() if place[0] % 2 == number % 2}
        due = self.begun + pause * number / len(self.plan["authors"])
        for turn, place in enumerate(itertools.cycle(list(mine))):
            if max(due, time.monotonic()) >= self.end:
                break
            time.sleep(max(0.0, due - time.monotonic()))
            new = f"{texts[place]} {turn}"
            edit = {
                "id": str(uuid.uuid4()),
                "ops": [{"op": "set_cells", "cells": [[*place, mine[place], new]]}],
            }
            body = json.dumps({"version": version, "edits": [edit]})
            if answer := self.ask(connection, "edit", due, "PATCH", author["cells"], body, headers):
                version, mine[place] = json.loads(answer)["version"], new
            if self.plan["lesson"]:
                self.look_and_run(connection, number, turn, author)
            due += pause
        _, now = self.cells(connection, author["cells"], headers)
        self.lost += sum(now[place] != text for place, text in mine.items())

    @staticmethod
    def headers(author: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {author['token']}", "Content-Type": "application/json"}

    def look_and_run(
        self, connection: http.client.HTTPConnection, number: int, turn: int, author: dict[str, str]
    ) -> None:
        """Open a page as a signed-in person after every second edit, and queue a run after every twentieth."""
        chance, now = random.Random(f"{number} {turn}"), time.monotonic()
        if turn % 2:
            page = chance.choice(sorted(self.plan["pages"]))
            address = chance.choice(self.plan["pages"][page])
            signed_in = {"Accept-Encoding": "gzip", "Cookie": author["cookie"]}
            self.ask(connection, "page", now, "GET", address, None, signed_in)
        if turn % 20 == 10:
            suite, model = chance.choice(self.plan["lesson"])
            body = json.dumps({"suite": suite, "model": model, "again": True})
            self.ask(connection, "run", now, "POST", "/api/v1/runs/", body, self.headers(author))

    @staticmethod
    def cells(
        connection: http.client.HTTPConnection, address: str, headers: dict[str, str]
    ) -> tuple[int, dict[Place, str]]:
        """Return the draft's version and the text of each cell."""
        connection.request("GET", f"{address}?limit=500", headers=headers)
        response = connection.getresponse()
        rows = json.loads(response.read())["results"]
        return int(response.headers["ETag"].strip('"').rpartition("v")[2]), {
            (row["item"], row["condition"], region): text
            for row in rows
            for region, text in enumerate(row["contents"], start=1)
        }


def is_success(status: int) -> bool:
    return 200 <= status < 300 or status == 304


if __name__ == "__main__":
    json.dump(Clients(json.load(sys.stdin)).run(), sys.stdout)
