"""What other rooms may listen to."""

from django.core.exceptions import ValidationError
from django.dispatch import Signal


class InUse(ValidationError):
    """Others rely on this, so it is neither hidden nor deleted; the message says who."""


address_leaving = Signal()
"""Sent with `suite` (as it is stored) before a public suite is hidden, moved or deleted by a person. A receiver raises
InUse for what others rely on."""
