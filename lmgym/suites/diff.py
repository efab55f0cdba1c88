"""What changed between two documents of a suite: cells, predictions and what the suite says about itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher  # noqa: TID251  quadratic at best: callers bound what they compare
from typing import Any

from lmgym.suites.formats.designs import KEY, Factor, factors_in
from lmgym.suites.formats.documents import PredictionDoc, SuiteDocument

MOST_WORD_PAIRS = 10_000
"""Texts of 100 words each. A page shows 200 of them; one takes 7 ms at worst."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A name or value that was something else before; None on one side: it was added or removed."""

    what: str
    old: str | None
    new: str | None

    @property
    def kind(self) -> str:
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed"


@dataclass(frozen=True, slots=True)
class CellChange:
    """The text of one cell, `region` as it is called now."""

    item: int
    condition: str
    region: str
    old: str
    new: str

    @property
    def pieces(self) -> list[tuple[str, str]]:
        """The words as (text, "same" | "old" | "new"), for showing both texts in one line."""
        return word_pieces(self.old, self.new)


@dataclass(frozen=True, slots=True)
class PredictionChange:
    number: int
    old: PredictionDoc | None
    new: PredictionDoc | None

    @property
    def kind(self) -> str:
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed"


@dataclass(slots=True)
class SuiteDiff:
    """Empty lists mean that nothing of that sort changed."""

    about: list[Changed] = field(default_factory=list)
    regions: list[Changed] = field(default_factory=list)
    conditions: list[Changed] = field(default_factory=list)
    items_added: list[int] = field(default_factory=list)
    items_removed: list[int] = field(default_factory=list)
    cells: list[CellChange] = field(default_factory=list)
    predictions: list[PredictionChange] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)

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
        )


def diff(old: SuiteDocument, new: SuiteDocument, joins: tuple[str, str] = ("", "")) -> SuiteDiff:
    """Compare two documents, and the policies that join their regions. Items are matched by number, conditions by name,
    regions by name and order."""
    found = SuiteDiff(about=_about(old, new), predictions=_predictions(old, new))
    if joins[0] != joins[1]:
        found.about.append(Changed("join policy", *joins))
    regions = region_pairs(old.region_names, new.region_names)
    conditions = condition_pairs(old.conditions, new.conditions)
    found.regions = _names("region", old.region_names, new.region_names, regions)
    found.conditions = _names("condition", old.conditions, new.conditions, conditions)
    before, after = set(old.items), set(new.items)
    found.items_added = [item for item in new.items if item not in before]
    found.items_removed = [item for item in old.items if item not in after]
    found.cells = _cells(old, new, regions, conditions)
    found.reordered = _reordered(old, new, conditions, regions)
    return found


def region_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """(old place, new place) from 0 of the regions that are the same one in both, by their names."""
    names = list(old)
    if sorted(names) == sorted(new) and len(set(names)) == len(names):
        return [(names.index(name), place) for place, name in enumerate(new)]
    return _pairs(old, new)


def condition_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The same of conditions, wherever they stand."""
    return _pairs(old, new, moves=True)


def word_pieces(old: str, new: str) -> list[tuple[str, str]]:
    """Both texts in one: runs of words that stayed, went ("old") and came ("new"); very long texts are old and new as
    wholes."""
    # Not split(): a space that does not break is part of its word.
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
    """(old place, new place) of names that are the same one, renamed ones included."""
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
    """Changed texts of what both documents have, and texts of new regions and conditions in items of both."""
    before, after = old.table(), new.table()
    was = {new.conditions[b]: old.conditions[a] for a, b in conditions}
    place = {b: a for a, b in regions}
    cells: list[CellChange] = []
    for (item, condition), sentence in after.items():
        earlier = before.get((item, was[condition])) if condition in was else None
        if earlier is None:
            continue
        for number, text in enumerate(sentence.contents):
            past = earlier.contents[place[number]] if number in place else ""
            if past != text:
                cells.append(CellChange(item, condition, new.region_names[number], past, text))
    return cells


def _reordered(
    old: SuiteDocument,
    new: SuiteDocument,
    conditions: Sequence[tuple[int, int]],
    regions: Sequence[tuple[int, int]],
) -> list[str]:
    found = []
    common = set(old.items) & set(new.items)
    if [item for item in old.items if item in common] != [item for item in new.items if item in common]:
        found.append("items")
    if [a for a, _ in sorted(conditions, key=lambda pair: pair[1])] != sorted(a for a, _ in conditions):
        found.append("conditions")
    if [a for a, _ in sorted(regions, key=lambda pair: pair[1])] != sorted(a for a, _ in regions):
        found.append("regions")
    return found


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
    """Each level with its conditions: sing (match_sing, mismatch_sing), plural (match_plural, mismatch_plural)."""
    found: dict[str, list[str]] = {level: [] for level in factor.levels}
    for condition, level in factor.conditions.items():
        found[level].append(condition)
    return ", ".join(
        f"{level} ({', '.join(sorted(names))})" if names else level for level, names in found.items()
    )


def _in_words(value: Any) -> str:
    """A value of JSON without brackets and quotes; lists of lists or objects are divided by semicolons."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_in_words(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        is_flat = not any(isinstance(one, Mapping | list | tuple) for one in value)
        return (", " if is_flat else "; ").join(map(_in_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _predictions(old: SuiteDocument, new: SuiteDocument) -> list[PredictionChange]:
    before, after = [_key(p) for p in old.predictions], [_key(p) for p in new.predictions]
    found: list[PredictionChange] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for step in range(max(b - a, d - c)):
            one = old.predictions[a + step] if a + step < b else None
            other = new.predictions[c + step] if c + step < d else None
            number = (c + step if other is not None else a + step) + 1
            found.append(PredictionChange(number, one, other))
    return found


def _key(prediction: PredictionDoc) -> tuple[str, str, str]:
    return prediction.formula, prediction.name, prediction.description
