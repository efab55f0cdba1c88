"""Pages as tests read them: without the line breaks and indentation of their templates."""

from __future__ import annotations

from typing import Any


def text_of(response: Any) -> str:
    """Return the HTML of a response with every run of white space as one space."""
    return " ".join(response.content.decode().split())
