"""Clients of the demo accounts, and the requests that attacks measure."""

from __future__ import annotations

import json
import time
from typing import Any

from benchmarks.attacks.watching import place_of
from benchmarks.edit.site import Person


def alice(url: str) -> Person:
    """Sign in as alice at a site with demo data, served by `manage.py serve`."""
    return Person(place_of(url)[1], "alice", "demo-alice")


def bob(url: str) -> Person:
    return Person(place_of(url)[1], "bob", "demo-bob")


def admin(url: str) -> Person:
    return Person(place_of(url)[1], "admin", "demo-admin")


def sent(person: Person, path: str, body: dict[str, Any]) -> int:
    return person.send("POST", path, json.dumps(body))[0]


def made(person: Person, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """POST a body, require success, and return the response."""
    status, answer = person.ask("POST", path, body)
    if status not in {200, 201, 202}:
        raise SystemExit(f"POST {path} answered {status}: {json.dumps(answer)[:300]}")
    return answer


def seconds_for_a_score(person: Person, patience: float = 60) -> float:
    """Return the seconds from requesting a score of a new sentence by demo-gpt2 until it is done; inf after
    `patience` seconds.
    """
    began = time.monotonic()
    body = {"model": "demo-gpt2", "sentences": [f"The farmer saw {time.time_ns()} cats."]}
    answer = made(person, "/api/v1/score/", body)
    while answer["state"] not in {"done", "failed", "cancelled"}:
        if time.monotonic() - began > patience:
            return float("inf")
        time.sleep(0.1)
        _, answer = person.ask("GET", f"/api/v1/score/{answer['id']}/")
    if answer["state"] != "done":
        raise SystemExit(f"A score {answer['state']}: {json.dumps(answer)[:300]}")
    return time.monotonic() - began
