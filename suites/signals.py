"""Signals of suites."""

from django.core.exceptions import ValidationError
from django.dispatch import Signal


class InUse(ValidationError):
    """Others rely on this object, so it cannot be hidden or deleted; the message says who."""


address_leaving = Signal()
"""Sent with `suite` (as stored) before a user hides, moves or deletes a public suite. Receivers raise InUse to prevent
it."""
