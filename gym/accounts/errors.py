"""Exceptions raised when an account reaches a limit."""

from __future__ import annotations


class TooManyJobs(Exception):
    """The owner has reached the limit on active jobs."""
