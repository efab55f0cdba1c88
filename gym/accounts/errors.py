"""Exceptions raised when an account reaches a limit."""

from __future__ import annotations


class TooManyJobs(Exception):
    """The owner has reached a limit, or the queue of the site is full."""
