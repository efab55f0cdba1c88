"""The context variable `gym`, available in every template. (Django's sign-in view overwrites `site`.)"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from lmgym import __version__

NAVIGATION = (
    ("Suites", "suite-list"),
    ("Models", "model-list"),
    ("Leaderboard", "leaderboard"),
    ("Collections", "collection-list"),
    ("Runs", "run-list"),
    ("ProPara", "propara-list"),
    ("LM Challenge", "lmc-list"),
    ("Agents", "agent-home"),
)
"""Main navigation: label and URL name. Suites and their results come first."""
FIRST_NEIGHBOUR = "propara-list"
WITHIN = {"human-data-list": "suite-list", "compare": "leaderboard"}
"""Sections without an entry of their own, by URL name, and the entry that they belong to."""
IN_BITS = ("suite-list", "model-list", "leaderboard", "collection-list", "run-list", "compare")
"""URL names of the sections that show surprisal."""


def site(request: HttpRequest) -> dict[str, Any]:
    """Return the context variable `gym` with version, navigation (main), in_bits (True in sections that
    show surprisal), sign_up (True if sign-up is open) and demo_accounts (shown on the sign-in page)."""
    return {
        "gym": {
            "version": __version__,
            "navigation": navigation(request.path),
            "in_bits": request.path.startswith(tuple(reverse(name) for name in IN_BITS)),
            "sign_up": settings.GYM_SIGN_UP,
            "demo_accounts": demo_accounts(request),
        }
    }


def navigation(path: str) -> list[dict[str, Any]]:
    """Return the main navigation for this path as dicts of label, address, is_here and starts_group."""
    parts = {
        name: [name, *(part for part, whole in WITHIN.items() if whole == name)] for _, name in NAVIGATION
    }
    return [
        {
            "label": label,
            "address": reverse(name),
            "is_here": path.startswith(tuple(map(reverse, parts[name]))),
            "starts_group": name == FIRST_NEIGHBOUR,
        }
        for label, name in NAVIGATION
    ]


def demo_accounts(request: HttpRequest) -> list[dict[str, str]]:
    """Return the username, password and purpose (`about`) of each demo account; empty if they are disabled
    for this request."""
    from gym.accounts.backends import ACCOUNTS, accounts_open

    if not accounts_open(request):
        return []
    return [
        {
            "username": name,
            "password": password,
            "about": "administer the site" if staff else "write suites, register models, run them",
        }
        for name, (password, staff) in ACCOUNTS.items()
    ]
