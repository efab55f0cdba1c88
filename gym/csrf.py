"""The page for a form that Django refuses because it may come from another site."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Context: cause ("proxy": the site's own form, over https, and the site thinks that it is reached over http;
    "elsewhere", "cookie", "stale"), origin (where the browser says the form was)."""
    origin = request.headers.get("Origin", "")
    if origin == f"https://{request.get_host()}" and not request.is_secure():
        cause = "proxy"
    elif reason.startswith(("Origin", "Referer")):
        cause = "elsewhere"
    elif reason == REASON_NO_CSRF_COOKIE:
        cause = "cookie"
    else:
        cause = "stale"
    return render(request, "403_csrf.html", {"cause": cause, "origin": origin}, status=403)
