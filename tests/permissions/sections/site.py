"""Permissions: the front page and pages that belong to no section."""

from __future__ import annotations

from tests.permissions.sections import NOT_FOUND, OPEN, Row

ROWS: list[Row] = [
    ("GET", "home", [], OPEN),
    ("GET", "about", [], OPEN),
    ("GET", "help", [], OPEN),
    ("GET", "help-page", ["formulas"], OPEN),
    ("GET", "help-page", ["deploy"], NOT_FOUND),
    ("GET", "help-template", ["csv"], OPEN),
    ("GET", "help-template", ["pdf"], NOT_FOUND),
    ("GET", "healthz", [], OPEN),
    ("GET", "readyz", [], OPEN),
    ("GET", "metrics", [], NOT_FOUND),
    ("GET", "retention", [], OPEN),
    ("GET", "queue", [], OPEN),
    ("GET", "admin-sign-in", [], ("in", 403, 403, 403, 403, "in")),
    ("POST", "admin-sign-in", [], ("in", 403, 403, 403, 403, "in")),
]
