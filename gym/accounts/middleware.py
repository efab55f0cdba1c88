"""Middleware for sign-in by a proxy's header."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin

from gym.accounts.external import proxy


class ProxyUserChanges(MiddlewareMixin):
    """End a session started by a proxy's header once the header names another person, e.g. on a shared computer."""

    def process_request(self, request: HttpRequest) -> None:
        if not settings.GYM_PROXY_USER_HEADER or settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return
        name = proxy.user_name(request)
        if name and request.session.get(proxy.SESSION_KEY, name) != name:
            logout(request)
