"""What other rooms may listen to."""

from django.dispatch import Signal

results_written = Signal()
"""Sent with `run` inside the transaction that has written a run's results, computed or uploaded."""
