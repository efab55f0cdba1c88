"""Checks of settings that protect a site which others can reach, and of misspelt settings."""

from __future__ import annotations

import os

from django.conf import settings

from gym import env
from gym.doctor.levels import BAD, OK, WARN, Finding
from gym.reachability import MAKE_KEY, is_local_only
from lmgym.text.near_names import nearest_name

PROXY_HELP = "docs/deploy.md, Behind a TLS proxy"
KEY_CHARACTERS = 32
KEY_KINDS = 8
"""Minimum number of different characters of a secret key."""
OTHER_NAMES = ("GYM_TOKEN", "GYM_SITE")
"""Variables of the client, which the site does not read."""


def check() -> list[Finding]:
    return [*_secret_key(), *_safety(), *_proxy(), *_unknown_names()]


def _secret_key() -> list[Finding]:
    key = settings.SECRET_KEY
    if key == settings.INSECURE_SECRET_KEY:
        return []  # refused where others can reach the site
    if len(key) >= KEY_CHARACTERS and len(set(key)) >= KEY_KINDS:
        return [(OK, "GYM_SECRET_KEY is long enough")]
    return [(BAD, f"GYM_SECRET_KEY is easy to guess ({len(key)} characters). Make a new one: {MAKE_KEY}")]


def _unknown_names() -> list[Finding]:
    """Report environment variables named GYM_… that the site does not read."""
    known = [*env.names_read(), *OTHER_NAMES]
    lines: list[Finding] = []
    for name in sorted(os.environ):
        if not name.startswith("GYM_") or name in known or name.startswith("GYM_TEST_"):
            continue
        near = nearest_name(name, known)
        meant = f" Did you mean {near}?" if near else ""
        lines.append((WARN, f"{name} is not a setting and has no effect.{meant}"))
    return lines


def _is_local() -> bool:
    """Return True if only this machine can reach the site."""
    return is_local_only(settings.ALLOWED_HOSTS, settings.GYM_LISTENS_ON)


def _proxy() -> list[Finding]:
    """Check the settings for a proxy that terminates TLS; inconsistent ones make sign-in fail."""
    behind, https = settings.GYM_BEHIND_PROXY, settings.HTTPS
    if _is_local() and not https:
        return []
    if https and not behind:
        wrong = "GYM_HTTPS=1 without GYM_BEHIND_PROXY=1: behind a proxy every page redirects to itself"
        return [(BAD, f"{wrong}. Set both ({PROXY_HELP}).")]
    if behind and not https:
        wrong = "GYM_BEHIND_PROXY=1 without GYM_HTTPS=1: passwords and cookies may travel unencrypted"
        return [(WARN, f"{wrong}. Set both if the proxy terminates TLS ({PROXY_HELP}).")]
    if behind:
        return [
            (OK, "TLS is terminated by a proxy, which must send Host, X-Forwarded-Proto and X-Forwarded-For")
        ]
    if env.text("GYM_HTTPS"):
        return [(WARN, "others can reach this site without TLS (GYM_HTTPS=0): passwords travel unencrypted")]
    wrong = "others can reach this site, but the proxy settings are missing: sign-in fails behind a proxy with TLS"
    return [
        (BAD, f"{wrong}. Set GYM_BEHIND_PROXY=1 and GYM_HTTPS=1, or GYM_HTTPS=0 without TLS ({PROXY_HELP}).")
    ]


def _safety() -> list[Finding]:
    lines = []
    local = _is_local()
    if settings.DEBUG and not local:
        lines.append((BAD, "others can reach this site although GYM_DEBUG is on. Turn it off."))
    if "*" in settings.ALLOWED_HOSTS:
        lines.append(
            (
                WARN,
                "GYM_ALLOWED_HOSTS=* accepts any Host header, so links in e-mails can be forged. List the site's host "
                "names.",
            )
        )
    if "console" in settings.EMAIL_BACKEND and not local:
        lines.append((WARN, "e-mails (forgotten passwords) go to the console; set GYM_EMAIL_URL"))
    if settings.ADMINS and "console" in settings.EMAIL_BACKEND:
        lines.append(
            (WARN, "reports of errors for GYM_ADMIN_EMAIL go to the console, not by mail; set GYM_EMAIL_URL")
        )
    return lines or [(OK, "debug settings, host names and mail suit this site")]
