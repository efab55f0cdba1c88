"""Who gets what: the REST API."""

from __future__ import annotations

from tests.permissions.rooms import HIDDEN, OPEN, Row

ROWS: list[Row] = [
    ("GET", "api-root", [], OPEN),
    ("GET", "api-suites", [], OPEN),
    ("GET", "api-suite", ["private"], HIDDEN),
    ("GET", "api-models", [], OPEN),
    ("GET", "api-model", ["private-model"], (404, 404, 404, 404, 200, 200)),
    ("GET", "api-runs", [], OPEN),
    ("POST", "api-runs", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "api-run", ["private-run"], HIDDEN),
    ("GET", "api-run-results", ["private-run"], HIDDEN),
]
FORMS = ("api",)
