"""Permissions: signing in, profile, tokens."""

from __future__ import annotations

from tests.permissions.sections import INCOMPLETE, MEMBERS, OPEN, Row

ROWS: list[Row] = [
    ("GET", "login", [], (200, 302, 302, 302, 302, 302)),
    ("POST", "login", [], (200, 302, 302, 302, 302, 302)),
    ("POST", "logout", [], (302, 302, 302, 302, 302, 302)),
    ("GET", "sign-up", [], (200, 302, 302, 302, 302, 302)),
    ("POST", "sign-up", [], (400, 302, 302, 302, 302, 302)),
    ("GET", "profile", [], MEMBERS),
    ("GET", "profile-edit", [], MEMBERS),
    ("POST", "profile-edit", [], INCOMPLETE),
    ("GET", "password-change", [], MEMBERS),
    ("POST", "password-change", [], INCOMPLETE),
    ("GET", "password-reset", [], OPEN),
    ("POST", "password-reset", [], (400,) * 6),
    ("GET", "password-reset-sent", [], OPEN),
    ("GET", "password-reset-confirm", ["x", "y"], OPEN),
    ("POST", "password-reset-confirm", ["x", "y"], OPEN),
    ("GET", "account-export", [], MEMBERS),
    ("POST", "account-export", [], ("in", 302, 302, 302, 302, 302)),
    ("GET", "account-export-file", [], ("in", 302, 302, 302, 302, 302)),
    ("GET", "account-delete", [], MEMBERS),
    ("POST", "account-delete", [], INCOMPLETE),
    ("GET", "token-list", [], MEMBERS),
    ("POST", "token-list", [], INCOMPLETE),
    ("GET", "hub-token", [], MEMBERS),
    ("POST", "hub-token", [], INCOMPLETE),
    ("POST", "hub-token-delete", [], ("in", 302, 302, 302, 302, 302)),
    ("POST", "token-revoke", ["alices-token"], ("in", 404, 404, 404, 302, 404)),
]
