"""Signals for other apps."""

from django.dispatch import Signal

data_leaving = Signal()
"""Sent with `data` before human data are deleted or made private. Receivers raise suites.signals.InUse to prevent it.
Not sent when an account is deleted, which keeps public data."""
