"""Signals for other apps."""

from django.dispatch import Signal

results_written = Signal()
"""Sent with `run` inside the transaction that has written a run's results, computed or uploaded."""

runs_deleting = Signal()
"""Sent with `runs` (a queryset) before they are deleted: individually, with their upload, or by staff. A receiver
raises suites.signals.InUse for runs it needs. Not sent when an account is deleted, which deletes only runs that others
cannot see."""

ceilings_requested = Signal()
"""Sent with `user`, `revisions` and `rule` when a leaderboard is shown. A receiver returns the results of people as
{pk of a revision: Ceiling} (gym.runs.read.leaderboard.ceilings)."""
