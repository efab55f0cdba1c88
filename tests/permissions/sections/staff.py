"""Permissions: the staff page."""

from __future__ import annotations

from tests.permissions.sections import Row

STAFF = ("in", 403, 403, 403, 403, 200)
API = (401, 403, 403, 403, 403, 200)
ROWS: list[Row] = [
    ("GET", "staff", [], STAFF),
    ("POST", "staff-doctor", [], ("in", 403, 403, 403, 403, 302)),
    ("GET", "staff-accounts", [], STAFF),
    ("GET", "staff-clean-up", [], STAFF),
    ("POST", "staff-clean-up", [], ("in", 403, 403, 403, 403, 400)),
    ("POST", "staff-tidy", [], ("in", 403, 403, 403, 403, 302)),
    ("POST", "staff-weights", [], ("in", 403, 403, 403, 403, 302)),
]
