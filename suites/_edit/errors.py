"""An edit that cannot be made, and a cell that somebody else changed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass


class EditError(ValueError):
    """`where` names the op (`op 2, set_cells`), `message` says in a sentence why it cannot be made."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where
        self.message = message


@dataclass(frozen=True, slots=True)
class CellConflict:
    """A cell whose text is not what the editor saw: `old` is what they saw, `theirs` what stands there now."""

    op: int
    item: int
    condition: str
    region: int
    old: str
    yours: str
    theirs: str
