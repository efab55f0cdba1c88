"""Errors of limits on accounts."""

from __future__ import annotations


class TooManyJobs(Exception):
    """The owner's limit on active jobs is reached."""
