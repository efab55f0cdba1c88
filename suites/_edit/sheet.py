"""A suite document opened for changes: the moves that the ops are made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from suites.formats.documents import (
    MAX_CELLS,
    MAX_CONDITIONS,
    MAX_REGIONS,
    MAX_SENTENCES,
    PredictionDoc,
    SentenceDoc,
    SuiteDocument,
)

from .errors import EditError


@dataclass(slots=True)
class Row:
    """One sentence. `origin` is its place in the document that was opened, None for a new one."""

    contents: list[str]
    raw: list[str] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    origin: int | None = None

    def put(self, region: int, text: str) -> None:
        """Write a cell; the file's own spelling of that cell is forgotten, of the others kept."""
        self.contents[region - 1] = text
        if self.raw is not None:
            self.raw[region - 1] = text
            if self.raw == self.contents:
                self.raw = None

    def rearrange(self, order: list[int | None]) -> None:
        """Make the regions those of `order`: old numbers from 1, None for a new empty one."""
        self.contents = ["" if k is None else self.contents[k - 1] for k in order]
        if self.raw is not None:
            raw = ["" if k is None else self.raw[k - 1] for k in order]
            self.raw = raw if raw != self.contents else None
        known = self.extra.get("regions")
        if known:
            moved = {str(new): known[str(old)] for new, old in enumerate(order, start=1) if str(old) in known}
            self.extra = {key: value for key, value in self.extra.items() if key != "regions"}
            if moved:
                self.extra["regions"] = moved

    def document(self, item: int, condition: str) -> SentenceDoc:
        """The row as the document has it."""
        raw = None if self.raw is None else tuple(self.raw)
        return SentenceDoc(item, condition, tuple(self.contents), raw, self.extra)


class Sheet:
    """Items x conditions x regions and the predictions, with every move checked before it is made."""

    def __init__(self, document: SuiteDocument, *, lenient: bool = False) -> None:
        self.base = document
        self.lenient = lenient
        self.regions = list(document.region_names)
        self.conditions = list(document.conditions)
        self.predictions = list(document.predictions)
        self.rows: dict[int, dict[str, Row]] = {}
        self.unknown_items: dict[str, Any] = dict(document.extra.get("items", {}))
        for place, s in enumerate(document.sentences):
            raw = None if s.raw is None else list(s.raw)
            self.rows.setdefault(s.item, {})[s.condition] = Row(list(s.contents), raw, s.extra, place)

    # --- reading ---

    @property
    def items(self) -> list[int]:
        return list(self.rows)

    def row(self, item: int, condition: str) -> Row:
        if item not in self.rows:
            raise EditError("", f"there is no item {item}")
        if condition not in self.rows[item]:
            raise EditError("", f"there is no condition “{condition}”")
        return self.rows[item][condition]

    def sentences(self) -> list[tuple[int | None, SentenceDoc]]:
        """Every sentence with the place it had in the document that was opened."""
        return [
            (row.origin, row.document(item, condition))
            for item, rows in self.rows.items()
            for condition, row in rows.items()
        ]

    def document(self) -> SuiteDocument:
        extra = {key: value for key, value in self.base.extra.items() if key != "items"}
        if self.unknown_items:
            extra["items"] = self.unknown_items
        return replace(
            self.base,
            region_names=tuple(self.regions),
            conditions=tuple(self.conditions),
            sentences=tuple(sentence for _, sentence in self.sentences()),
            predictions=tuple(self.predictions),
            extra=extra,
        )

    def check_size(self) -> None:
        n = len(self.rows) * len(self.conditions)
        for found, most, what in (
            (len(self.regions), MAX_REGIONS, "regions"),
            (len(self.conditions), MAX_CONDITIONS, "conditions"),
            (n, MAX_SENTENCES, "sentences"),
            (n * len(self.regions), MAX_CELLS, "cells"),
        ):
            if found > most:
                raise EditError("", f"that would make {found:,} {what}; a suite has at most {most:,}")

    # --- items ---

    def insert_items(self, at: int, new: dict[int, dict[str, list[str]]]) -> None:
        taken = [number for number in new if number in self.rows]
        if taken:
            raise EditError("", f"there is an item {taken[0]} already")
        pairs = list(self.rows.items())
        added = [(item, {name: Row(cells[name]) for name in self.conditions}) for item, cells in new.items()]
        self.rows = dict([*pairs[:at], *added, *pairs[at:]])
        self.check_size()

    def delete_items(self, numbers: list[int]) -> None:
        for number in numbers:
            if number not in self.rows:
                raise EditError("", f"there is no item {number}")
            del self.rows[number]
            self.unknown_items.pop(str(number), None)

    def move_item(self, item: int, to: int) -> None:
        pairs = [pair for pair in self.rows.items() if pair[0] != item]
        self.rows = dict([*pairs[:to], (item, self.rows[item]), *pairs[to:]])

    def renumber_item(self, item: int, to: int) -> None:
        if to != item and to in self.rows:
            raise EditError("", f"there is an item {to} already")
        self.rows = {(to if number == item else number): rows for number, rows in self.rows.items()}
        if str(item) in self.unknown_items:
            self.unknown_items = {
                (str(to) if key == str(item) else key): value for key, value in self.unknown_items.items()
            }

    # --- conditions ---

    def set_conditions(self, names: list[str], added: dict[int, list[str]] | None = None) -> None:
        """Keep, order, drop: the conditions become `names`; a new one takes its rows from `added`."""
        empty = [""] * len(self.regions)
        self.conditions = names
        for item, rows in self.rows.items():
            self.rows[item] = {
                name: rows.get(name) or Row(list((added or {}).get(item, empty))) for name in names
            }
        self.check_size()

    def rename_condition(self, name: str, to: str) -> None:
        self.conditions = [to if known == name else known for known in self.conditions]
        for item, rows in self.rows.items():
            self.rows[item] = {(to if known == name else known): row for known, row in rows.items()}

    # --- regions ---

    def set_regions(self, order: list[int | None], name: str = "") -> None:
        """The regions become `order`: old numbers from 1, None for the new one called `name`."""
        self.regions = [name if number is None else self.regions[number - 1] for number in order]
        for rows in self.rows.values():
            for row in rows.values():
                row.rearrange(order)
        self.check_size()

    # --- predictions ---

    def set_predictions(self, new: list[PredictionDoc]) -> None:
        """Replace the list; unknown keys stay with the prediction they belong to."""
        old = list(self.predictions)
        left = list(old)
        kept: list[dict[str, Any]] = []
        for place, prediction in enumerate(new):
            same = next((one for one in left if said(one) == said(prediction)), None)
            if same is not None:
                left.remove(same)
                kept.append(same.extra)
            else:
                kept.append(old[place].extra if len(old) == len(new) else {})
        self.predictions = [replace(one, extra=extra) for one, extra in zip(new, kept, strict=True)]


def said(prediction: PredictionDoc) -> tuple[str, str, str]:
    """What the page knows of a prediction."""
    return prediction.name, prediction.description, prediction.formula
