"""Compare two documents of a suite: cells, predictions and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher  # noqa: TID251  quadratic time: callers bound the input
from typing import Any

from lmgym.suites.formats.designs import KEY, Factor, factors_in
from lmgym.suites.formats.documents import PredictionDoc, SuiteDocument
from lmgym.suites.formats.tables import DATA
from lmgym.text import numbered

_PARTS = ("name", "formula", "description")
_TO = {"added": "added to", "removed": "removed from", "changed": "changed in"}
MOST_WORD_PAIRS = 10_000
"""Limit of a word-by-word comparison, such as 100 by 100 words: 7 ms at worst. A page shows up to 200 comparisons."""


class _Sides:
    """A change from `old` to `new`."""

    __slots__ = ()
    old: Any
    new: Any

    @property
    def kind(self) -> str:
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed"


@dataclass(frozen=True, slots=True)
class Changed(_Sides):
    """A changed name or value; None on one side if it was added or removed."""

    what: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class CellChange:
    """A changed cell. `condition` and `region` are names in the newer document."""

    item: int
    condition: str
    region: str
    old: str
    new: str

    @property
    def pieces(self) -> list[tuple[str, str]]:
        """Both texts merged into one line, as (text, "same" | "old" | "new")."""
        return word_pieces(self.old, self.new)


@dataclass(frozen=True, slots=True)
class PredictionChange(_Sides):
    """A changed prediction; None on one side if it was added or removed. `number` counts from 1."""

    number: int
    old: PredictionDoc | None
    new: PredictionDoc | None

    @property
    def parts(self) -> list[Changed]:
        """Name, formula and description, where they differ."""
        if self.old is None or self.new is None:
            return []
        pairs = [(name, getattr(self.old, name), getattr(self.new, name)) for name in _PARTS]
        return [Changed(name, old or None, new or None) for name, old, new in pairs if old != new]


@dataclass(frozen=True, slots=True)
class DataChange(_Sides):
    """A changed value of item data; None on one side if it was added or removed. `condition`: "" for data of the item
    in all conditions."""

    item: int
    condition: str
    name: str
    old: str | None
    new: str | None


@dataclass(slots=True)
class SuiteDiff:
    """Differences between two documents, by kind; an empty list means no change of that kind."""

    about: list[Changed] = field(default_factory=list)
    regions: list[Changed] = field(default_factory=list)
    conditions: list[Changed] = field(default_factory=list)
    items_added: list[int] = field(default_factory=list)
    items_removed: list[int] = field(default_factory=list)
    cells: list[CellChange] = field(default_factory=list)
    predictions: list[PredictionChange] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)
    data: list[DataChange] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(
            self.about
            or self.regions
            or self.conditions
            or self.items_added
            or self.items_removed
            or self.cells
            or self.predictions
            or self.reordered
            or self.data
        )

    @property
    def data_in_words(self) -> list[tuple[str, str]]:
        """Summary of changes to item data by name: [("verb", "added to items 1-24; changed in item 30")]."""
        items: dict[str, dict[str, dict[int, None]]] = {}
        for one in self.data:
            items.setdefault(one.name, {}).setdefault(one.kind, {})[one.item] = None
        return [
            (name, "; ".join(f"{_TO[kind]} {numbered('item', sorted(each))}" for kind, each in kinds.items()))
            for name, kinds in items.items()
        ]


def diff(old: SuiteDocument, new: SuiteDocument, joins: tuple[str, str] = ("", "")) -> SuiteDiff:
    """Compare two documents. Items are matched by number; see `condition_pairs` and `region_pairs` for the others.

    Args:
        joins: join policies of both, compared as well.
    """
    changes = SuiteDiff(
        about=_about(old, new), predictions=prediction_changes(old.predictions, new.predictions)
    )
    if joins[0] != joins[1]:
        changes.about.append(Changed("join policy", *joins))
    regions = region_pairs(old.region_names, new.region_names)
    conditions = condition_pairs(old.conditions, new.conditions)
    changes.regions = _names("region", old.region_names, new.region_names, regions)
    changes.conditions = _names("condition", old.conditions, new.conditions, conditions)
    before, after = set(old.items), set(new.items)
    changes.items_added = [item for item in new.items if item not in before]
    changes.items_removed = [item for item in old.items if item not in after]
    changes.cells = _cells(old, new, regions, conditions)
    changes.reordered = _reordered(old, new, conditions, regions)
    changes.data = _data(old, new, conditions)
    return changes


def region_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Match regions of two revisions. Returns (old index, new index), from 0.

    If both have the same names, these are matched in any order. Otherwise names are matched in the same order, and
    regions with as many others in their place count as renamed.
    """
    names = list(old)
    if sorted(names) == sorted(new) and len(set(names)) == len(names):
        return [(names.index(name), place) for place, name in enumerate(new)]
    return _pairs(old, new)


def condition_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Match conditions of two revisions by name, in any order. Returns (old index, new index), from 0.

    If each revision has equally many other conditions, these count as renamed and are matched in order.
    """
    return _pairs(old, new, moves=True)


def word_pieces(old: str, new: str) -> list[tuple[str, str]]:
    """Merge two texts into runs of unchanged ("same"), removed ("old") and added ("new") words.

    Very long texts are not compared: the result is all of `old` and all of `new`.
    """
    # Not split(): a no-break space is part of its word.
    before, after = (text.split(" ") if text else [] for text in (old, new))
    pieces: list[tuple[str, str]] = []
    if len(before) * len(after) > MOST_WORD_PAIRS:
        return [(old, "old"), (new, "new")]
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append((" ".join(before[a:b]), "same"))
            continue
        if b > a:
            pieces.append((" ".join(before[a:b]), "old"))
        if d > c:
            pieces.append((" ".join(after[c:d]), "new"))
    return pieces


def _pairs(old: Sequence[str], new: Sequence[str], *, moves: bool = False) -> list[tuple[int, int]]:
    """Match names, including renamed ones. Returns (old index, new index). `moves`: names may change places."""
    pairs: list[tuple[int, int]] = []
    if moves:
        pairs = [(old.index(name), place) for place, name in enumerate(new) if name in old]
        left = [place for place, name in enumerate(old) if name not in new]
        right = [place for place, name in enumerate(new) if name not in old]
        return pairs + (list(zip(left, right, strict=True)) if len(left) == len(right) else [])
    for tag, a, b, c, d in SequenceMatcher(None, list(old), list(new), autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and b - a == d - c):
            pairs += list(zip(range(a, b), range(c, d), strict=True))
    return pairs


def _names(
    what: str, old: Sequence[str], new: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> list[Changed]:
    kept_old, kept_new = {a for a, _ in pairs}, {b for _, b in pairs}
    return [
        *(Changed(f"{what} {b + 1}", old[a], new[b]) for a, b in pairs if old[a] != new[b]),
        *(Changed(f"{what} {b + 1}", None, name) for b, name in enumerate(new) if b not in kept_new),
        *(Changed(f"{what} {a + 1}", name, None) for a, name in enumerate(old) if a not in kept_old),
    ]


def _cells(
    old: SuiteDocument,
    new: SuiteDocument,
    regions: Sequence[tuple[int, int]],
    conditions: Sequence[tuple[int, int]],
) -> list[CellChange]:
    """List changed cells of sentences that both documents have; cells of a new region count as previously empty."""
    before, after = old.table(), new.table()
    old_conditions = {new.conditions[b]: old.conditions[a] for a, b in conditions}
    old_regions = {b: a for a, b in regions}
    cells: list[CellChange] = []
    for (item, condition), sentence in after.items():
        earlier = before.get((item, old_conditions[condition])) if condition in old_conditions else None
        if earlier is None:
            continue
        for k, text in enumerate(sentence.contents):
            old_text = earlier.contents[old_regions[k]] if k in old_regions else ""
            if old_text != text:
                cells.append(CellChange(item, condition, new.region_names[k], old_text, text))
    return cells


def _data(old: SuiteDocument, new: SuiteDocument, conditions: Sequence[tuple[int, int]]) -> list[DataChange]:
    """List changed data of items and sentences that both documents have."""
    old_conditions = {new.conditions[b]: old.conditions[a] for a, b in conditions}
    before, common = old.table(), set(old.items)
    pairs: list[tuple[int, str, Mapping[str, Any], Mapping[str, Any]]] = []
    done: set[int] = set()
    for sentence in new.sentences:
        item, condition = sentence.item, sentence.condition
        if item in common and item not in done:
            done.add(item)
            pairs.append((item, "", _item_data(old, item), _item_data(new, item)))
        earlier = before.get((item, old_conditions.get(condition, "")))
        if earlier is not None:
            pairs.append((item, condition, _sentence_data(earlier.extra), _sentence_data(sentence.extra)))
    return [
        DataChange(item, condition, name, _value(earlier, name), _value(later, name))
        for item, condition, earlier, later in pairs
        if earlier != later
        for name in dict.fromkeys([*earlier, *later])
        if earlier.get(name) != later.get(name)
    ]


def _item_data(document: SuiteDocument, item: int) -> Mapping[str, Any]:
    data = document.extra.get("items", {}).get(str(item), {})
    return data if isinstance(data, Mapping) else {}


def _sentence_data(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item data of a sentence and its other unknown keys, without those of regions."""
    rest = {key: value for key, value in extra.items() if key not in (DATA, "regions")}
    data = extra.get(DATA, {})
    return {**rest, **data} if isinstance(data, Mapping) else {**rest, DATA: data}


def _value(data: Mapping[str, Any], name: str) -> str | None:
    return _in_words(data[name]) if name in data else None


def _reordered(
    old: SuiteDocument,
    new: SuiteDocument,
    conditions: Sequence[tuple[int, int]],
    regions: Sequence[tuple[int, int]],
) -> list[str]:
    reordered = []
    common = set(old.items) & set(new.items)
    if [item for item in old.items if item in common] != [item for item in new.items if item in common]:
        reordered.append("items")
    if [a for a, _ in sorted(conditions, key=lambda pair: pair[1])] != sorted(a for a, _ in conditions):
        reordered.append("conditions")
    if [a for a, _ in sorted(regions, key=lambda pair: pair[1])] != sorted(a for a, _ in regions):
        reordered.append("regions")
    return reordered


def _about(old: SuiteDocument, new: SuiteDocument) -> list[Changed]:
    before, after = _facts(old), _facts(new)
    names = list(dict.fromkeys([*before, *after]))
    return [
        Changed(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]


def _facts(document: SuiteDocument) -> dict[str, str]:
    facts: dict[str, Any] = {"name": document.name, "metric": document.metric, **document.meta}
    facts |= {key: value for key, value in document.extra.items() if key != "items"}
    if design := factors_in(document.meta, document.conditions):
        facts.pop(KEY)
        facts |= {f"factor {factor.name}": _levels(factor) for factor in design}
    return {key: _in_words(value) for key, value in facts.items()}


def _levels(factor: Factor) -> str:
    """List levels with their conditions: sing (match_sing, mismatch_sing), plural (match_plural, mismatch_plural)."""
    conditions: dict[str, list[str]] = {level: [] for level in factor.levels}
    for condition, level in factor.conditions.items():
        conditions[level].append(condition)
    return ", ".join(
        f"{level} ({', '.join(sorted(names))})" if names else level for level, names in conditions.items()
    )


def _in_words(value: Any) -> str:
    """Format a JSON value without brackets and quotes; semicolons separate nested lists and objects."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        is_flat = not any(isinstance(inner, Mapping | list | tuple) for inner in value)
        return (", " if is_flat else "; ").join(map(_in_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def prediction_changes(old: Sequence[PredictionDoc], new: Sequence[PredictionDoc]) -> list[PredictionChange]:
    """Compare two lists of predictions in their order."""
    before, after = [_key(p) for p in old], [_key(p) for p in new]
    changes: list[PredictionChange] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for step in range(max(b - a, d - c)):
            earlier = old[a + step] if a + step < b else None
            later = new[c + step] if c + step < d else None
            number = (c + step if later is not None else a + step) + 1
            changes.append(PredictionChange(number, earlier, later))
    return changes


def _key(prediction: PredictionDoc) -> tuple[str, str, str]:
    return prediction.formula, prediction.name, prediction.description
