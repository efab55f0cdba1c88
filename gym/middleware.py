"""Middleware of the whole site."""

from __future__ import annotations

import logging
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from whitenoise.middleware import WhiteNoiseMiddleware

from gym.api.errors import Refusal
from gym.conflicts import SAID, Conflict, is_conflict
from gym.views import healthz

logger = logging.getLogger(__name__)
SAFE = {"GET", "HEAD", "OPTIONS"}


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise. STATIC_ROOT is there only after `collectstatic`; without it the finders have every file."""

    def add_files(self, root: str | Path, prefix: str | None = None) -> None:
        if Path(root).is_dir():
            super().add_files(root, prefix)


class SignOfLife(MiddlewareMixin):
    """Answers /healthz before anything looks at the Host header: a probe asks by the address of the machine."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        return healthz(request) if request.path_info == reverse("healthz") else None


class Conflicts(MiddlewareMixin):
    """A page whose change came too late, or that the database gave up for another, answers 409. Views of the API see to
    most of theirs themselves."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not is_conflict(error, changes=request.method not in SAFE):
            return None
        logger.warning("Conflict: %s %s", request.method, request.path_info, exc_info=error)
        message = str(error) if isinstance(error, Conflict) else SAID
        if request.path_info.startswith("/api/"):
            return Refusal(409, message, "raced").plain_response()
        return render(request, "409.html", {"message": message}, status=409)
