"""Mail to administrators about unexpected errors (GYM_ADMIN_EMAIL)."""

from __future__ import annotations

import logging
import time
import traceback

from django.utils.log import AdminEmailHandler
from django.views.debug import ExceptionReporter

from gym import log_fields
from gym.accounts.redaction import redacted

PAUSE_SECONDS = 300
"""Time for which repetitions of an error are not mailed again, in each web process."""


class OncePerError(logging.Filter):
    """Filter that passes an error raised at the same line at most once in PAUSE_SECONDS."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[object, float] = {}  # bounded by the lines of the program that can raise

    def filter(self, record: logging.LogRecord) -> bool:
        kind, _, tb = record.exc_info or (None, None, None)
        frames = traceback.extract_tb(tb)
        key = (kind, frames[-1].filename, frames[-1].lineno) if frames else record.msg
        now = time.monotonic()
        if now - self._last.get(key, float("-inf")) < PAUSE_SECONDS:
            return False
        self._last[key] = now
        return True


class Traceback(ExceptionReporter):
    """Report of the traceback and the request's id: no body, cookies, headers, variables or settings."""

    def get_traceback_text(self) -> str:  # type: ignore[override]  # plain text needs no escaping
        fields = "".join(f"{name}: {value}\n" for name, value in log_fields.current().items())
        lines = traceback.format_exception(self.exc_type, self.exc_value, self.tb)
        return redacted(f"{fields}\n{''.join(lines)}")


class AdminMail(AdminEmailHandler):
    """Handler that mails a `Traceback` to the administrators."""

    def __init__(self) -> None:
        super().__init__(reporter_class=f"{__name__}.{Traceback.__name__}")
        self.addFilter(OncePerError())

    def format_subject(self, subject: str) -> str:
        return redacted(super().format_subject(subject))
