"""What other rooms may listen to."""

from django.core.exceptions import ValidationError
from django.dispatch import Signal


class InUse(ValidationError):
    """Others rely on this, so it is neither hidden nor deleted; the message says who."""


address_leaving = Signal()
"""Sent with `suite` (as it is stored) before a public suite is hidden, moved or deleted by a person. A receiver raises
InUse for what others rely on."""

secret_address_given = Signal()
"""Sent with `suite`, in the transaction that gives it a secret address (it becomes unlisted, or gets a new one). What
belongs to the suite and has an address of its own must not be found there any more by people without a role."""
