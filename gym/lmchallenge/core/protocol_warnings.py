"""Warnings about replies of a model process: legal by the protocol, and probably mistakes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ProtocolWarnings:
    """How often each came up in the replies."""

    odd_fields: int = 0  # a last field without a score, dropped
    not_finite: int = 0  # scores that are NaN or infinite
    repeated: int = 0  # candidates answered more than once
    unasked: int = 0  # candidates that nobody asked for
    omitted: int = 0  # candidates left out
    empty: int = 0  # replies without predictions

    def as_dict(self) -> dict[str, int]:
        """The counts that are not 0."""
        return {name: count for name, count in vars(self).items() if count}
