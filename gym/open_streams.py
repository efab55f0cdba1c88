"""A limit on streamed downloads, each of which holds a thread of the web server until it is sent."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from functools import cache

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse

from gym.error_pages import error_answer

RETRY_SECONDS = 10
BUSY = "This site is sending as many large downloads as it can. Try again in a few seconds."


@cache
def places() -> threading.BoundedSemaphore:
    """Half of the threads of this process; the others are for quick requests."""
    return threading.BoundedSemaphore(max(1, settings.GYM_WEB_THREADS // 2))


class StreamSlot:
    """Pieces of a response. Its place is released when the server closes it, or when it is garbage."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.close = weakref.finalize(self, places().release)

    def __iter__(self) -> StreamSlot:
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)


class OpenStreams:
    """Middleware: a download beyond the limit answers 503. Files are sent without a thread and do not count."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not isinstance(response, StreamingHttpResponse) or isinstance(response, FileResponse):
            return response
        if not places().acquire(blocking=False):
            response.close()
            return error_answer(
                request, 503, "busy", BUSY, title="Too many downloads", retry_seconds=RETRY_SECONDS
            )
        response.streaming_content = StreamSlot(response.streaming_content)
        return response
