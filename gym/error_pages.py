"""Responses to errors outside views: an HTML page, or problem+json for the API."""

from __future__ import annotations

import logging
import sys

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render
from django.template import loader
from django.views import defaults

from gym.api.errors import ApiProblem
from gym.unavailable import RETRY_SECONDS, why_unavailable

log = logging.getLogger(__name__)
PAGE_BROKEN = "The error was logged. Changes are saved either completely or not at all."
BROKEN = ApiProblem(500, "Something went wrong. The error was logged; try again later.", "internal-error")


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
    """Respond to an unexpected exception: 503 while the database or the disk cannot serve, else 500. Uses neither the
    database nor the session."""
    error = sys.exc_info()[1]
    if not (message := why_unavailable(error)):
        return _plain_error(request, BROKEN, "Something went wrong", PAGE_BROKEN)
    cause = " ".join(str(error).split())
    log.error("503 for %s %s: %s", request.method, request.path_info, cause)
    response = _plain_error(
        request, ApiProblem(503, message, "unavailable"), "The site cannot answer now", message
    )
    response["Retry-After"] = str(RETRY_SECONDS)
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django would log a traceback
    return response


def _plain_error(request: HttpRequest, problem: ApiProblem, title: str, message: str) -> HttpResponse:
    """Return the API's problem, or a page that needs no context processors."""
    if _is_api(request):
        return problem.plain_response()
    context = {
        "code": problem.status,
        "title": title,
        "message": message,
        "may_reload": request.method == "GET",
    }
    return HttpResponse(loader.render_to_string("plain_error.html", context), status=problem.status)


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
