"""Errors outside of views: a page for people, problem+json for the API."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render
from django.views import defaults

from gym.api.errors import ApiProblem

BROKEN = ApiProblem(500, "Something went wrong here. It was written down; try again later.", "broken")


def error_answer(
    request: HttpRequest, status: int, code: str, message: str, *, title: str = "", retry_seconds: int = 0
) -> HttpResponse:
    """The page has the template of the status; its context: title, message. `retry_seconds`: when to try again."""
    if _is_api(request):
        answer: HttpResponse = ApiProblem(status, message, code).plain_response()
    else:
        answer = render(request, f"{status}.html", {"title": title, "message": message}, status=status)
    if retry_seconds:
        answer["Retry-After"] = str(retry_seconds)
    return answer


def server_error(request: HttpRequest) -> HttpResponse:
    """An exception that no view expected."""
    return BROKEN.plain_response() if _is_api(request) else defaults.server_error(request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that Django refuses before a view sees it."""
    if _is_api(request):
        return ApiProblem(400, "This is no request that can be answered.", "invalid").plain_response()
    return defaults.bad_request(request, exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that Django refuses because it may come from another site.

    Context: cause ("proxy": the site's own form over https, while the site believes that it is reached over http;
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


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")
