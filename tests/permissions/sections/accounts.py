"""Permissions: signing in, profile, tokens."""

from __future__ import annotations

from tests.permissions.sections import INCOMPLETE, MEMBERS, NOT_FOUND, OPEN, Row

OFF: list[tuple[str, list[object]]] = [
    ("socialaccount_connections", []),
    ("service-disconnect", [1]),
    ("socialaccount_signup", []),
    ("socialaccount_login_cancelled", []),
    ("service-start", ["oidc"]),
    ("github_callback", []),
    ("openid_connect_callback", ["oidc"]),
    ("account_reauthenticate", []),
    ("mfa_index", []),
    ("mfa_authenticate", []),
    ("mfa_reauthenticate", []),
    ("mfa_activate_totp", []),
    ("mfa_deactivate_totp", []),
    ("mfa_view_recovery_codes", []),
    ("mfa_generate_recovery_codes", []),
    ("mfa_download_recovery_codes", []),
    ("mfa_list_webauthn", []),
    ("mfa_add_webauthn", []),
    ("mfa_reauthenticate_webauthn", []),
    ("mfa_edit_webauthn", [1]),
    ("mfa_remove_webauthn", [1]),
]
"""Pages of other services and second factors, which are off by default."""

ROWS: list[Row] = [
    *((method, name, arguments, NOT_FOUND) for name, arguments in OFF for method in ("GET", "POST")),
    ("GET", "login", [], (200, 302, 302, 302, 302, 302)),
    ("POST", "login", [], (200, 302, 302, 302, 302, 302)),
    ("GET", "account_login", [], (200, 302, 302, 302, 302, 302)),
    ("POST", "account_login", [], (200, 302, 302, 302, 302, 302)),
    ("GET", "account-invitation", ["lmi_none"], NOT_FOUND),
    ("POST", "account-invitation", ["lmi_none"], NOT_FOUND),
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
