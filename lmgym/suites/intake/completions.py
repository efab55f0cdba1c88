"""Texts that complete a sentence: which one is right, and the blank that they fill."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lmgym.suites.formats.tables import Row
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.items import NUMBER
from lmgym.suites.intake.reading import Reading, at
from lmgym.text import count, unguard

GOOD, BAD = "good", "bad"
"""Names of conditions."""


def texts_by_condition(
    sheet: Headed,
    row: Row,
    names: Mapping[int, str],
    texts: dict[int, str],
    answer: int | None,
    reading: Reading,
) -> list[tuple[str, str]]:
    """Return (condition, text) of an item; with an answer column, the right one first."""
    if answer is None:
        return [(name, texts[place]) for place, name in names.items()]
    places = list(names)
    right = _right_place(sheet, row, places, texts, answer)
    if right is None:
        shown = row.cells[answer].strip()[:40]
        hint = "Write the number, the heading or the text of the right one."
        message = (
            f"“{shown}” is none of the {count(len(places), 'text')}" if shown else "the answer is missing"
        )
        reading.report.problem(at(row, answer, sheet.names), message, hint)
        return []
    wrong = [place for place in places if place != right]
    bad = [BAD] if len(wrong) == 1 else [f"{BAD}_{number}" for number in range(1, len(wrong) + 1)]
    return [(GOOD, texts[right]), *((name, texts[place]) for name, place in zip(bad, wrong, strict=True))]


def _right_place(
    sheet: Headed, row: Row, places: Sequence[int], texts: dict[int, str], answer: int
) -> int | None:
    cell = unguard(row.cells[answer]).strip()
    if NUMBER.match(cell):
        number = int(float(cell))
        return places[number - 1] if 1 <= number <= len(places) else None
    for labels in (texts, {place: sheet.names[place] for place in places}):
        if len(found := [place for place in places if labels[place].strip() == cell]) == 1:
            return found[0]
    letter = "ABCDEFGHIJ".find(cell.strip("()").upper()) if len(cell.strip("()")) == 1 else -1
    return places[letter] if 0 <= letter < len(places) else None


_BLANK = re.compile(r"_{2,}|(?<![\w_])_(?![\w_])|\[(?:MASK|mask|BLANK|blank|GAP|gap)\]|<(?:mask|blank|gap)>")


def has_blanks(cells: Sequence[str]) -> bool:
    """Return whether every text has one blank, such as ___, for another text."""
    return bool(cells) and all(len(_BLANK.findall(cell)) == 1 for cell in cells)


def fill_blank(rows: Sequence[Row], regions: list[str], place: int, reading: Reading) -> list[str]:
    """If a shared text has one blank in every row, write the varying text (in column `place`) into it: the text around
    the blank becomes two regions. Returns the names of the regions."""
    width = len(regions) + 2
    for k in range(2, width):
        if k == place or not has_blanks([row.cells[k] for row in rows]):
            continue
        for row in rows:
            before, after = _BLANK.split(row.cells[k])
            start, text, end = _touching(before, row.cells[place], after)
            parts = [start, text, end]
            rest = [cell for n, cell in enumerate(row.cells) if n not in (k, place)]
            position = k if k < place else k - 1
            row.cells[:] = [*rest[:position], *parts, *rest[position:]]
        name, varying = regions[k - 2], regions[place - 2]
        others = [one for n, one in enumerate(regions) if n not in (k - 2, place - 2)]
        position = k - 2 if k < place else k - 3
        reading.say(f"The texts fill the blank in “{name}”.")
        return [*others[:position], f"{name} before", varying, f"{name} after", *others[position:]]
    return regions


def _touching(before: str, text: str, after: str) -> tuple[str, str, str]:
    """Move letters and signs that touch the blank to the text in it: “owl” and “'s nest” to “owl's” and “nest”."""
    start, space, prefix = before.rpartition(" ")
    ending, gap, rest = after.partition(" ")
    return (start if space else "", f"{prefix}{text.strip()}{ending}", rest if gap else "")
