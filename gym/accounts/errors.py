"""Exception raised when an account reaches a limit or the queue of the site is full."""

from __future__ import annotations


class LimitReached(Exception):
    """A limit of the account on jobs or sentences is reached, or the queue of the site is full."""
