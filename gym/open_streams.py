"""Limit on concurrent streamed downloads, each of which occupies a thread of the web server."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from functools import cache

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse

from gym.error_pages import error_response

RETRY_SECONDS = 10
BUSY = "Too many large downloads are in progress. Try again in a few seconds."


@cache
def slots() -> threading.BoundedSemaphore:
    """Return the semaphore that limits downloads to half of this process's threads; the others serve short
    requests."""
    return threading.BoundedSemaphore(max(1, settings.GYM_WEB_THREADS // 2))


class StreamSlot:
    """Iterator over a response's pieces. Its slot is released when the server closes it or it is garbage-collected."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.close = weakref.finalize(self, slots().release)

    def __iter__(self) -> StreamSlot:
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)


class OpenStreams:
    """Middleware: refuse downloads beyond the limit with 503. Files need no thread and do not count."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not isinstance(response, StreamingHttpResponse) or isinstance(response, FileResponse):
            return response
        if not slots().acquire(blocking=False):
            response.close()
            return error_response(
                request, 503, "busy", BUSY, title="Too many downloads", retry_seconds=RETRY_SECONDS
            )
        response.streaming_content = StreamSlot(response.streaming_content)
        return response
