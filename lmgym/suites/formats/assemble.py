"""Rules that apply to every file format: check raw cells and assemble them into sentences.

Readers of JSON, long tables and wide tables produce `RawSentence`s with their file locations; `assemble` checks them
against each other and builds `SentenceDoc`s.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lmgym.suites.formats.documents import (
    MAX_CELLS,
    MAX_CONDITIONS,
    MAX_NAME_CHARACTERS,
    MAX_REGIONS,
    MAX_SENTENCES,
    SentenceDoc,
)
from lmgym.text import BLANKS, count, listing, tidy
from lmgym.text.problems import Report


@dataclass(slots=True)
class CellStatistics:
    """Counts of the changes made by `tidy`, for one notice about the suite instead of one per cell."""

    leading: int = 0
    trailing: int = 0
    inner: int = 0
    broken: int = 0
    not_nfc: int = 0

    def add(self, raw: str) -> str:
        """Return the tidied text of a cell and count the changes."""
        if not raw.isascii() and not unicodedata.is_normalized("NFC", raw):
            self.not_nfc += 1
        text = tidy(raw)
        if text != raw:
            body = raw.strip(BLANKS)
            self.leading += bool(raw) and raw[0] in BLANKS
            self.trailing += bool(raw) and raw[-1] in BLANKS
            self.inner += "  " in body
            self.broken += any(mark in body for mark in "\t\r\n\v\f")
        return text

    def report(self, report: Report, where: str) -> None:
        """Add at most two notices: on spaces, and on text that is not in Unicode's composed form."""
        kinds = [
            (self.leading, "with a leading space"),
            (self.trailing, "with a trailing space"),
            (self.inner, "with repeated spaces inside"),
            (self.broken, "with a tab or line break inside"),
        ]
        changes = [f"{count(number, 'region')} {what}" for number, what in kinds if number]
        if changes:
            message = f"{', '.join(changes)}: whitespace trimmed and collapsed; exports can restore the original text"
            report.notice(where, message)
        if self.not_nfc:
            message = f"{count(self.not_nfc, 'region')} not in Unicode's composed form (NFC), left unchanged"
            report.notice(where, message)


_SAME_CONDITIONS = "Every item needs the same conditions."
_EVERY_REGION = "Every sentence needs every region once; an empty region has empty content."


@dataclass(slots=True)
class RawRegion:
    """One cell of the file. `where` is its location in messages."""

    where: str
    number: int
    content: str
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def number_place(self) -> str:
        """Location of its number: a key in JSON, the line in a table."""
        return f"{self.where}.region_number" if self.where.startswith("$") else self.where


@dataclass(slots=True)
class RawSentence:
    """One sentence of the file. `where` and `item_where` locate the sentence and its item in messages."""

    where: str
    item_where: str
    item: int
    condition: str
    regions: list[RawRegion]
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assembled:
    """Result of `assemble`."""

    region_names: tuple[str, ...]
    conditions: tuple[str, ...]
    sentences: tuple[SentenceDoc, ...]


def assemble(raws: Sequence[RawSentence], names: Sequence[str] | None, report: Report) -> Assembled:
    """Check sentences against each other and tidy their cells.

    Args:
        names: region names in the order of their numbers; None if the file declares no regions.
        report: receives every problem. The result is meaningful only if there is none.
    """
    if not _check_limits(raws, report):
        return Assembled((), (), ())
    conditions = _check_conditions(raws, report)
    if names is None:
        numbers = [region.number for raw in raws for region in raw.regions]
        names = [f"Region {number}" for number in range(1, max(numbers, default=0) + 1)]
    for raw in raws:
        _check_regions(raw, names, report)
    sentences = () if report.problems else _sentences(raws, report)
    return Assembled(tuple(names), conditions, sentences)


def _check_limits(raws: Sequence[RawSentence], report: Report) -> bool:
    before = len(report.problems)
    cells = sum(len(raw.regions) for raw in raws)
    for number, most, what in ((len(raws), MAX_SENTENCES, "sentences"), (cells, MAX_CELLS, "regions in all")):
        if number > most:
            report.problem(
                "file", f"the suite has {number:,} {what}; at most {most:,} are allowed", "Split the suite."
            )
    return len(report.problems) == before


def _by_item(raws: Sequence[RawSentence]) -> dict[int, list[RawSentence]]:
    items: dict[int, list[RawSentence]] = {}
    for raw in raws:
        items.setdefault(raw.item, []).append(raw)
    return items


def _check_conditions(raws: Sequence[RawSentence], report: Report) -> tuple[str, ...]:
    """Check that each item has the conditions of most items, each once. Returns them in the most common order."""
    items = _by_item(raws)
    lists: dict[int, tuple[str, ...]] = {}
    for item, sentences in items.items():
        first: dict[str, RawSentence] = {}
        for raw in sentences:
            if raw.condition in first:
                earlier = first[raw.condition].where
                message = f"item {item} has the condition “{raw.condition}” twice, first at {earlier}"
                report.problem(raw.where, message, "Rename or remove one of them.")
            first.setdefault(raw.condition, raw)
        lists[item] = tuple(first)
    if not lists:
        return ()
    usual = Counter(frozenset(names) for names in lists.values()).most_common(1)[0][0]
    order = Counter(names for names in lists.values() if set(names) == usual).most_common(1)[0][0]
    model = next(item for item, names in lists.items() if names == order)
    if len(order) > MAX_CONDITIONS:
        report.problem(
            "file", f"item {model} has {len(order)} conditions; at most {MAX_CONDITIONS} are allowed"
        )
    _compare_conditions(items, lists, model, report)
    reordered = [item for item, names in lists.items() if names != order and set(names) == usual]
    if reordered:
        label = f"{'item' if len(reordered) == 1 else 'items'} {listing(reordered)}"
        message = f"{label}: the order of conditions differs from that of item {model}; conditions were matched by name"
        report.notice(items[reordered[0]][0].item_where, message)
    return order


def _compare_conditions(
    items: dict[int, list[RawSentence]], lists: dict[int, tuple[str, ...]], model: int, report: Report
) -> None:
    usual = lists[model]
    for item, names in lists.items():
        if names == usual:
            continue
        where = items[item][0].item_where
        lacking = [f"“{name}”" for name in usual if name not in names]
        surplus = [f"“{name}”" for name in names if name not in usual]
        if lacking:
            what = "a condition" if len(lacking) == 1 else "conditions"
            message = f"item {item} lacks {what} that item {model} has: {listing(lacking)}"
            report.problem(where, message, _SAME_CONDITIONS)
        if surplus:
            what = "a condition" if len(surplus) == 1 else "conditions"
            message = f"item {item} has {what} that item {model} lacks: {listing(surplus)}"
            report.problem(where, message, _SAME_CONDITIONS)


def _check_regions(raw: RawSentence, names: Sequence[str], report: Report) -> None:
    """Check that the region numbers are 1..n, each once, in any order."""
    numbers = [region.number for region in raw.regions]
    if numbers == list(range(1, len(names) + 1)):
        return
    seen: set[int] = set()
    for region in raw.regions:
        if region.number in seen:
            message = f"region {region.number} occurs twice in this sentence"
            report.problem(region.number_place, message, _EVERY_REGION)
        elif not 1 <= region.number <= len(names):
            message = f"region {region.number} is not declared; the suite has regions 1 to {len(names)}"
            report.problem(region.number_place, message, "Declare it or correct the number.")
        seen.add(region.number)
    missing = [f"{number} ({name})" for number, name in enumerate(names, start=1) if number not in seen]
    if missing:
        what = "region" if len(missing) == 1 else "regions"
        message = f"item {raw.item}, condition “{raw.condition}” lacks {what} {listing(missing)}"
        report.problem(raw.where, message, _EVERY_REGION)


def _sentences(raws: Sequence[RawSentence], report: Report) -> tuple[SentenceDoc, ...]:
    statistics = CellStatistics()
    items = _by_item(raws)
    grouped = [raw for sentences in items.values() for raw in sentences]
    if any(one is not other for one, other in zip(raws, grouped, strict=True)):
        report.notice("file", "the sentences of some items were not adjacent; they were grouped by item")
    orders = ([region.number for region in raw.regions] for raw in raws)
    if any(numbers != sorted(numbers) for numbers in orders):
        report.notice("file", "some sentences list their regions out of order; they were sorted by number")
    sentences = tuple(_sentence(raw, statistics) for raw in grouped)
    where = "$.items" if raws and raws[0].where.startswith("$") else "file"
    statistics.report(report, where)
    return sentences


def _sentence(raw: RawSentence, statistics: CellStatistics) -> SentenceDoc:
    ordered = sorted(raw.regions, key=lambda region: region.number)
    raw_contents = tuple(region.content for region in ordered)
    contents = tuple(statistics.add(content) for content in raw_contents)
    unknown = {str(region.number): region.extra for region in ordered if region.extra}
    extra = {**raw.extra, "regions": unknown} if unknown else raw.extra
    kept_raw = raw_contents if raw_contents != contents else None
    return SentenceDoc(raw.item, raw.condition, contents, kept_raw, extra)


def clean_name(name: str) -> str:
    """Strip the name of a condition or region, as formulas do."""
    return name.strip()


def check_name_length(name: str, where: str, what: str, report: Report) -> None:
    """Apply the schema's limit for names in JSON to a name in a table."""
    if len(name) > MAX_NAME_CHARACTERS:
        report.problem(
            where, f"the {what} has {len(name)} characters; at most {MAX_NAME_CHARACTERS} are allowed"
        )


def region_names(names: dict[int, str], where: str, report: Report) -> list[str] | None:
    """Order region names by number; a region without a name is called “Region k”.

    Args:
        names: number to name.

    Returns:
        The ordered names; None if the numbers are not 1..n or too many, with a problem in `report`.
    """
    expected = list(range(1, len(names) + 1))
    if sorted(names) != expected:
        message = f"the region numbers are {listing(sorted(names))}, but must be consecutive from 1"
        report.problem(where, message, "Number the regions 1, 2, 3 … without gaps.")
        return None
    if len(names) > MAX_REGIONS:
        report.problem(where, f"the suite has {len(names)} regions; at most {MAX_REGIONS} are allowed")
        return None
    nameless = [number for number in expected if not clean_name(names[number])]
    if nameless:
        default = f"called “Region {nameless[0]}”"
        if len(nameless) == 1:
            report.notice(where, f"region {nameless[0]} has no name and is {default}")
        else:
            report.notice(where, f"regions {listing(nameless)} have no names and are {default} and so on")
    return [clean_name(names[number]) or f"Region {number}" for number in expected]
