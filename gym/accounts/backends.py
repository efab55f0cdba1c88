"""Signing in by user name and password, and the accounts of the demo, whose passwords everybody knows."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from gym.accounts.models import User
from gym.reachability import is_loopback, only_here

DEMO_USER = "demo"
ACCOUNTS = {"admin": ("demo-admin", True), "alice": ("demo-alice", False), "bob": ("demo-bob", False)}
"""Accounts for trying things out on a laptop: name -> (password, staff?)."""
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")


def accounts_wanted() -> bool:
    """Accounts with published passwords exist only where nobody else can reach the site: it answers to names of this
    machine, listens on this machine alone, and no proxy stands before it."""
    here = only_here(settings.ALLOWED_HOSTS, settings.GYM_LISTENS_ON) and not settings.GYM_BEHIND_PROXY
    return bool(settings.GYM_DEMO_ACCOUNTS) and here


def accounts_open(request: HttpRequest | None) -> bool:
    """May this request sign in with a published password? Not one that a proxy or another machine sent, whatever host
    it names. No request is a program on this machine."""
    if request is None:
        return accounts_wanted()
    came_directly = not any(name in request.headers for name in FORWARDED)
    return accounts_wanted() and came_directly and is_loopback(request.META.get("REMOTE_ADDR", ""))


class Backend(ModelBackend):
    """User name and password; published ones open nothing where others can reach the site.

    A laptop's database may move to a server, and its demo accounts with it.
    """

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
