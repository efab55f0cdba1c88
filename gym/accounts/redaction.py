"""Log formatter that redacts this site's API tokens and Hugging Face Hub tokens in messages and tracebacks."""

from __future__ import annotations

import logging
import re

TOKEN = re.compile(r"(lmg_[\w-]{8})[\w-]+|(\bhf_)[A-Za-z0-9]{20,}")


class NoTokens(logging.Formatter):
    """Formatter that shortens API tokens to the prefix shown in lists, and Hub tokens to `hf_`."""

    def format(self, record: logging.LogRecord) -> str:
        return TOKEN.sub(lambda found: f"{found[1] or found[2]}…", super().format(record))
