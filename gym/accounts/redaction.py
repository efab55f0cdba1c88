"""Tokens never reach the log, wherever a message or a traceback got them from."""

from __future__ import annotations

import logging
import re

TOKEN = re.compile(r"(lmg_[\w-]{8})[\w-]+")


class NoTokens(logging.Formatter):
    """Cuts API tokens down to the prefix that lists show anyway."""

    def format(self, record: logging.LogRecord) -> str:
        return TOKEN.sub(r"\1…", super().format(record))
