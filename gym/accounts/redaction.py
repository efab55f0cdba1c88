"""Log formatter that redacts secrets in messages and tracebacks: this site's API tokens and invitations, Hugging Face
Hub tokens, and secret addresses of unlisted objects."""

from __future__ import annotations

import logging
import re

SECRET = re.compile(r"(lm[gi]_[\w-]{8})[\w-]+|(\bhf_)[A-Za-z0-9]{20,}|-[0-9a-f]{20}(?![0-9a-f])")


def redacted(text: str) -> str:
    """Shorten API tokens to the prefix shown in lists, Hub tokens to `hf_`, and secret addresses by their secret."""
    return SECRET.sub(lambda found: f"{found[1] or found[2] or '-'}…", text)


class NoTokens(logging.Formatter):
    """Formatter that applies `redacted`."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
