"""The site's middleware."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django_htmx.http import HttpResponseClientRedirect
from whitenoise.middleware import WhiteNoiseMiddleware

from gym.accounts import second_factor
from gym.accounts.quotas import OverQuota
from gym.conflicts import MESSAGE, Conflict, is_conflict
from gym.error_pages import error_response
from gym.healthz import healthz, readyz
from gym.monitoring.metrics import may_read, metrics

logger = logging.getLogger(__name__)
SAFE = {"GET", "HEAD", "OPTIONS"}


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise is untyped
    """WhiteNoise without its warning before `collectstatic`: until STATIC_ROOT exists, the finders find every file."""

    def add_files(self, root: str | Path, prefix: str | None = None) -> None:
        if Path(root).is_dir():
            super().add_files(root, prefix)


class Compressed(GZipMiddleware):
    """Compress text responses. Archives, Parquet files and images are already compressed."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.get("Content-Type", "").partition(";")[0]
        if kind.startswith("text/") or kind.endswith(("json", "xml", "javascript")):
            return super().process_response(request, response)
        return response


class HealthChecks(MiddlewareMixin):
    """Handle health checks and metrics before the Host header is checked, because probes use the machine's address."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        checks = {reverse(check.__name__): check for check in (healthz, readyz)}
        check = checks.get(request.path_info)
        if check is None and request.path_info == reverse("metrics") and may_read(request):
            return metrics(request)
        return None if check is None else check(request)


class NoStoreMiddleware(MiddlewareMixin):
    """Keep proxies and browsers from caching responses to requests with a session or a token."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if settings.SESSION_COOKIE_NAME in request.COOKIES or "Authorization" in request.headers:
            response["Cache-Control"] = "private, no-store"
        return response


class HtmxRedirects(MiddlewareMixin):
    """Turn the redirect after a form sent by htmx into HX-Redirect, so that the browser follows it, not XMLHttpRequest.

    A redirect followed by XMLHttpRequest would use up the messages meant for the next page.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.status_code != 302 or request.method in SAFE or "HX-Request" not in request.headers:
            return response
        redirect = HttpResponseClientRedirect(response["Location"])
        redirect.cookies = response.cookies
        return redirect


class Conflicts(MiddlewareMixin):
    """Respond with 409 to conflicts with concurrent changes. Most API views do so themselves."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not is_conflict(error, changes=request.method not in SAFE):
            return None
        logger.warning("Conflict: %s %s", request.method, request.path_info, exc_info=error)
        message = str(error) if isinstance(error, Conflict) else MESSAGE
        return error_response(request, 409, "conflict", message)


class OverQuotas(MiddlewareMixin):
    """Show an error page for an exceeded quota that the page's form does not handle. The API handles its own."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, OverQuota):
            return None
        return error_response(request, 400, "invalid", " ".join(error.messages), title="Quota reached")


NEED_NO_SECOND_FACTOR = (
    "mfa_",
    "account_reauthenticate",
    "login",
    "account_login",
    "logout",
    "retention",
    "help",
)
"""Beginnings of the URL names of pages that need no second factor."""


class RequireSecondFactor(MiddlewareMixin):
    """Redirect accounts that lack a required second factor from every page to the one that sets it up; the API responds
    with 403."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        if settings.GYM_REQUIRE_2FA not in ("staff", "everyone") or not second_factor.is_missing(
            request.user
        ):
            return None
        name = (request.resolver_match and request.resolver_match.url_name) or ""
        if name.startswith(NEED_NO_SECOND_FACTOR):
            return None
        if request.path_info.startswith("/api/"):
            return error_response(request, 403, "second_factor", second_factor.MISSING)
        return redirect("mfa_index")
