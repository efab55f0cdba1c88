"""Middleware for pages and API responses that visitors share: kept in memory, and revalidated by browsers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware
from django.utils.cache import get_conditional_response
from rest_framework.request import Request

from gym.accounts.backends import accounts_open
from gym.api.authentication import Requests
from gym.middleware import Compressed
from gym.page_cache.reads import recorded, table_versions
from gym.page_cache.store import LONGEST_KEY, Kept, store

KINDS = ("text/html", "application/json", "image/svg+xml")
API = "/api/"
OWN_COOKIES = (settings.SESSION_COOKIE_NAME, CookieStorage.cookie_name)
"""A request with one of these cookies gets a response of its own."""
OWN_HEADERS = (
    "Authorization", "HX-Request", "Range", "If-Match", "If-Unmodified-Since", "If-Modified-Since",
)  # fmt: skip
"""A request with one of these headers gets a response of its own."""
VARIES = {"cookie", "accept-encoding", "authorization", "hx-request"}
"""Headers in `Vary` that make no difference between the requests that share a response."""


class VisitorPages(ConditionalGetMiddleware):
    """Let browsers of visitors keep pages and API responses, but revalidate them every time, so that an object made
    private disappears at once. Fragments for htmx share the addresses of pages, so browsers may not keep them.

    A response is also kept here, and sent again while no table that it was read from has changed (gym.page_cache),
    unless it set a cookie, shows something that is not public, or depends on more than `_key`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._respond = get_response
        self._compressed = Compressed(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not _is_shared(request):
            return self._for_browsers(request, self._respond(request))
        key = _key(request)
        if sum(map(len, key)) > LONGEST_KEY:
            return self._for_browsers(request, self._respond(request))
        kept = _current(key)
        if kept is None:
            with store.turn(key) as is_first:
                if is_first:
                    return self._computed(request, key)
            kept = _current(key)  # of the request that was first, unless it may not be kept
        if kept is None:
            return self._computed(request, key)
        if key[1].startswith(API) and _is_throttled(request):
            return self._respond(request)
        return _sent_again(request, kept)

    def _computed(self, request: HttpRequest, key: tuple[str, ...]) -> HttpResponseBase:
        with recorded() as reads:
            response = self._for_browsers(request, self._respond(request))
        dependencies = reads.dependencies()
        if dependencies is None or not _is_keepable(response, key):
            store.drop(key)
            return response
        response = self._compressed.process_response(request, response)
        store.put(
            key,
            Kept(
                body=cast(HttpResponse, response).content,
                headers=tuple(response.items()),
                match=request.resolver_match,
                dependencies=dependencies,
                ends=time.monotonic() + reads.seconds,
            ),
        )
        return response

    def _for_browsers(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if (
            _kind(response) not in KINDS
            or "HX-Request" in request.headers
            or response.has_header("Cache-Control")
        ):
            return response
        response["Cache-Control"] = "no-cache"
        return super().process_response(request, response)


def _is_shared(request: HttpRequest) -> bool:
    return (
        settings.GYM_PAGE_CACHE_MB > 0
        and request.method == "GET"
        and not any(name in request.COOKIES for name in OWN_COOKIES)
        and not any(name in request.headers for name in OWN_HEADERS)
    )


def _key(request: HttpRequest) -> tuple[str, ...]:
    """Return all that a shared response depends on besides the database: scheme, host, address, `Accept` in the API,
    whether it may be compressed, and whether the sign-in page shows demo accounts."""
    headers = request.headers
    path = request.get_full_path()
    return (
        f"{request.scheme}://{request.get_host()}",
        path,
        headers.get("Accept", "") if path.startswith(API) else "",
        "gzip" if "gzip" in headers.get("Accept-Encoding", "") else "",
        "demo" if accounts_open(request) else "",
    )


def _current(key: tuple[str, ...]) -> Kept | None:
    """Return the kept response, unless a table has changed."""
    kept = store.get(key)
    if kept is None or not kept.is_current(table_versions() if kept.dependencies else {}):
        return None
    return kept


def _kind(response: HttpResponseBase) -> str:
    return response.get("Content-Type", "").partition(";")[0]


def _is_keepable(response: HttpResponseBase, key: tuple[str, ...]) -> bool:
    varies = {name.strip().lower() for name in response.get("Vary", "").split(",") if name.strip()}
    if key[1].startswith(API):
        varies.discard("accept")  # part of the key
    return (
        response.status_code == 200
        and not response.streaming
        and not response.cookies
        and _kind(response) in KINDS
        and response.get("Cache-Control") == "no-cache"
        and varies <= VARIES
    )


def _is_throttled(request: HttpRequest) -> bool:
    """Count a request to the API. Its view refuses those beyond the limit."""
    api_request = Request(request)
    api_request.user = AnonymousUser()
    return not Requests().allow_request(api_request, None)  # type: ignore[arg-type]  # no view is needed


def _sent_again(request: HttpRequest, kept: Kept) -> HttpResponseBase:
    request.resolver_match = kept.match  # for the log and the metrics
    response = HttpResponse(kept.body)
    for name, value in kept.headers:
        response[name] = value
    return get_conditional_response(request, etag=response.get("ETag"), response=response) or response
