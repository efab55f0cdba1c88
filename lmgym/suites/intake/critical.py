"""Cut sentences at their critical word, which a column names or gives the number of."""

from __future__ import annotations

from collections.abc import Sequence

from lmgym.suites.formats.documents import MAX_REGIONS
from lmgym.suites.formats.tables import Row, Table
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.items import NUMBER
from lmgym.suites.intake.parsing import ANSWER, CRITICAL, FROM_0, ROLES
from lmgym.suites.intake.reading import Reading, at, text_places
from lmgym.text import count, listing, unguard

REGIONS = ("Before", "Critical", "Spillover", "After")
"""Regions around the critical word; the spillover is the next word."""
_SHOWN = 3
_PUNCTUATION = ".,;:!?…\"'“”‘’«»()[]、。，！？"


def count_from_one(sheet: Headed, roles: Sequence[str], reading: Reading) -> list[str]:
    """Rewrite numbers that count from 0, and report 0 where numbers count from 1. Empty cells are reported
    later. Returns the roles without FROM_0. Raises FormatError."""
    for place, role in enumerate(roles):
        if role.removesuffix(FROM_0) not in (CRITICAL, ANSWER):
            continue
        for row in sheet.body:
            cell = row.cells[place].strip()
            if not cell:
                continue
            if role.endswith(FROM_0) and not NUMBER.match(cell):
                hint = f"Write a number, or choose the role “{ROLES[role.removesuffix(FROM_0)]}”."
                reading.report.problem(at(row, place, sheet.names), f"“{cell[:40]}” is not a number", hint)
            elif role.endswith(FROM_0):
                row.cells[place] = str(int(float(cell)) + 1)
            elif NUMBER.match(cell) and not int(float(cell)):
                hint = f"If 0 is the first, choose the role “{ROLES[role + FROM_0]}”."
                reading.report.problem(
                    at(row, place, sheet.names), "the number is 0, but 1 is the first", hint
                )
    reading.report.raise_problems()
    return [role.removesuffix(FROM_0) for role in roles]


def cut_at_critical_word(table: Table, reading: Reading) -> None:
    """Replace the only column of text by REGIONS or, if the user chose words, by one region per word, numbered from
    the critical one."""
    places = text_places(table)
    if len(places) != 1:
        message = (
            f"{count(len(places), 'column')} of text, but only one column can be cut at the critical word"
        )
        reading.report.problem("sheet", message, "Choose one column of text.")
        return
    (place,) = places
    found: list[tuple[list[str], int, int]] = []
    for row in table.rows:
        words = unguard(row.cells[place]).split()
        first, last = _span(row, words, table, reading)
        found.append((words, first, last))
    reading.report.raise_problems()
    shown = [f"“{' '.join(words[first:last])}” (item {row.cells[table.roles['item']]})" for row, (words, first, last) in
             zip(table.rows[:_SHOWN], found, strict=False)]  # fmt: skip
    reading.say(f"Critical words: {listing(shown)}{' …' if len(found) > _SHOWN else ''}.")
    by_word = reading.options.cut == "words"
    names, cells = _words(found) if by_word else _parts(found)
    if len(names) > MAX_REGIONS:
        reading.report.problem("sheet", f"{len(names)} regions; at most {MAX_REGIONS} are allowed")
        return
    reading.say(f"Regions around the critical word: {listing(names, 12)}.")
    _put(table, place, names, cells)


def _span(row: Row, words: Sequence[str], table: Table, reading: Reading) -> tuple[int, int]:
    """Return the first word of the critical text and the one after it; (0, 0) if there is a problem."""
    column = table.roles[CRITICAL]
    cell = unguard(row.cells[column]).strip()
    if NUMBER.match(cell):
        number = int(float(cell))
        if number <= len(words):
            return number - 1, number
        message = f"the critical word is number {number}, but the sentence has {count(len(words), 'word')}"
        reading.report.problem(at(row, column, table.header), message, "Count the words between blanks.")
        return 0, 0
    wanted = [_bare(word) for word in cell.split()]
    bare = [_bare(word) for word in words]
    starts = [k for k in range(len(bare) - len(wanted) + 1) if bare[k : k + len(wanted)] == wanted]
    if wanted and len(starts) == 1:
        return starts[0], starts[0] + len(wanted)
    times = "is not in the sentence" if not starts else f"is {len(starts)} times in the sentence"
    message = f"the critical word “{cell[:40]}” {times}" if cell else "the critical word is missing"
    reading.report.problem(at(row, column, table.header), message, "Write its number among the words.")
    return 0, 0


def _bare(word: str) -> str:
    return word.strip(_PUNCTUATION).casefold() or word


def _parts(found: Sequence[tuple[list[str], int, int]]) -> tuple[list[str], list[list[str]]]:
    """Cut into REGIONS, without those that are empty in every sentence."""
    rows = [
        [
            " ".join(part)
            for part in (words[:first], words[first:last], words[last : last + 1], words[last + 1 :])
        ]
        for words, first, last in found
    ]
    used = [k for k in range(len(REGIONS)) if any(row[k] for row in rows)]
    return [REGIONS[k] for k in used], [[row[k] for k in used] for row in rows]


def _words(found: Sequence[tuple[list[str], int, int]]) -> tuple[list[str], list[list[str]]]:
    """Cut into words, aligned at the critical one."""
    before = max((first for _, first, _ in found), default=0)
    after = max((len(words) - last for words, _, last in found), default=0)
    names = [
        *(f"Word -{k}" for k in range(before, 0, -1)),
        REGIONS[1],
        *(f"Word +{k}" for k in range(1, after + 1)),
    ]
    rows = [
        [*[""] * (before - first), *words[:first], " ".join(words[first:last]), *words[last:]]
        for words, first, last in found
    ]
    return names, [row + [""] * (len(names) - len(row)) for row in rows]


def _put(table: Table, place: int, names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Replace the column of text by these regions, and drop the column of the critical word."""
    critical = table.roles.pop(CRITICAL)
    order = [k for k in range(len(table.header)) if k != critical]
    position = order.index(place)
    new = {k: n if n <= position else n + len(names) - 1 for n, k in enumerate(order)}
    for row, texts in zip(table.rows, cells, strict=True):
        kept = [row.cells[k] for k in order]
        kept[position : position + 1] = texts
        row.cells = kept
    table.header = [table.header[k] for k in order]
    table.header[position : position + 1] = names
    table.roles = {role: new[k] for role, k in table.roles.items()}
    table.data = tuple(new[k] for k in table.data)
