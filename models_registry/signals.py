"""What other rooms may listen to."""

from django.dispatch import Signal

start_token_settled = Signal()
"""Sent with `model` (its facts are the new ones) inside the transaction that has written which start token is its own:
by a check, or by somebody's choice. It may be the one that it was."""
