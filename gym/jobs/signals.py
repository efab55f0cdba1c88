"""What other rooms may listen to."""

from django.dispatch import Signal

batch_ended = Signal()
"""Sent with `batch` and `jobs` (a list) inside a transaction, once, when the last job of a batch has ended for good."""
