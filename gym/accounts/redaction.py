"""Log formatter that redacts API tokens in messages and tracebacks."""

from __future__ import annotations

import logging
import re

TOKEN = re.compile(r"(lmg_[\w-]{8})[\w-]+")


class NoTokens(logging.Formatter):
    """Formatter that shortens API tokens to the prefix shown in lists."""

    def format(self, record: logging.LogRecord) -> str:
        return TOKEN.sub(r"\1…", super().format(record))
