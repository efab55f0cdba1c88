"""Responses to errors outside views: an HTML page, or problem+json for the API."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render
from django.views import defaults

from gym.api.errors import ApiProblem

BROKEN = ApiProblem(500, "Something went wrong. The error was logged; try again later.", "broken")


def error_response(
    request: HttpRequest, status: int, code: str, message: str, *, title: str = "", retry_seconds: int = 0
) -> HttpResponse:
    """Render the error page for `status` (context: title, message), or problem+json for the API.
    `retry_seconds` sets Retry-After."""
    if _is_api(request):
        answer: HttpResponse = ApiProblem(status, message, code).plain_response()
    else:
        answer = render(request, f"{status}.html", {"title": title, "message": message}, status=status)
    if retry_seconds:
        answer["Retry-After"] = str(retry_seconds)
    return answer


def server_error(request: HttpRequest) -> HttpResponse:
    """Respond to an unexpected exception."""
    return BROKEN.plain_response() if _is_api(request) else defaults.server_error(request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond to a request that Django rejects before calling the view."""
    if _is_api(request):
        return ApiProblem(400, "Bad request.", "invalid").plain_response()
    return defaults.bad_request(request, exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Respond to a form rejected by CSRF protection.

    Context: cause ("proxy": sent over https, but the site assumes http; "elsewhere": sent from another site; "cookie":
    the cookie is missing; "stale": the token is outdated), origin (from the browser)."""
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


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")
