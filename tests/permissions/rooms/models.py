"""Who gets what: registered models."""

from __future__ import annotations

from tests.permissions.rooms import MEMBERS, OPEN, Row

ROWS: list[Row] = [
    ("GET", "model-list", [], OPEN),
    ("GET", "model-register", [], MEMBERS),
    ("GET", "model-detail", ["public-model"], OPEN),
    ("GET", "model-detail", ["private-model"], (404, 404, 404, 404, 200, 200)),
    ("GET", "model-edit", ["private-model"], ("in", 404, 404, 404, 200, 200)),
    ("GET", "model-edit", ["public-model"], ("in", 403, 403, 403, 200, 200)),
    ("GET", "model-status", ["private-model"], (404, 404, 404, 404, 200, 200)),
    ("POST", "model-check", ["public-model"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "model-approve", ["public-model"], ("in", 403, 403, 403, 403, 302)),
    ("GET", "model-detail", ["elsewhere"], OPEN),
    ("POST", "model-check", ["elsewhere"], ("in", 403, 403, 403, 302, 302)),
]
FORMS = (
    "model-register",
    "model-edit",
)
