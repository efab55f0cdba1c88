"""What other rooms may listen to."""

from django.dispatch import Signal

results_written = Signal()
"""Sent with `run` inside the transaction that has written a run's results, computed or uploaded."""

runs_deleting = Signal()
"""Sent with `runs` (a queryset) before they are deleted one at a time, with their upload or by staff.

A receiver raises suites.signals.InUse for what others rely on. It is not sent when an account is deleted: that deletes
only what nobody else sees."""
