"""How a model process is started, how long it may take, and what a text looks like on its way there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

START_TIMEOUT = 120.0
REPLY_TIMEOUT = 30.0
STOP_TIMEOUT = 10.0
SETTLE = 0.02
_WIRE = str.maketrans(
    {"\t": " ", "\n": " ", "\r": " "} | {chr(code): "\ufffd" for code in range(0xD800, 0xE000)}
)


def on_the_wire(text: str) -> str:
    """The text as it is sent: same length, nothing in it that ends a field or a line, nothing that is not Unicode."""
    return text.translate(_WIRE) if not text.isprintable() else text


@dataclass(frozen=True)
class Command:
    """How to start a model. Times in seconds."""

    argv: tuple[str, ...]
    start_timeout: float = START_TIMEOUT
    reply_timeout: float = REPLY_TIMEOUT
    stop_timeout: float = STOP_TIMEOUT
    settle: float = SETTLE
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
