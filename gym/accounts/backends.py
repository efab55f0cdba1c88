"""Authentication by user name and password, and the demo accounts, whose passwords are published."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from gym.accounts.models import User
from gym.reachability import is_loopback, only_here

DEMO_USER = "demo"
ACCOUNTS = {"admin": ("demo-admin", True), "alice": ("demo-alice", False), "bob": ("demo-bob", False)}
"""Demo accounts for a laptop: name -> (password, is staff)."""
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")


def accounts_wanted() -> bool:
    """Whether demo accounts are created: only if no other machine can reach the site (local host names, a loopback
    address to listen on, no proxy)."""
    is_local = only_here(settings.ALLOWED_HOSTS, settings.GYM_LISTENS_ON) and not settings.GYM_BEHIND_PROXY
    return bool(settings.GYM_DEMO_ACCOUNTS) and is_local


def accounts_open(request: HttpRequest | None) -> bool:
    """Whether this request may sign in with a published password: not if it came through a proxy or from another
    machine, whatever Host it sends. `None` is a program on this machine."""
    if request is None:
        return accounts_wanted()
    came_directly = not any(name in request.headers for name in FORWARDED)
    return accounts_wanted() and came_directly and is_loopback(request.META.get("REMOTE_ADDR", ""))


class Backend(ModelBackend):
    """User name and password. Published passwords are refused where others can reach the site, because a laptop's
    database may move to a server with its demo accounts."""

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
