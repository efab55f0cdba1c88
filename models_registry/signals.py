"""Signals about models."""

from django.dispatch import Signal

start_token_settled = Signal()
"""Sent with `model` (with its new facts) in the transaction that stores its start token, chosen by a check or a user.
The token may be unchanged."""
