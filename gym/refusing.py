"""503, for people as a page and for programs as every other error of the API."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from gym.api.errors import Refusal


def refused(
    request: HttpRequest, title: str, message: str, code: str, *, retry_seconds: int = 0
) -> HttpResponse:
    """`code` is for programs; `retry_seconds`: after which it may work."""
    if request.path_info.startswith("/api/"):
        answer: HttpResponse = Refusal(503, message, code).plain_response()
    else:
        answer = render(request, "503.html", {"title": title, "message": message}, status=503)
    if retry_seconds:
        answer["Retry-After"] = str(retry_seconds)
    return answer
