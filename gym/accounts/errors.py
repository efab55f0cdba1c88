"""Errors of limits on accounts."""

from __future__ import annotations


class TooManyJobs(Exception):
    """The owner's limit of active jobs is reached."""
