"""Flags that stop this process from claiming jobs."""

from __future__ import annotations

import threading

stopping = threading.Event()
"""Set by SIGTERM: handlers stop at their next check."""
broken = threading.Event()
"""Set by an error that makes this process unusable: it exits."""
closing = threading.Event()
"""Set when this process should be replaced: it exits once the running handlers have finished or yielded."""
left_to_newer: frozenset[str] = frozenset()
"""Queues that workers of a newer version serve."""


def may_claim(queue: str) -> bool:
    """Return False once this process ends, waits to be replaced, or leaves the queue to newer workers."""
    return not (stopping.is_set() or broken.is_set() or closing.is_set() or queue in left_to_newer)
