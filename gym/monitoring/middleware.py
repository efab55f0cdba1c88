"""Request ids, a line in the log for each request, and the counts for /metrics."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from gym import log_fields
from gym.request_counts import count_request, is_counting

log = logging.getLogger("gym.requests")
HEADER = "X-Request-ID"
NO_VIEW = "none"
"""View of requests that no view answered: static files, health checks, unknown addresses."""
_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_OBJECT = re.compile(r"(?:^|/)(suite|model)s/<slug:slug>")


class Requests:
    """Middleware: set `X-Request-ID` (the proxy's, or a new one), then log and count the response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        given = request.headers.get(HEADER, "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        request.log_fields = {"request_id": request_id}  # type: ignore[attr-defined]
        with log_fields.fields(request_id=request_id):
            response = self.get_response(request)
            seconds = time.perf_counter() - start
            match = request.resolver_match
            view = (match and match.view_name) or NO_VIEW
            if is_counting():
                count_request(view, response.status_code, seconds)
            if log.isEnabledFor(logging.INFO):
                log_fields.add(
                    method=request.method,
                    view=view,
                    status=response.status_code,
                    seconds=round(seconds, 4),
                    **_subject(request),
                )
                log.info("%s %s %d", request.method, view, response.status_code)
        response[HEADER] = request_id
        return response


def _subject(request: HttpRequest) -> dict[str, Any]:
    """Return the account's number, and the suite or model that the address names. The address itself is not logged:
    links to reset passwords and to unlisted objects are secrets."""
    subject: dict[str, Any] = {}
    user = getattr(request, "user", None)
    is_loaded = not isinstance(user, SimpleLazyObject) or hasattr(request, "_cached_user")
    if user is not None and is_loaded and user.pk is not None:
        subject["user"] = user.pk
    match = request.resolver_match
    if match is not None and (named := _OBJECT.search(match.route)):
        subject[named[1]] = match.kwargs["slug"]
    return subject
