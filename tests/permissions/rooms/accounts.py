"""Who gets what: signing in, profile, tokens."""

from __future__ import annotations

from tests.permissions.rooms import MEMBERS, OPEN, Row

ROWS: list[Row] = [
    ("GET", "login", [], (200, 302, 302, 302, 302, 302)),
    ("POST", "logout", [], (302, 302, 302, 302, 302, 302)),
    ("GET", "sign-up", [], (200, 302, 302, 302, 302, 302)),
    ("GET", "profile", [], MEMBERS),
    ("GET", "profile-edit", [], MEMBERS),
    ("GET", "password-change", [], MEMBERS),
    ("GET", "password-reset", [], OPEN),
    ("GET", "password-reset-sent", [], OPEN),
    ("GET", "password-reset-confirm", ["x", "y"], OPEN),
    ("GET", "account-delete", [], MEMBERS),
    ("GET", "token-list", [], MEMBERS),
    ("POST", "token-revoke", ["alices-token"], ("in", 404, 404, 404, 302, 404)),
]
FORMS = (
    "login",
    "sign-up",
    "profile-edit",
    "password-",
    "account-delete",
    "token-list",
)
