"""What every template may use: `gym`. (`site` would be overwritten by Django's sign-in view.)"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from gym import __version__


def site(request: HttpRequest) -> dict[str, Any]:
    """`gym.version`; `gym.sign_up`: may people make accounts; `gym.demo_accounts`: accounts to try the site with,
    shown on the sign-in page."""
    return {
        "gym": {
            "version": __version__,
            "sign_up": settings.GYM_SIGN_UP,
            "demo_accounts": demo_accounts(),
        }
    }


def demo_accounts() -> list[dict[str, str]]:
    """username, password and what the account may do; empty unless this site has demo accounts."""
    from gym.demo.loader import ACCOUNTS, accounts_wanted

    if not accounts_wanted():
        return []
    return [
        {
            "username": name,
            "password": password,
            "about": "administer the site" if staff else "write suites, register models, run them",
        }
        for name, (password, staff) in ACCOUNTS.items()
    ]
