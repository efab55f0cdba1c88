"""Signing in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from gym.accounts.models import User


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
        from gym.accounts.published import ACCOUNTS, accounts_open

        published, _ = ACCOUNTS.get(username or "", ("", False))
        if published and password == published and not accounts_open(request):
            return None
        user: User | None = super().authenticate(request, username=username, password=password, **more)
        return user
