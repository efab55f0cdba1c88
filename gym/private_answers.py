"""What somebody sees who is signed in stays in no cache: neither a proxy's nor the browser's."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse


class PrivateAnswers:
    """Middleware: `Cache-Control: private, no-store` on every answer to a session or a token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if settings.SESSION_COOKIE_NAME in request.COOKIES or "Authorization" in request.headers:
            response["Cache-Control"] = "private, no-store"
        return response
