"""Flags that stop this process from claiming jobs."""

from __future__ import annotations

import threading

stopping = threading.Event()
"""Set by SIGTERM: handlers stop at their next check."""
broken = threading.Event()
"""Set by an error that makes this process unusable: it exits."""
closing = threading.Event()
"""Set when this process should be replaced: it exits once the running handlers have finished."""


def may_claim() -> bool:
    """Return False once this process ends or waits to be replaced."""
    return not (stopping.is_set() or broken.is_set() or closing.is_set())
