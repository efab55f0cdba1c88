"""When something has no counterpart in another program's format."""

from __future__ import annotations

from collections.abc import Sequence


class Refused(ValueError):
    """`reasons`: what stands in the way, one sentence each, and what to do instead."""

    def __init__(self, what: str, reasons: Sequence[str]) -> None:
        super().__init__(f"{what}: {' '.join(reasons)}")
        self.what = what
        self.reasons = list(reasons)
