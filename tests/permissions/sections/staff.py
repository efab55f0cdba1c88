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
    ("GET", "staff-invitations", [], STAFF),
    ("POST", "staff-invitations", [], ("in", 403, 403, 403, 403, 400)),
    ("POST", "staff-invitation-resend", [999_999], ("in", 403, 403, 403, 403, 404)),
    ("POST", "staff-invitation-revoke", [999_999], ("in", 403, 403, 403, 403, 404)),
    ("POST", "staff-weights", [], ("in", 403, 403, 403, 403, 302)),
]
