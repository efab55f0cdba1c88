"""Who gets what: the front page and what belongs to no room."""

from __future__ import annotations

from tests.permissions.rooms import OPEN, Row

ROWS: list[Row] = [
    ("GET", "home", [], OPEN),
    ("GET", "about", [], OPEN),
    ("GET", "healthz", [], OPEN),
    ("GET", "queue", [], OPEN),
    ("GET", "admin-sign-in", [], ("in", 403, 403, 403, 403, "in")),
    ("POST", "admin-sign-in", [], ("in", 403, 403, 403, 403, "in")),
]
