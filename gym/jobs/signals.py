"""What other rooms may listen to."""

from django.dispatch import Signal

batch_ended = Signal()
"""Sent with `batch` and `jobs` (a list) inside a transaction, once, when the last job of a batch has ended for good."""

time_passes = Signal()
"""Sent by a worker every GYM_REAPER_SECONDS or so, for what has to happen at some time. Receivers are quick, do nothing
twice, and may raise."""
