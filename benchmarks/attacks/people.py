"""Somebody with a demo account."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.attacks.watching import place_of
from benchmarks.edit.site import Person


def alice(url: str) -> Person:
    """Signed in at a site with demo data, `manage.py serve`."""
    return Person(place_of(url)[1], "alice", "demo-alice")


def sent(person: Person, path: str, body: dict[str, Any]) -> int:
    return person.send("POST", path, json.dumps(body))[0]
