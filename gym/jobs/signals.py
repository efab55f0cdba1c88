"""Signals that other apps can receive."""

from django.dispatch import Signal

batch_ended = Signal()
"""Sent once, in a transaction, when all jobs of a batch have ended. Arguments: `batch`, `jobs` (a list)."""

time_passes = Signal()
"""Sent by a worker about every GYM_REAPER_SECONDS, for periodic work. Receivers must be quick and idempotent; errors
are logged."""
