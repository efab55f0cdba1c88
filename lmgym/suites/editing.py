"""Edit a suite document: apply the operations of docs/grid.md to a `SuiteDocument` opened as a `Sheet`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lmgym.suites.formats import designs
from lmgym.suites.formats.documents import (
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_CONDITIONS,
    MAX_ITEM_NUMBER,
    MAX_NAME_CHARACTERS,
    MAX_PREDICTIONS,
    MAX_REGIONS,
    MAX_SENTENCES,
    PredictionDoc,
    SentenceDoc,
    SuiteDocument,
)
from lmgym.suites.regions import JOIN_POLICIES, METRICS
from lmgym.text import CONTROL, SURROGATE, tidy

Op = Mapping[str, Any]
MAX_FORMULA_CHARACTERS = 10_000


class EditError(ValueError):
    """An operation cannot be applied.

    Attributes:
        where: the operation, such as "op 2, set_cells".
        message: the reason, as a sentence.
    """

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where
        self.message = message


@dataclass(frozen=True, slots=True)
class CellConflict:
    """A cell that changed since the editor read it: `old` is the text they read, `theirs` its current text."""

    op: int
    item: int
    condition: str
    region: int
    old: str
    yours: str
    theirs: str


def edit_sheet(sheet: Sheet, ops: Sequence[Op]) -> list[CellConflict]:
    """Apply operations to an open sheet.

    Returns:
        Cells that were not edited, because their text is not the old text of the operation.

    Raises:
        EditError: an operation is invalid. The sheet may be partly changed: discard it.
    """
    conflicts: list[CellConflict] = []
    for index, op in enumerate(ops):
        name = op.get("op") if isinstance(op, dict) else None
        apply = _OPS.get(name) if isinstance(name, str) else None
        if apply is None:
            raise EditError(f"op {index}", f"unknown op {name!r:.40}")
        try:
            op_conflicts = apply(sheet, op) or []
        except EditError as error:
            raise EditError(f"op {index}, {name}", error.message) from None
        conflicts += [replace(conflict, op=index) for conflict in op_conflicts]
    return conflicts


# --- the open document ---


@dataclass(slots=True)
class Row:
    """One sentence. `origin` is its index in the opened document, None for a new one."""

    contents: list[str]
    raw: list[str] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    origin: int | None = None

    def put(self, region: int, text: str) -> None:
        """Set a cell and drop its raw (imported) text; raw texts of other cells are kept."""
        self.contents[region - 1] = text
        if self.raw is not None:
            self.raw[region - 1] = text
            if self.raw == self.contents:
                self.raw = None

    def rearrange(self, order: list[int | None]) -> None:
        """Reorder regions.

        Args:
            order: old numbers from 1 in their new order; None for a new, empty region.
        """
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
        """Convert to a sentence of a document."""
        raw = None if self.raw is None else tuple(self.raw)
        return SentenceDoc(item, condition, tuple(self.contents), raw, self.extra)


class Sheet:
    """An open suite: items x conditions x regions, and predictions. Every edit is checked before it is applied.

    Attributes:
        join: join policy of the draft, which is not part of documents.
    """

    def __init__(self, document: SuiteDocument, join: str = "space") -> None:
        self.base = document
        self.metric = document.metric
        self.join = join
        self.regions = list(document.region_names)
        self.conditions = list(document.conditions)
        self.predictions = list(document.predictions)
        self.design = designs.factors_in(document.meta, document.conditions)
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
        """List all sentences with their index in the opened document (None if new)."""
        return [
            (row.origin, row.document(item, condition))
            for item, rows in self.rows.items()
            for condition, row in rows.items()
        ]

    def document(self) -> SuiteDocument:
        """Convert to a document."""
        extra = {key: value for key, value in self.base.extra.items() if key != "items"}
        if self.unknown_items:
            extra["items"] = self.unknown_items
        meta = self.base.meta
        if self.design != designs.factors_in(meta, self.base.conditions):
            meta = designs.in_meta(meta, self.design)
        return replace(
            self.base,
            metric=self.metric,
            meta=meta,
            region_names=tuple(self.regions),
            conditions=tuple(self.conditions),
            sentences=tuple(sentence for _, sentence in self.sentences()),
            predictions=tuple(self.predictions),
            extra=extra,
        )

    def check_size(self) -> None:
        n = len(self.rows) * len(self.conditions)
        for count, most, what in (
            (len(self.regions), MAX_REGIONS, "regions"),
            (len(self.conditions), MAX_CONDITIONS, "conditions"),
            (n, MAX_SENTENCES, "sentences"),
            (n * len(self.regions), MAX_CELLS, "cells"),
        ):
            if count > most:
                raise EditError("", f"the suite would have {count:,} {what}; at most {most:,} are allowed")

    # --- items ---

    def insert_items(self, at: int, new: dict[int, dict[str, list[str]]]) -> None:
        taken = [number for number in new if number in self.rows]
        if taken:
            raise EditError("", f"item {taken[0]} already exists")
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
            raise EditError("", f"item {to} already exists")
        self.rows = {(to if number == item else number): rows for number, rows in self.rows.items()}
        if str(item) in self.unknown_items:
            self.unknown_items = {
                (str(to) if key == str(item) else key): value for key, value in self.unknown_items.items()
            }

    # --- conditions ---

    def set_conditions(self, names: list[str], added: dict[int, list[str]] | None = None) -> None:
        """Set the conditions and their order; others are removed.

        Args:
            added: cells of new conditions by item; the default is empty cells.
        """
        empty = [""] * len(self.regions)
        self.conditions = names
        for item, rows in self.rows.items():
            self.rows[item] = {
                name: rows.get(name) or Row(list((added or {}).get(item, empty))) for name in names
            }
        self.check_size()

    def rename_condition(self, name: str, to: str) -> None:
        self.conditions = [to if known == name else known for known in self.conditions]
        self.design = designs.renamed(self.design, name, to)
        for item, rows in self.rows.items():
            self.rows[item] = {(to if known == name else known): row for known, row in rows.items()}

    # --- regions ---

    def set_regions(self, order: list[int | None], name: str = "") -> None:
        """Set the regions and their order.

        Args:
            order: old numbers from 1; None for a new region.
            name: name of the new region.
        """
        self.regions = [name if number is None else self.regions[number - 1] for number in order]
        for rows in self.rows.values():
            for row in rows.values():
                row.rearrange(order)
        self.check_size()

    # --- predictions ---

    def set_predictions(self, new: list[PredictionDoc]) -> None:
        """Replace all predictions; unchanged ones keep their unknown keys."""
        old = list(self.predictions)
        unmatched = list(old)
        extras: list[dict[str, Any]] = []
        for k, prediction in enumerate(new):
            same = next(
                (known for known in unmatched if editable_fields(known) == editable_fields(prediction)), None
            )
            if same is not None:
                unmatched.remove(same)
                extras.append(same.extra)
            else:
                extras.append(old[k].extra if len(old) == len(new) else {})
        self.predictions = [
            replace(prediction, extra=extra) for prediction, extra in zip(new, extras, strict=True)
        ]


def editable_fields(prediction: PredictionDoc) -> tuple[str, str, str]:
    """Return the fields of a prediction that the editor shows."""
    return prediction.name, prediction.description, prediction.formula


# --- fields of an op, which comes from a browser and is not trusted ---


def clean_text(value: object) -> str:
    """Normalise the text of a cell: trim it, collapse inner whitespace, remove control characters."""
    if not isinstance(value, str):
        raise EditError("", "a cell must be a string")
    text = tidy(SURROGATE.sub("", CONTROL.sub("", value)))
    if len(text) > MAX_CELL_CHARACTERS:
        raise EditError(
            "", f"a cell has {len(text):,} characters; at most {MAX_CELL_CHARACTERS:,} are allowed"
        )
    return text


def clean_name(value: object, what: str) -> str:
    """Normalise the name of a region or condition: not empty, at most 200 characters.

    Args:
        what: "region" or "condition".
    """
    name = clean_text(value)
    if not name:
        raise EditError("", f"the {what} needs a name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise EditError("", f"the {what}'s name has more than {MAX_NAME_CHARACTERS} characters")
    if what == "condition" and "%" in name:
        raise EditError(
            "", f"the condition “{name}” contains a % sign, which encloses condition names in formulas"
        )
    return name


def whole(op: Op, key: str, low: int, high: int) -> int:
    """Return a field that is an integer from `low` to `high`."""
    value = op.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise EditError("", f"“{key}” is {value!r:.40}, but must be a whole number from {low} to {high}")
    return value


def item_number(value: object) -> int:
    """Check an item number: an integer from 0 to 999,999,999."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_ITEM_NUMBER:
        raise EditError(
            "", f"{value!r:.40} is not an item number: a whole number from 0 to {MAX_ITEM_NUMBER:,}"
        )
    return value


def text_of(op: Op, key: str) -> str:
    """Return a text field without control characters; "" if it is missing."""
    value = op.get(key, "")
    if not isinstance(value, str):
        raise EditError("", f"“{key}” must be text")
    return SURROGATE.sub("", CONTROL.sub("", value))


def list_of(op: Op, key: str) -> Sequence[Any]:
    """Return a list field; empty if it is missing."""
    value = op.get(key, [])
    if not isinstance(value, list):
        raise EditError("", f"“{key}” must be a list")
    return value


def mapping_of(op: Op, key: str) -> Mapping[str, Any]:
    """Return an object field; empty if it is missing."""
    value = op.get(key, {})
    if not isinstance(value, dict):
        raise EditError("", f"“{key}” must be an object")
    return value


def texts(value: object, width: int) -> list[str]:
    """Normalise a row of `width` cells; None gives empty cells."""
    if value is None:
        return [""] * width
    if not isinstance(value, list) or len(value) != width:
        raise EditError(
            "", f"a row must be a list of {width} {'text' if width == 1 else 'texts'}, one per region"
        )
    return [clean_text(cell) for cell in value]


# --- ops ---


def _set_cells(sheet: Sheet, op: Op) -> list[CellConflict]:
    conflicts = []
    for cell in list_of(op, "cells"):
        item, condition, region, old, new = read_cell(cell)
        row = sheet.row(item, condition)
        if not 1 <= region <= len(sheet.regions):
            raise EditError("", f"there is no region {region}")
        now = row.contents[region - 1]
        if now == new:
            continue
        if now != old:
            conflicts.append(CellConflict(0, item, condition, region, old, new, now))
        else:
            row.put(region, new)
    return conflicts


def read_cell(cell: object) -> tuple[int, str, int, str, str]:
    """Parse `[item, condition, region, old, new]` and normalise its texts."""
    if not isinstance(cell, list) or len(cell) != 5 or not isinstance(cell[1], str):
        raise EditError("", "a cell must have the form [item, condition, region, old, new]")
    item, condition, region, old, new = cell
    if not isinstance(region, int) or isinstance(region, bool):
        raise EditError("", f"{region!r:.40} is not a region number")
    return item_number(item), condition, region, clean_text(old), clean_text(new)


def _insert_items(sheet: Sheet, op: Op) -> None:
    at = whole(op, "at", 0, len(sheet.rows))
    new: dict[int, dict[str, list[str]]] = {}
    for entry in list_of(op, "items"):
        if not isinstance(entry, dict):
            raise EditError("", "an item must have the form {number, rows}")
        number, rows = item_number(entry.get("number")), mapping_of(entry, "rows")
        unknown = [name for name in rows if name not in sheet.conditions]
        if unknown:
            raise EditError("", f"there is no condition “{unknown[0]:.60}”")
        if number in new:
            raise EditError("", f"item {number} occurs twice")
        new[number] = {name: texts(rows.get(name), len(sheet.regions)) for name in sheet.conditions}
    sheet.insert_items(at, new)


def _delete_items(sheet: Sheet, op: Op) -> None:
    sheet.delete_items([item_number(number) for number in list_of(op, "items")])


def _item(sheet: Sheet, op: Op) -> int:
    item = item_number(op.get("item"))
    if item not in sheet.rows:
        raise EditError("", f"there is no item {item}")
    return item


def _move_item(sheet: Sheet, op: Op) -> None:
    item = _item(sheet, op)
    sheet.move_item(item, whole(op, "to", 0, len(sheet.rows) - 1))


def _renumber_item(sheet: Sheet, op: Op) -> None:
    sheet.renumber_item(_item(sheet, op), item_number(op.get("to")))


def _condition(sheet: Sheet, op: Op) -> str:
    name = op.get("name")
    if not isinstance(name, str) or name not in sheet.conditions:
        raise EditError("", f"there is no condition “{name!s:.60}”")
    return name


def _free(sheet: Sheet, name: str) -> str:
    if name in sheet.conditions:
        raise EditError("", f"the condition “{name:.60}” already exists")
    return name


def _insert_condition(sheet: Sheet, op: Op) -> None:
    at = whole(op, "at", 0, len(sheet.conditions))
    name = _free(sheet, clean_name(op.get("name"), "condition"))
    rows = mapping_of(op, "rows")
    known = {str(item): item for item in sheet.rows}
    unknown = [key for key in rows if key not in known]
    if unknown:
        raise EditError("", f"there is no item {unknown[0]:.20}")
    added = {known[key]: texts(row, len(sheet.regions)) for key, row in rows.items()}
    names = list(sheet.conditions)
    names.insert(at, name)
    sheet.set_conditions(names, added)


def _delete_condition(sheet: Sheet, op: Op) -> None:
    name = _condition(sheet, op)
    if len(sheet.conditions) == 1:
        raise EditError("", "a suite needs at least one condition")
    sheet.set_conditions([known for known in sheet.conditions if known != name])
    sheet.design = designs.without(sheet.design, name)


def _move_condition(sheet: Sheet, op: Op) -> None:
    name = _condition(sheet, op)
    to = whole(op, "to", 0, len(sheet.conditions) - 1)
    names = [known for known in sheet.conditions if known != name]
    names.insert(to, name)
    sheet.set_conditions(names)


def _rename_condition(sheet: Sheet, op: Op) -> None:
    name, to = _condition(sheet, op), clean_name(op.get("to"), "condition")
    if to != name:
        sheet.rename_condition(name, _free(sheet, to))


def _insert_region(sheet: Sheet, op: Op) -> None:
    at = whole(op, "at", 1, len(sheet.regions) + 1)
    name = clean_name(op.get("name"), "region")
    order: list[int | None] = list(range(1, len(sheet.regions) + 1))
    order.insert(at - 1, None)
    new_cells = list_of(op, "texts")
    sheet.set_regions(order, name)
    for cell in new_cells:
        if not isinstance(cell, list) or len(cell) != 3 or not isinstance(cell[1], str):
            raise EditError("", "a text must have the form [item, condition, text]")
        sheet.row(item_number(cell[0]), cell[1]).put(at, clean_text(cell[2]))


def _delete_region(sheet: Sheet, op: Op) -> None:
    region = whole(op, "region", 1, len(sheet.regions))
    if len(sheet.regions) == 1:
        raise EditError("", "a suite needs at least one region")
    sheet.set_regions([number for number in range(1, len(sheet.regions) + 1) if number != region])


def _move_region(sheet: Sheet, op: Op) -> None:
    count = len(sheet.regions)
    region, to = whole(op, "region", 1, count), whole(op, "to", 1, count)
    order: list[int | None] = [number for number in range(1, count + 1) if number != region]
    order.insert(to - 1, region)
    sheet.set_regions(order)


def _rename_region(sheet: Sheet, op: Op) -> None:
    region = whole(op, "region", 1, len(sheet.regions))
    sheet.regions[region - 1] = clean_name(op.get("to"), "region")


def read_predictions(op: Op, key: str) -> list[PredictionDoc]:
    """Parse `[{name, description, formula}, …]` within the limits of the format."""
    entries = list_of(op, key)
    if len(entries) > MAX_PREDICTIONS:
        raise EditError("", f"a suite can have at most {MAX_PREDICTIONS} predictions")
    predictions = []
    for entry in entries:
        if not isinstance(entry, dict):
            raise EditError("", "a prediction must have the form {name, description, formula}")
        fields = {field: text_of(entry, field) for field in ("formula", "name", "description")}
        if len(fields["name"]) > MAX_NAME_CHARACTERS:
            raise EditError("", f"a prediction's name can have at most {MAX_NAME_CHARACTERS} characters")
        if max(len(fields["formula"]), len(fields["description"])) > MAX_FORMULA_CHARACTERS:
            raise EditError(
                "", f"a formula or description can have at most {MAX_FORMULA_CHARACTERS:,} characters"
            )
        predictions.append(PredictionDoc(fields["formula"], fields["name"], fields["description"]))
    return predictions


def _set_predictions(sheet: Sheet, op: Op) -> None:
    new = read_predictions(op, "predictions")
    now = list(map(editable_fields, sheet.predictions))
    if op.get("old") is not None and list(map(editable_fields, read_predictions(op, "old"))) != now:
        if list(map(editable_fields, new)) == now:
            return
        raise EditError("", "the predictions changed since this edit was made")
    sheet.set_predictions(new)


def _set_factors(sheet: Sheet, op: Op) -> None:
    try:
        new = designs.read_factors(op.get("factors"), sheet.conditions)
        old = sheet.design if op.get("old") is None else designs.read_factors(op["old"])
    except designs.DesignError as error:
        raise EditError("", error.message) from error
    if old != sheet.design and new != sheet.design:
        raise EditError("", "the factors changed since this edit was made")
    sheet.design = new


def read_scoring(value: Mapping[str, Any]) -> tuple[str | tuple[str, ...], str]:
    """Parse `{metric, join}`: a metric, a list of metrics or "all", and a join policy."""
    entry, join = value.get("metric"), value.get("join")
    metric: Any = tuple(entry) if isinstance(entry, list) else entry
    names = metric if isinstance(metric, tuple) else (metric,)
    known = all(isinstance(name, str) and name in METRICS for name in names)
    if metric != "all" and not (known and names and len(set(names)) == len(names)):
        raise EditError("", f"“metric” must be one of {', '.join(METRICS)}, a list of them, or “all”")
    if join not in JOIN_POLICIES:
        raise EditError("", f"“join” must be one of {', '.join(JOIN_POLICIES)}")
    return metric, str(join)


def _set_scoring(sheet: Sheet, op: Op) -> None:
    new, now = read_scoring(op), (sheet.metric, sheet.join)
    old = now if op.get("old") is None else read_scoring(mapping_of(op, "old"))
    if old != now and new != now:
        raise EditError("", "the scoring changed since this edit was made")
    sheet.metric, sheet.join = new


_OPS: dict[str, Callable[[Sheet, Any], list[CellConflict] | None]] = {
    "set_cells": _set_cells,
    "insert_items": _insert_items,
    "delete_items": _delete_items,
    "move_item": _move_item,
    "renumber_item": _renumber_item,
    "insert_condition": _insert_condition,
    "delete_condition": _delete_condition,
    "move_condition": _move_condition,
    "rename_condition": _rename_condition,
    "insert_region": _insert_region,
    "delete_region": _delete_region,
    "move_region": _move_region,
    "rename_region": _rename_region,
    "set_predictions": _set_predictions,
    "set_factors": _set_factors,
    "set_scoring": _set_scoring,
}
COMPARED = frozenset({"set_predictions", "set_factors", "set_scoring"})
STRUCTURAL = frozenset(_OPS) - COMPARED - {"set_cells"}
"""Operations that add, remove, rename or move items, conditions or regions. The others are compare-and-set."""


def is_structural(ops: Sequence[Op]) -> bool:
    """Return whether any operation is in `STRUCTURAL`."""
    return bool(_names(ops) & STRUCTURAL)


def compared(ops: Sequence[Op]) -> set[str]:
    """Return the names of compare-and-set operations that replace all predictions, all factors or the scoring."""
    return _names(ops) & COMPARED


def moves_rows(ops: Sequence[Op]) -> bool:
    """Return whether the operations can change rows other than the rows of the cells they name."""
    return bool(_names(ops) & STRUCTURAL - {"rename_region"})


def _names(ops: Sequence[Op]) -> set[str]:
    return {name for op in ops if isinstance(name := op.get("op"), str)}
