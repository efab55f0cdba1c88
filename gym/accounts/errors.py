"""What an account is refused."""

from __future__ import annotations


class TooManyJobs(Exception):
    """The owner has as many active jobs as one user may have."""
