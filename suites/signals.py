"""Signals about suites."""

from django.core.exceptions import ValidationError
from django.dispatch import Signal


class InUse(ValidationError):
    """Raised if others rely on an object, so that it cannot be hidden or deleted; the message names them."""


address_leaving = Signal()
"""Sent with `suite` (as stored) before a user hides or moves a public suite, or deletes any suite. Receivers raise
InUse to prevent it."""
