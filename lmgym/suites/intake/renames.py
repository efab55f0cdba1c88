"""Replace names of conditions and regions in a sheet with names of the suite, and ask about unknown ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmgym.suites.formats.tables import Table
from lmgym.suites.intake.reading import Reading
from lmgym.text import count, listing, unguard


def rename_conditions(table: Table, reading: Reading) -> None:
    known = reading.known.conditions if reading.known else None
    _rename_cells(table, "conditions", table.roles["condition"], known, reading)


def rename_regions(table: Table, long: bool, reading: Reading) -> None:
    known = reading.known.region_names if reading.known else None
    if not long:
        _rename_columns(table, known, reading)
    elif "name" in table.roles:
        _rename_cells(table, "regions", table.roles["name"], known, reading)


def _rename_cells(
    table: Table, what: str, column: int, suite_names: Sequence[str] | None, reading: Reading
) -> None:
    cells = dict.fromkeys(clean for row in table.rows if (clean := unguard(row.cells[column]).strip()))
    names = _names(what, list(cells), suite_names, reading)
    for row in table.rows:
        name = unguard(row.cells[column]).strip()
        row.cells[column] = names.get(name, name)
    omitted = {name for name, new in names.items() if not new}
    if omitted:
        n_before = len(table.rows)
        table.rows = [row for row in table.rows if row.cells[column].strip()]
        n_rows = n_before - len(table.rows)
        reading.say(f"Left out: {listing(sorted(omitted))} ({count(n_rows, 'row')}).")
        if what == "regions" and "region" in table.roles:
            _close_gaps(table)


def _close_gaps(table: Table) -> None:
    """Renumber the remaining regions from 1 after others were left out."""
    place = table.roles["region"]
    numbers = sorted({int(cell) for row in table.rows if (cell := row.cells[place].strip()).isdecimal()})
    new = {str(number): str(k) for k, number in enumerate(numbers, start=1)}
    for row in table.rows:
        row.cells[place] = new.get(row.cells[place].strip(), row.cells[place])


def _rename_columns(table: Table, suite_names: Sequence[str] | None, reading: Reading) -> None:
    fixed = {table.roles["item"], table.roles["condition"]}
    places = [place for place in range(len(table.header)) if place not in {*fixed, *table.data}]
    headings = [unguard(table.header[place]).strip() for place in places]
    names = _names("regions", [name for name in headings if name], suite_names, reading)
    renamed = [(place, names.get(name, name), name) for place, name in zip(places, headings, strict=True)]
    kept = [(place, new) for place, new, old in renamed if new or not old]
    all_names = [] if reading.is_part else [name for _, name in kept]  # a part reports the texts of both
    for name in sorted({new for new in names.values() if new and all_names.count(new) > 1}):
        message = f"{all_names.count(name)} regions are called “{name}”"
        reading.report.problem("sheet", message, "Give every region its own name.")
    reading.report.raise_problems()
    if suite_names:  # formulas refer to region numbers, so keep the suite's order
        order = {name: k for k, name in enumerate(suite_names)}
        rank, last = {}, -1.0
        for n, (place, name) in enumerate(kept):
            last = float(order[name]) if name in order else last + 1 / (len(kept) + 1)
            rank[place] = (last, n)
        kept.sort(key=lambda column: rank[column[0]])
    if omitted := [name for name in headings if name and not names.get(name, name)]:
        reading.say(f"Left out: {listing(omitted)}.")
    data = [(place, table.header[place]) for place in table.data]
    columns = [(table.roles["item"], "item"), (table.roles["condition"], "condition"), *kept, *data]
    for row in table.rows:
        row.cells = [row.cells[place] for place, _ in columns]
    table.header = [name for _, name in columns]
    table.roles = {"item": 0, "condition": 1}
    table.data = tuple(range(len(columns) - len(data), len(columns)))


def _names(
    what: str, names: list[str], suite_names: Sequence[str] | None, reading: Reading
) -> dict[str, str]:
    """Map names in the sheet to names in the suite ("" = left out), and ask about names that the suite lacks."""
    reading.result.names[what] = names
    chosen: Mapping[str, str] = getattr(reading.options, what)
    unknown = [name for name in names if suite_names and name not in suite_names and name not in chosen]
    if unknown and suite_names:
        reading.result.unknown[what] = unknown
        noun = what[:-1]
        message = f"the suite has no {noun} {listing([f'“{name[:40]}”' for name in unknown], 8)}"
        hint = f"It has {listing(suite_names, 12)}. Choose one of these, add it, or leave it out."
        reading.ask(what, "sheet", message, hint)
    return {name: str(chosen[name]).strip() for name in names if name in chosen}
