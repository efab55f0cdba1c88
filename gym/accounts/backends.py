"""Password authentication, and the demo accounts with their published passwords."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from gym.accounts.models import User
from gym.reachability import is_local_only, is_loopback

DEMO_USER = "demo"
ACCOUNTS = {"admin": ("demo-admin", True), "alice": ("demo-alice", False), "bob": ("demo-bob", False)}
"""Demo accounts for a laptop: name -> (password, is staff)."""
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")


def demo_accounts_allowed() -> bool:
    """Return True if demo accounts may be created: GYM_DEMO_ACCOUNTS is on, and no other machine can reach the site
    (local host names, a loopback listening address, no proxy)."""
    is_local = (
        is_local_only(settings.ALLOWED_HOSTS, settings.GYM_LISTENS_ON) and not settings.GYM_BEHIND_PROXY
    )
    return bool(settings.GYM_DEMO_ACCOUNTS) and is_local


def accounts_open(request: HttpRequest | None) -> bool:
    """Return True if this request may sign in with a published password: demo accounts are allowed, and it comes from
    this machine and not through a proxy; its Host header is not trusted. `request` is None for a program on this
    machine."""
    if request is None:
        return demo_accounts_allowed()
    came_directly = not any(name in request.headers for name in FORWARDED)
    return demo_accounts_allowed() and came_directly and is_loopback(request.META.get("REMOTE_ADDR", ""))


class Backend(ModelBackend):
    """Password authentication. Published demo passwords are refused unless `accounts_open` allows them, because a
    laptop's database may be moved to a server together with its demo accounts."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **more: Any,
    ) -> User | None:
        published, _ = ACCOUNTS.get(username or "", ("", False))
        if published and password == published and not accounts_open(request):
            return None
        user: User | None = super().authenticate(request, username=username, password=password, **more)
        return user
