"""Editing a suite document: the ops of docs/grid.md on a `SuiteDocument` that is opened as a `Sheet`. Pure."""

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


def edit_sheet(sheet: Sheet, ops: Sequence[Op]) -> list[CellConflict]:
    """Do the ops on an open sheet; cells that do not hold what the editor saw keep their text and are answered.

    After an `EditError` the sheet may be half changed: throw it away.
    """
    conflicts: list[CellConflict] = []
    for index, op in enumerate(ops):
        name = op.get("op") if isinstance(op, dict) else None
        do = _OPS.get(name) if isinstance(name, str) else None
        if do is None:
            raise EditError(f"op {index}", f"there is no op called {name!r:.40}")
        try:
            found = do(sheet, op) or []
        except EditError as error:
            raise EditError(f"op {index}, {name}", error.message) from None
        conflicts += [replace(one, op=index) for one in found]
    return conflicts


# --- the open document ---


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
    """Items x conditions x regions and the predictions, with every move checked before it is made. `join` is the
    draft's join policy, which documents do not hold."""

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
        self.design = designs.renamed(self.design, name, to)
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


# --- fields of an op, which comes from a browser and may hold anything ---


def clean_text(value: object) -> str:
    """A cell's text as it is kept: trimmed, inner blanks collapsed, control characters left out."""
    if not isinstance(value, str):
        raise EditError("", "a cell's text must be text")
    text = tidy(SURROGATE.sub("", CONTROL.sub("", value)))
    if len(text) > MAX_CELL_CHARACTERS:
        raise EditError("", f"a cell has {len(text):,} characters; at most {MAX_CELL_CHARACTERS:,} are kept")
    return text


def clean_name(value: object, what: str) -> str:
    """A region's or condition's name: not empty, at most 200 characters."""
    name = clean_text(value)
    if not name:
        raise EditError("", f"the {what} needs a name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise EditError("", f"the {what}'s name has more than {MAX_NAME_CHARACTERS} characters")
    if what == "condition" and "%" in name:
        raise EditError("", f"the condition “{name}” contains a % sign; formulas write %name%")
    return name


def whole(op: Op, key: str, low: int, high: int) -> int:
    """A whole number between two bounds, both included."""
    value = op.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise EditError("", f"“{key}” is {value!r:.40}, but must be a whole number from {low} to {high}")
    return value


def item_number(value: object) -> int:
    """An item's number, from 0 to 999,999,999."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_ITEM_NUMBER:
        raise EditError("", f"{value!r:.40} is not an item number")
    return value


def text_of(op: Op, key: str) -> str:
    """A text field, as it stands."""
    value = op.get(key, "")
    if not isinstance(value, str):
        raise EditError("", f"“{key}” must be text")
    return SURROGATE.sub("", CONTROL.sub("", value))


def list_of(op: Op, key: str) -> Sequence[Any]:
    """A list field; a missing one is empty."""
    value = op.get(key, [])
    if not isinstance(value, list):
        raise EditError("", f"“{key}” must be a list")
    return value


def mapping_of(op: Op, key: str) -> Mapping[str, Any]:
    """An object field; a missing one is empty."""
    value = op.get(key, {})
    if not isinstance(value, dict):
        raise EditError("", f"“{key}” must be an object")
    return value


def texts(value: object, width: int) -> list[str]:
    """A row of cells as long as the suite has regions; a missing row is empty cells."""
    if value is None:
        return [""] * width
    if not isinstance(value, list) or len(value) != width:
        raise EditError("", f"a row must be a list of {width} texts, one per region")
    return [clean_text(cell) for cell in value]


# --- ops ---


def _set_cells(sheet: Sheet, op: Op) -> list[CellConflict]:
    found = []
    for cell in list_of(op, "cells"):
        item, condition, region, old, new = read_cell(cell)
        row = sheet.row(item, condition)
        if not 1 <= region <= len(sheet.regions):
            raise EditError("", f"there is no region {region}")
        now = row.contents[region - 1]
        if now == new:
            continue
        if now != old:
            found.append(CellConflict(0, item, condition, region, old, new, now))
        else:
            row.put(region, new)
    return found


def read_cell(cell: object) -> tuple[int, str, int, str, str]:
    """`[item, condition, region, old, new]`, with the texts as they are kept."""
    if not isinstance(cell, list) or len(cell) != 5 or not isinstance(cell[1], str):
        raise EditError("", "a cell is written [item, condition, region, old, new]")
    item, condition, region, old, new = cell
    if not isinstance(region, int) or isinstance(region, bool):
        raise EditError("", f"{region!r:.40} is not a region number")
    return item_number(item), condition, region, clean_text(old), clean_text(new)


def _insert_items(sheet: Sheet, op: Op) -> None:
    at = whole(op, "at", 0, len(sheet.rows))
    new: dict[int, dict[str, list[str]]] = {}
    for given in list_of(op, "items"):
        if not isinstance(given, dict):
            raise EditError("", "an item is written {number, rows}")
        number, rows = item_number(given.get("number")), mapping_of(given, "rows")
        unknown = [name for name in rows if name not in sheet.conditions]
        if unknown:
            raise EditError("", f"there is no condition “{unknown[0]:.60}”")
        if number in new:
            raise EditError("", f"item {number} is given twice")
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
        raise EditError("", f"there is a condition “{name:.60}” already")
    return name


def _insert_condition(sheet: Sheet, op: Op) -> None:
    at = whole(op, "at", 0, len(sheet.conditions))
    name = _free(sheet, clean_name(op.get("name"), "condition"))
    given = mapping_of(op, "rows")
    known = {str(item): item for item in sheet.rows}
    unknown = [key for key in given if key not in known]
    if unknown:
        raise EditError("", f"there is no item {unknown[0]:.20}")
    added = {known[key]: texts(row, len(sheet.regions)) for key, row in given.items()}
    names = list(sheet.conditions)
    names.insert(at, name)
    sheet.set_conditions(names, added)


def _delete_condition(sheet: Sheet, op: Op) -> None:
    name = _condition(sheet, op)
    if len(sheet.conditions) == 1:
        raise EditError("", "a suite keeps at least one condition")
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
    given = list_of(op, "texts")
    sheet.set_regions(order, name)
    for cell in given:
        if not isinstance(cell, list) or len(cell) != 3 or not isinstance(cell[1], str):
            raise EditError("", "a text is written [item, condition, text]")
        sheet.row(item_number(cell[0]), cell[1]).put(at, clean_text(cell[2]))


def _delete_region(sheet: Sheet, op: Op) -> None:
    region = whole(op, "region", 1, len(sheet.regions))
    if len(sheet.regions) == 1:
        raise EditError("", "a suite keeps at least one region")
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
    """`[{name, description, formula}, …]` within the limits of the format."""
    given = list_of(op, key)
    if len(given) > MAX_PREDICTIONS:
        raise EditError("", f"a suite has at most {MAX_PREDICTIONS} predictions")
    predictions = []
    for one in given:
        if not isinstance(one, dict):
            raise EditError("", "a prediction is written {name, description, formula}")
        fields = {field: text_of(one, field) for field in ("formula", "name", "description")}
        if len(fields["name"]) > MAX_NAME_CHARACTERS:
            raise EditError("", f"a prediction's name has at most {MAX_NAME_CHARACTERS} characters")
        if max(len(fields["formula"]), len(fields["description"])) > MAX_FORMULA_CHARACTERS:
            raise EditError("", f"a formula or description has at most {MAX_FORMULA_CHARACTERS:,} characters")
        predictions.append(PredictionDoc(fields["formula"], fields["name"], fields["description"]))
    return predictions


def _set_predictions(sheet: Sheet, op: Op) -> None:
    new = read_predictions(op, "predictions")
    now = [said(one) for one in sheet.predictions]
    seen = op.get("old")
    if seen is not None and [said(one) for one in read_predictions(op, "old")] != now:
        if [said(one) for one in new] == now:
            return
        raise EditError("", "the predictions are not the ones that this edit replaces")
    sheet.set_predictions(new)


def _set_factors(sheet: Sheet, op: Op) -> None:
    try:
        new = designs.read_factors(op.get("factors"), sheet.conditions)
        seen = op.get("old")
        old = sheet.design if seen is None else designs.read_factors(seen)
    except designs.DesignError as error:
        raise EditError("", error.message) from error
    if old != sheet.design and new != sheet.design:
        raise EditError("", "the factors are not the ones that this edit replaces")
    sheet.design = new


def read_scoring(value: Mapping[str, Any]) -> tuple[str | tuple[str, ...], str]:
    """`{metric, join}`: a metric, a list of metrics or “all”, and a join policy."""
    given, join = value.get("metric"), value.get("join")
    metric: Any = tuple(given) if isinstance(given, list) else given
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
        raise EditError("", "the scoring is not the one that this edit replaces")
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
"""Ops that add, remove, rename or move items, conditions or regions; the others compare what they replace."""


def is_structural(ops: Sequence[Op]) -> bool:
    """Whether any of the ops is one of `STRUCTURAL`."""
    return bool(_names(ops) & STRUCTURAL)


def compared(ops: Sequence[Op]) -> set[str]:
    """Those of the ops' names that replace a whole that is compared: predictions, factors, scoring."""
    return _names(ops) & COMPARED


def moves_rows(ops: Sequence[Op]) -> bool:
    """Whether the ops can change other rows than those of the cells that they name."""
    return bool(_names(ops) & STRUCTURAL - {"rename_region"})


def _names(ops: Sequence[Op]) -> set[str]:
    return {name for op in ops if isinstance(name := op.get("op"), str)}
