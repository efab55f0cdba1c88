"""From numbered cells to sentences: the rules that hold for every file format, checked in one place.

Readers of JSON, long tables and wide tables each produce `RawSentence`s that know where they stood;
`assemble` checks them against each other and makes `SentenceDoc`s.
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
    """Counts what `tidy` changed, for one notice about the whole suite instead of one per cell."""

    leading: int = 0
    trailing: int = 0
    inner: int = 0
    broken: int = 0
    not_nfc: int = 0

    def add(self, raw: str) -> str:
        """Count one cell's oddities; returns the tidy text."""
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
        """At most two notices: blanks, and text that is not in Unicode's composed form."""
        kinds = [
            (self.leading, "with a leading blank"),
            (self.trailing, "with a trailing blank"),
            (self.inner, "with repeated blanks inside"),
            (self.broken, "with a tab or line break inside"),
        ]
        found = [f"{count(number, 'region')} {what}" for number, what in kinds if number]
        if found:
            message = f"{', '.join(found)}: trimmed; the file's own text is kept for exports"
            report.notice(where, message)
        if self.not_nfc:
            message = f"{count(self.not_nfc, 'region')} not in Unicode's composed form (NFC), kept as given"
            report.notice(where, message)


_SAME_CONDITIONS = "Every item needs the same conditions."
_EVERY_REGION = "Every sentence needs every region once; leave the content of an empty one empty."


@dataclass(slots=True)
class RawRegion:
    """One cell as it stands in the file."""

    where: str
    number: int
    content: str
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def number_place(self) -> str:
        """Where its number stands: a key of its own in JSON, the line in a table."""
        return f"{self.where}.region_number" if self.where.startswith("$") else self.where


@dataclass(slots=True)
class RawSentence:
    """One sentence as it stands in the file."""

    where: str
    item_where: str
    item: int
    condition: str
    regions: list[RawRegion]
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assembled:
    """What `assemble` makes."""

    region_names: tuple[str, ...]
    conditions: tuple[str, ...]
    sentences: tuple[SentenceDoc, ...]


def assemble(raws: Sequence[RawSentence], names: Sequence[str] | None, report: Report) -> Assembled:
    """Check the sentences against each other and tidy their cells.

    `names` are the region names in the order of their numbers, or None when the file declares no regions.
    Every breach becomes a problem in `report`; the result is meaningful only when there is none.
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
    for found, most, what in ((len(raws), MAX_SENTENCES, "sentences"), (cells, MAX_CELLS, "regions in all")):
        if found > most:
            report.problem(
                "file", f"the suite has {found:,} {what}; at most {most:,} are read", "Split the suite."
            )
    return len(report.problems) == before


def _by_item(raws: Sequence[RawSentence]) -> dict[int, list[RawSentence]]:
    items: dict[int, list[RawSentence]] = {}
    for raw in raws:
        items.setdefault(raw.item, []).append(raw)
    return items


def _check_conditions(raws: Sequence[RawSentence], report: Report) -> tuple[str, ...]:
    """Every item must have the conditions that most items have, each once. Returns them in the usual order."""
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
        report.problem("file", f"item {model} has {len(order)} conditions; at most {MAX_CONDITIONS} are read")
    _compare_conditions(items, lists, model, report)
    reordered = [item for item, names in lists.items() if names != order and set(names) == usual]
    if reordered:
        label = f"{'item' if len(reordered) == 1 else 'items'} {listing(reordered)}"
        message = f"{label}: conditions in another order than in item {model}; matched by name"
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
        present, wanted = set(names), set(usual)
        lacking = [f"“{name}”" for name in usual if name not in present]
        surplus = [f"“{name}”" for name in names if name not in wanted]
        if lacking:
            message = f"item {item} lacks the condition {listing(lacking)}, which item {model} has"
            report.problem(where, message, _SAME_CONDITIONS)
        if surplus:
            message = f"item {item} has the condition {listing(surplus)}, which item {model} lacks"
            report.problem(where, message, _SAME_CONDITIONS)


def _check_regions(raw: RawSentence, names: Sequence[str], report: Report) -> None:
    """The region numbers must be 1..n, each once, in any order."""
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
        message = f"item {raw.item}, condition “{raw.condition}” lacks region {listing(missing)}"
        report.problem(raw.where, message, _EVERY_REGION)


def _sentences(raws: Sequence[RawSentence], report: Report) -> tuple[SentenceDoc, ...]:
    statistics = CellStatistics()
    items = _by_item(raws)
    grouped = [raw for sentences in items.values() for raw in sentences]
    if any(one is not other for one, other in zip(raws, grouped, strict=True)):
        report.notice("file", "the sentences of an item were not together; they were grouped by item")
    orders = ([region.number for region in raw.regions] for raw in raws)
    if any(numbers != sorted(numbers) for numbers in orders):
        report.notice("file", "some sentences list their regions out of order; they were sorted by number")
    sentences = tuple(_sentence(raw, statistics) for raw in grouped)
    where = "$.items" if raws and raws[0].where.startswith("$") else "file"
    statistics.report(report, where)
    return sentences


def _sentence(raw: RawSentence, statistics: CellStatistics) -> SentenceDoc:
    ordered = sorted(raw.regions, key=lambda region: region.number)
    given = tuple(region.content for region in ordered)
    contents = tuple(statistics.add(content) for content in given)
    unknown = {str(region.number): region.extra for region in ordered if region.extra}
    extra = {**raw.extra, "regions": unknown} if unknown else raw.extra
    return SentenceDoc(raw.item, raw.condition, contents, given if given != contents else None, extra)


def clean_name(name: str) -> str:
    """A condition's or region's name without blanks around it, as formulas read it."""
    return name.strip()


def check_name_length(name: str, where: str, what: str, report: Report) -> None:
    """Names in tables have the limit that the schema gives names in JSON."""
    if len(name) > MAX_NAME_CHARACTERS:
        report.problem(
            where, f"the {what} has {len(name)} characters; at most {MAX_NAME_CHARACTERS} are read"
        )


def region_names(given: dict[int, str], where: str, report: Report) -> list[str] | None:
    """Names in the order of their numbers, which must be 1..n; nameless regions become “Region k”.

    Returns None, with a problem noted, when the numbers are not consecutive.
    """
    expected = list(range(1, len(given) + 1))
    if sorted(given) != expected:
        message = f"the region numbers are {listing(sorted(given))}, but must be consecutive from 1"
        report.problem(where, message, "Number the regions 1, 2, 3 … without gaps.")
        return None
    if len(given) > MAX_REGIONS:
        report.problem(where, f"the suite has {len(given)} regions; at most {MAX_REGIONS} are read")
        return None
    nameless = [number for number in expected if not clean_name(given[number])]
    if nameless:
        called = f"called “Region {nameless[0]}”"
        if len(nameless) == 1:
            report.notice(where, f"region {nameless[0]} has no name and is {called}")
        else:
            report.notice(where, f"regions {listing(nameless)} have no names and are {called} and so on")
    return [clean_name(given[number]) or f"Region {number}" for number in expected]
