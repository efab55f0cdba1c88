"""Stimuli pasted from a spreadsheet, wide or long: what was understood, and what is wrong by row and column. Pure.

More forgiving than the file readers where people's sheets are: cells that were merged arrive blank below the first
and are filled, and headers go by more names. Nothing is guessed silently: `ParseResult.understood` says all of it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lmgym.suites.formats import read_suite
from lmgym.suites.formats.documents import (
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_ITEM_NUMBER,
    MAX_REGIONS,
    MAX_SENTENCES,
    SuiteDocument,
)
from lmgym.suites.formats.tables import Row, Table, check_table, read_long_table, read_wide
from lmgym.suites.intake.columns import doubts, in_words
from lmgym.suites.intake.parsing import (
    NOTHING,
    ROLES,
    SAMPLE,
    Column,
    ParseOptions,
    ParseResult,
    Part,
    column_letter,
)
from lmgym.text import CONTROL, SURROGATE, count, listing, tidy, unguard
from lmgym.text.problems import MAX_PROBLEMS, FormatError, Notice, Problem, Report

_HEADERS = {
    "item": "item items item_number item_no item_nr item_id itemnumber item_#",
    "condition": "condition conditions condition_name condition_id conditionname cond",
    "region": "region_number region_no region_nr region_id regionnumber region_# position",
    "name": "region_name regionname region",
    "content": "content contents text region_content words word string",
}
_WEAK = {"item": ("no", "nr", "number", "set", "frame"), "condition": ("type", "variant", "version")}
"""What these columns are called when nothing is called by its proper name; else they are regions."""
_IN_HEADING = {"item": "item-number", "condition": "condition"}
_ROLES = {name: role for role, names in _HEADERS.items() for name in names.split()}
SEPARATOR = re.compile(r'"?sep=.?"?\s*', re.IGNORECASE)
"""The line by which Excel says what separates cells."""
_NUMBER = re.compile(r"[0-9]{1,9}(\.0+)?\Z")
_HEADER_HINT = (
    "The first row names the columns: item, condition, then one column per region; or, with one row per region, "
    "item_number, condition_name, region_number, region_name, content."
)


def read_sheet(
    text: str, name: str = "", answers: ParseOptions = NOTHING, known: SuiteDocument | None = None
) -> ParseResult:
    """Read what was pasted: cells of a spreadsheet (tabs, commas or semicolons), or a suite's JSON. Never raises.
    `known`: the suite whose names are asked for where the sheet has others."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        problem = Problem(
            "sheet", f"the sheet has {len(data):,} bytes; at most {MAX_BYTES:,} are read", "Split it."
        )
        return ParseResult("sheet", problems=[problem])
    if text.lstrip()[:1] in ("{", "["):
        return _read_json(data, name)
    return _SheetReader(lambda report: _rows_of(text, report), name, answers, known).read()


def read_part(text: str, answers: ParseOptions = NOTHING, known: SuiteDocument | None = None) -> ParseResult:
    """The same of a sheet that is put into a suite that is there, and may leave out sentences and regions."""
    return _SheetReader(lambda report: _rows_of(text, report), "", answers, known).read(whole=False)


def read_cells(
    rows: Sequence[Sequence[str]],
    name: str = "",
    answers: ParseOptions = NOTHING,
    known: SuiteDocument | None = None,
) -> ParseResult:
    """The same of cells that a workbook holds. Never raises."""
    numbered = [Row(n, list(cells)) for n, cells in enumerate(rows, 1) if any(cell.strip() for cell in cells)]
    return _SheetReader(lambda report: numbered, name, answers, known).read()


def _read_json(data: bytes, name: str) -> ParseResult:
    reading = ParseResult("JSON")
    try:
        document = read_suite(data, name)
    except FormatError as error:
        reading.problems = list(error.problems)
        return reading
    reading.document = document
    reading.understood = [f"A suite as JSON: {shape(document)}.", *map(_said, document.notices)]
    return reading


def shape(document: SuiteDocument) -> str:
    """`3 items x 2 conditions x 4 regions`, in words."""
    return (
        f"{count(len(document.items), 'item')} × {count(len(document.conditions), 'condition')} × "
        f"{count(len(document.region_names), 'region')}"
    )


class _SheetReader:
    def __init__(
        self,
        rows: Callable[[Report], list[Row]],
        name: str,
        answers: ParseOptions,
        known: SuiteDocument | None,
    ) -> None:
        self.rows = rows
        self.name = name
        self.answers = answers
        self.known = known
        self.report = Report()
        self.reading = ParseResult("sheet")

    def read(self, *, whole: bool = True) -> ParseResult:
        try:
            table = self._table()
            long = table.is_long
            self.reading.kind = "long" if long else "wide"
            self._fill(table, long)
            if long and "region" not in table.roles:
                self._number_regions(table)
            self._translate(table, long)
            if table.data and not long:
                kept = "Kept as item data" if whole else "Left out"
                names = listing([table.header[place] for place in table.data], 12)
                self.reading.understood.append(f"{kept}: {names}.")
            self._check_numbers(table, long)
            self.report.raise_problems()
            if not whole:
                self.reading.part = self._part(table, long)
                return self.reading
            document = (read_long_table if long else read_wide)(table, self.name, self.report)
        except FormatError as error:
            self.reading.problems = [_in_rows(problem) for problem in error.problems][: MAX_PROBLEMS + 1]
            return self.reading
        except csv.Error as error:
            self.reading.problems = [Problem("sheet", f"the cells cannot be told apart: {error}")]
            return self.reading
        form = "one row per region" if long else "one row per sentence, one column per region"
        notices = [notice for notice in document.notices if "no name" not in notice.message]
        self.reading.document = replace(document, notices=())
        self.reading.understood = [f"{form.capitalize()}: {shape(document)}.", *self.reading.understood]
        self.reading.understood += [_said(notice) for notice in notices]
        return self.reading

    # --- cells ---

    def _table(self) -> Table:
        rows = self.rows(self.report)
        if not rows:
            self.report.problem("sheet", "nothing was pasted", _HEADER_HINT)
            self.report.raise_problems()
        self.reading.preview = [[cell[:60] for cell in row.cells[:MAX_REGIONS]] for row in rows[:SAMPLE]]
        head, body = self._header(rows)
        header = [unguard(cell).strip() for cell in head.cells]
        while header and not header[-1]:
            header.pop()
        if self.answers.columns:
            roles, header, body = self._mapped(head, header, body)
        else:
            roles = self._roles(head, header, body)
        data = self._data_places(header)
        if not body:
            self.report.problem("sheet", "there is a header and no rows below it")
        table = Table(head.line, header, roles, body, data)
        self._check_amount(table)
        self.report.raise_problems()
        self._check_lengths(table)
        self.report.raise_problems()
        return table

    def _header(self, rows: list[Row]) -> tuple[Row, list[Row]]:
        """The row that names the columns and those below; where there is none, one of empty names, or “Region k”."""
        self.reading.has_header = self.answers.header != "no"
        if self.reading.has_header:
            return rows[0], rows[1:]
        width = max(len(row.cells) for row in rows)
        return Row(rows[0].line, [""] * min(width, MAX_REGIONS + len(_HEADERS))), rows

    def _mapped(
        self, head: Row, header: list[str], body: list[Row]
    ) -> tuple[dict[str, int], list[str], list[Row]]:
        """Roles as a person gave them; columns that are not named stay unread, and so do those called “skip”."""
        width = max(len(header), len(head.cells))
        header = header + [""] * (width - len(header))
        given = [self.answers.columns.get(column_letter(place), "skip") for place in range(width)]
        self.reading.columns = [
            Column(column_letter(place), header[place], ROLES.get(role, ROLES["skip"]), role)
            for place, role in enumerate(given)
        ]
        wanted = [place for place, role in enumerate(given) if role in ROLES and role != "skip"]
        roles: dict[str, int] = {}
        names = [header[place] for place in wanted]
        for new, place in enumerate(wanted):
            role = given[place]
            if role in ("text", "data"):
                continue
            if role in roles:
                message = f"column {column_letter(place)} is the {ROLES[role]}, as another one is"
                self._ask("columns", f"column {column_letter(place)}", message, "Choose one of them.")
            roles.setdefault(role, new)
        for role in ("item", "condition"):
            if role not in roles:
                self._ask("columns", "sheet", f"no {_IN_HEADING[role]} column found", "Say which one it is.")
        texts = [place for place in wanted if given[place] == "text"]
        if "content" not in roles and not texts:
            self._ask("columns", "sheet", "no column holds text", "Say which columns are regions.")
        if "content" in roles and texts:
            message = "there is a column with the text of the region and one that is a region of its own"
            self._ask(
                "columns", "sheet", message, "A sheet has one row per region, or one column per region."
            )
        for row in body:
            cells = row.cells + [""] * (width - len(row.cells))
            row.cells = [cells[place] for place in wanted]
        return roles, names, body

    def _ask(self, field_name: str, where: str, message: str, hint: str) -> None:
        """A problem that an answer solves."""
        if field_name not in self.reading.asks:
            self.reading.asks += (field_name,)
        self.report.problem(where, message, hint)

    def _roles(self, row: Row, header: list[str], body: list[Row]) -> dict[str, int]:
        """Which column is what; the columns that are regions are the ones that are nothing else."""
        names = [re.sub(r"[\s\-.]+", "_", cell.lower()).strip("_") for cell in header]
        found = [_ROLES.get(name, "") for name in names]
        for role, others in _WEAK.items():
            if role not in found and (name := next((name for name in names if name in others), None)):
                found[names.index(name)] = role
        long = "content" in found and ({"region", "name"} & set(found) or len(header) == 3)
        wanted = set(_HEADERS) if long else {"item", "condition"}
        roles: dict[str, int] = {}
        for place, role in enumerate(found):
            if role not in wanted:
                continue
            if role in roles:
                first = roles[role]
                message = f"column {column_letter(first)} (“{header[first]}”) is the {ROLES[role]} already"
                self.report.problem(_at(row, place, header), message, "Rename or remove one of them.")
            roles.setdefault(role, place)
        for role in ("item", "condition"):
            if role not in roles:
                shown = listing([f"“{cell[:40]}”" for cell in header], 8) or "nothing"
                message = f"no {_IN_HEADING[role]} column found; the header has {shown}"
                self._ask("columns", f"row {row.line}", message, _HEADER_HINT)
        if "columns" in self.reading.asks:
            self._guess(header, found, [row, *body] if self.reading.has_header else body)
            self.report.raise_problems()
        self._check_regions(row, header, roles, bool(long))
        if not long:
            self._ask_about_doubts(row, header, roles, body)
        return roles

    def _doubts(
        self, header: list[str], roles: Mapping[str, int], cells: Sequence[Sequence[str]]
    ) -> dict[int, str]:
        """Columns that may be no regions -> why, beside those of item and condition."""
        fixed = [roles[role] for role in ("item", "condition") if role in roles]
        places = [k for k in range(len(header)) if k not in fixed]
        empty = [""] * (len(cells[0]) if cells else 0)
        item, condition = (_filled(cells[roles[r]]) if r in roles else empty for r in ("item", "condition"))
        sure = {*(self.known.region_names if self.known else ()), *self.answers.regions}
        found = doubts([header[k] for k in places], [cells[k] for k in places], item, condition, sure)
        return {places[k]: why for k, why in found.items()}

    def _ask_about_doubts(self, row: Row, header: list[str], roles: dict[str, int], body: list[Row]) -> None:
        """Ask what the columns are where one of them may be no region; item data is proposed for those."""
        cells = [
            [unguard(one.cells[k]).strip() if k < len(one.cells) else "" for one in body]
            for k in range(len(header))
        ]
        doubted = self._doubts(header, roles, cells)
        if not doubted:
            return
        self.reading.kind = "wide"
        self.reading.columns = [
            replace(column, meaning=ROLES["data"], role="data", doubt=doubted[place])
            if place in doubted
            else column
            for place, column in enumerate(self.reading.columns)
        ]
        named = [
            (column.letter, column.header, column.doubt) for column in self.reading.columns if column.doubt
        ]
        message = f"{count(len(named), 'column')} may not be a region: {in_words(named)}"
        hint = "Say what each column is: a region, item data (kept, not scored), or not read."
        self._ask("columns", f"row {row.line}", message, hint)
        self.report.raise_problems()

    def _data_places(self, header: list[str]) -> tuple[int, ...]:
        """Columns that were answered to be item data; each gets a heading of its own."""
        if not self.answers.columns:
            return ()
        kept = [column for column in self.reading.columns if column.role in ROLES and column.role != "skip"]
        places = tuple(k for k, column in enumerate(kept) if column.role == "data")
        taken: set[str] = set()
        for k in places:
            if not header[k] or header[k] in taken:
                header[k] = f"{header[k]} (column {kept[k].letter})".strip()
            taken.add(header[k])
        return places

    def _guess(self, header: list[str], found: list[str], rows: list[Row]) -> None:
        """What a person is asked to confirm: the columns as their cells look."""
        sample = rows[:_LOOKED_AT]
        width = max(len(row.cells) for row in sample)
        found = found + [""] * (width - len(found))
        cells = [[row.cells[k].strip() if k < len(row.cells) else "" for row in sample] for k in range(width)]
        if not self.answers.header:
            self.reading.has_header = not any(_NUMBER.match(column[0]) for column in cells)
        below = [column[1:] if self.reading.has_header else column for column in cells]
        if "item" not in found:
            numbers = [k for k in range(width) if not found[k] and _all_numbers(below[k])]
            if numbers:
                found[numbers[0]] = "item"
        if "condition" not in found:
            named = [k for k in range(width) if not found[k] and _are_names(below[k])]
            if named:
                kinds = {k: len(set(below[k])) for k in named}
                found[min(named, key=lambda k: (kinds[k] == 1, kinds[k]))] = "condition"
        long = "content" in found and {"region", "name"} & set(found)
        header = header + [""] * (width - len(header)) if self.reading.has_header else [""] * width
        doubted = (
            {} if long else self._doubts(header, {role: k for k, role in enumerate(found) if role}, below)
        )
        for place, role in enumerate(found):
            usual = role if long or role in ("item", "condition") else "text" if any(cells[place]) else "skip"
            usual = "data" if place in doubted else usual or "skip"
            self.reading.columns.append(
                Column(column_letter(place), header[place], ROLES[usual], usual, doubted.get(place, ""))
            )

    def _check_regions(self, row: Row, header: list[str], roles: dict[str, int], long: bool) -> None:
        used = set(roles.values())
        seen: dict[str, int] = {}
        number = 0
        for place, cell in enumerate(header):
            meaning = next((ROLES[role] for role, at in roles.items() if at == place), "")
            if place not in used and not long:
                number += 1
                meaning = f"region {number}"
                if cell and cell in seen:
                    message = f"“{cell}” is the name of column {column_letter(seen[cell])} already"
                    self.report.problem(_at(row, place, header), message, "Give every region its own name.")
                seen.setdefault(cell, place)
            role = next((role for role, at in roles.items() if at == place), "skip" if long else "text")
            self.reading.columns.append(
                Column(column_letter(place), cell, meaning or "kept as extra data", role)
            )
        if number > MAX_REGIONS:
            self.report.problem(f"row {row.line}", f"{number} regions; at most {MAX_REGIONS} are read")
        if not long and not number:
            self.report.problem(f"row {row.line}", "the header names no regions", _HEADER_HINT)

    def _check_amount(self, table: Table) -> None:
        """Said once, not for each of thousands of rows."""
        sentences = len(table.rows)
        if table.is_long:
            keys = [table.roles[role] for role in ("item", "condition") if role in table.roles]
            cells = {tuple(row.cells[k] if k < len(row.cells) else "" for k in keys) for row in table.rows}
            sentences = len(cells)
        if sentences > MAX_SENTENCES:
            message = f"the sheet has {sentences:,} sentences; at most {MAX_SENTENCES:,} are read"
            self.report.problem("sheet", message, "Split it into several suites.")

    def _check_lengths(self, table: Table) -> None:
        width = len(table.header)
        for row in table.rows:
            while len(row.cells) > width and not row.cells[-1].strip():
                row.cells.pop()
            if len(row.cells) < width:
                where = _at(row, len(row.cells), table.header)
                message = f"the row ends before this column: {count(len(row.cells), 'cell')}, the header has {width}"
                self.report.problem(
                    where, message, "Select the whole table when copying, empty cells included."
                )
            elif len(row.cells) > width:
                where = f"row {row.line}, column {column_letter(width)}"
                message = (
                    f"this column has no header: {count(len(row.cells), 'cell')}, the header has {width}"
                )
                self.report.problem(where, message, "Name the column, or empty the cell.")
            for place, cell in enumerate(row.cells):
                if len(cell) > MAX_CELL_CHARACTERS:
                    message = f"{len(cell):,} characters; at most {MAX_CELL_CHARACTERS:,} are read"
                    self.report.problem(_at(row, place, table.header), message)

    # --- meaning ---

    def _fill(self, table: Table, long: bool) -> None:
        """Merged cells arrive as a value and blanks below it: the item, and in long sheets the condition, go on."""
        filled: dict[str, list[int]] = {}
        last: dict[str, str] = {}
        for row in table.rows:
            for role in ("item", "condition") if long else ("item",):
                place = table.roles[role]
                given = row.cells[place].strip()
                if given:
                    if role == "item" and given != last.get("item"):
                        last.pop("condition", None)
                    last[role] = given
                elif role in last:
                    row.cells[place] = last[role]
                    filled.setdefault(role, []).append(row.line)
        for role, lines in filled.items():
            column = column_letter(table.roles[role])
            message = (
                f"Column {column} is blank in {count(len(lines), 'row')} (row {listing(lines, 4)}): merged cells, "
                f"filled with the {ROLES[role]} above."
            )
            self.reading.understood.append(message)

    def _number_regions(self, table: Table) -> None:
        """Regions of a long sheet without numbers: by their names, in the order in which these first come; where a
        sentence has a name twice, or there are none, by the order of its rows."""
        column = table.roles.get("name")
        groups: dict[tuple[str, ...], list[tuple[Row, str]]] = {}
        for row in table.rows:
            key = tuple(row.cells[table.roles[role]].strip() for role in ("item", "condition"))
            groups.setdefault(key, []).append((row, "" if column is None else row.cells[column].strip()))
        names = [[name for _, name in rows] for rows in groups.values()]
        by_name = all(len(set(one)) == len(one) and all(one) for one in names)
        order: dict[str, int] = {}
        for rows in groups.values():
            for place, (row, name) in enumerate(rows, start=1):
                number = order.setdefault(name, len(order) + 1) if by_name else place
                row.cells.append(str(number))
        table.roles["region"] = len(table.header)
        table.header.append("region_number")
        how = "in which their names first come" if by_name else "of the rows of each sentence"
        self.reading.understood.append(f"No region numbers: regions are in the order {how}.")

    def _translate(self, table: Table, long: bool) -> None:
        """Names of the sheet become names of the suite; those that neither has an answer for are asked about."""
        self._rename_conditions(table)
        if long and "name" in table.roles:
            self._rename_cells(
                table, "regions", table.roles["name"], self.known.region_names if self.known else None
            )
        elif not long:
            self._rename_columns(table)

    def _rename_conditions(self, table: Table) -> None:
        self._rename_cells(
            table, "conditions", table.roles["condition"], self.known.conditions if self.known else None
        )

    def _rename_cells(self, table: Table, what: str, column: int, there: Sequence[str] | None) -> None:
        given = dict.fromkeys(clean for row in table.rows if (clean := unguard(row.cells[column]).strip()))
        names = self._names(what, list(given), there)
        for row in table.rows:
            name = unguard(row.cells[column]).strip()
            row.cells[column] = names.get(name, name)
        gone = {name for name, new in names.items() if not new}
        if gone:
            before = len(table.rows)
            table.rows = [row for row in table.rows if row.cells[column].strip()]
            left_out = before - len(table.rows)
            self.reading.understood.append(f"Left out: {listing(sorted(gone))} ({count(left_out, 'row')}).")
            if what == "regions" and "region" in table.roles:
                self._close_gaps(table)

    def _close_gaps(self, table: Table) -> None:
        """Number the regions that stay from 1, where others were left out."""
        place = table.roles["region"]
        numbers = sorted({int(cell) for row in table.rows if (cell := row.cells[place].strip()).isdecimal()})
        new = {str(number): str(k) for k, number in enumerate(numbers, start=1)}
        for row in table.rows:
            row.cells[place] = new.get(row.cells[place].strip(), row.cells[place])

    def _rename_columns(self, table: Table) -> None:
        fixed = {table.roles["item"], table.roles["condition"]}
        places = [place for place in range(len(table.header)) if place not in {*fixed, *table.data}]
        given = [unguard(table.header[place]).strip() for place in places]
        there = self.known.region_names if self.known else None
        names = self._names("regions", [name for name in given if name], there)
        renamed = [(place, names.get(name, name), name) for place, name in zip(places, given, strict=True)]
        kept = [(place, new) for place, new, old in renamed if new or not old]
        if there:  # formulas count regions: those of the suite keep its order
            order = {name: k for k, name in enumerate(there)}
            rank, last = {}, -1.0
            for n, (place, name) in enumerate(kept):
                last = float(order[name]) if name in order else last + 1 / (len(kept) + 1)
                rank[place] = (last, n)
            kept.sort(key=lambda one: rank[one[0]])
        if gone := [name for name in given if name and not names.get(name, name)]:
            self.reading.understood.append(f"Left out: {listing(gone)}.")
        data = [(place, table.header[place]) for place in table.data]
        columns = [(table.roles["item"], "item"), (table.roles["condition"], "condition"), *kept, *data]
        for row in table.rows:
            row.cells = [row.cells[place] for place, _ in columns]
        table.header = [name for _, name in columns]
        table.roles = {"item": 0, "condition": 1}
        table.data = tuple(range(len(columns) - len(data), len(columns)))

    def _names(self, what: str, given: list[str], there: Sequence[str] | None) -> dict[str, str]:
        """Name in the sheet -> name in the suite; "" for what is left out. Asks about names that the suite lacks."""
        answers: Mapping[str, str] = getattr(self.answers, what)
        unknown = [name for name in given if there and name not in there and name not in answers]
        if unknown and there:
            self.reading.unknown[what] = unknown
            noun = what[:-1]
            message = f"the suite has no {noun} {listing([f'“{name[:40]}”' for name in unknown], 8)}"
            hint = f"It has {listing(there, 12)}. Say which is meant, add it, or leave it out."
            self._ask(what, "sheet", message, hint)
        return {name: str(answers[name]).strip() for name in given if name in answers}

    def _part(self, table: Table, long: bool) -> Part:
        """The texts of the table, each once."""
        roles = table.roles
        regions: dict[tuple[int, str], int] = {}
        texts: dict[tuple[int, str, int], str] = {}
        for row in table.rows:
            if long:
                name = unguard(row.cells[roles["name"]]).strip() if "name" in roles else ""
                found = [((int(row.cells[roles["region"]]), name), row.cells[roles["content"]])]
            else:
                places = range(2, len(table.header) - len(table.data))
                found = [((k, unguard(table.header[k]).strip()), row.cells[k]) for k in places]
            item, condition = int(row.cells[roles["item"]]), tidy(unguard(row.cells[roles["condition"]]))
            cells = [(item, condition, regions.setdefault(region, len(regions))) for region, _ in found]
            if any(cell in texts for cell in cells):
                what = f"region {row.cells[roles['region']]}" if long else f"the condition “{condition}”"
                message = f"item {item} has {what}{f' of “{condition}”' if long else ''} twice"
                self.report.problem(f"row {row.line}", message, "Rename or remove one of them.")
            texts.update(zip(cells, (tidy(unguard(text)) for _, text in found), strict=True))
        names = [name for _, name in regions]
        there = self.known.region_names if self.known else names
        doubled = [n for n in dict.fromkeys(names) if n and 1 <= there.count(n) < names.count(n)]
        if doubled:
            message = f"more than one region of the sheet is {listing([f'“{name}”' for name in doubled])}"
            self.report.problem("sheet", message, "Choose one of them, and leave the others out.")
        self.report.raise_problems()
        return Part(tuple(names), tuple((*place, text) for place, text in texts.items()))

    def _check_numbers(self, table: Table, long: bool) -> None:
        limits = {"item": MAX_ITEM_NUMBER, "region": MAX_REGIONS} if long else {"item": MAX_ITEM_NUMBER}
        for row in table.rows:
            for role, most in limits.items():
                place = table.roles.get(role)
                if place is None:
                    continue
                given = row.cells[place].strip()
                if _NUMBER.match(given) and int(float(given)) <= most:
                    row.cells[place] = given.split(".")[0]
                    continue
                shown = f"“{given[:40]}”" if given else "empty"
                hint = f"Write a whole number of at most {most:,}."
                self.report.problem(_at(row, place, table.header), f"the {ROLES[role]} is {shown}", hint)
            place = table.roles["condition"]
            if not row.cells[place].strip():
                message, hint = "the condition is empty", "Fill in the condition's name in every row."
                self.report.problem(_at(row, place, table.header), message, hint)


def _filled(cells: Sequence[str]) -> list[str]:
    """Blank cells as the one above, as merged cells are meant."""
    filled: list[str] = []
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


_LOOKED_AT = 200
"""Rows whose cells are looked at for a guess."""


def _all_numbers(cells: list[str]) -> bool:
    """Merged cells are blank below the first."""
    return bool(cells and cells[0]) and all(not cell or _NUMBER.match(cell) for cell in cells)


def _are_names(cells: list[str]) -> bool:
    return bool(cells) and all(cells) and max(map(len, cells)) <= _LONGEST_NAME


_LONGEST_NAME = 40


def _rows_of(text: str, report: Report) -> list[Row]:
    text = text.replace("\u2028", " ").replace("\u2029", " ")
    if bad := CONTROL.search(text) or SURROGATE.search(text):
        row = text.count("\n", 0, bad.start()) + 1
        message = f"control character U+{ord(bad[0]):04X}"
        report.problem(f"row {row}", message, "Remove it; it is often the trace of a wrong encoding.")
        report.raise_problems()
    check_table(text, report)
    return _cells(text)


def _cells(text: str) -> list[Row]:
    """Rows with any text, each with its number in the sheet (a quoted cell may span lines of the text)."""
    first = next((line for line in text.splitlines() if line.strip() and not SEPARATOR.fullmatch(line)), "")
    delimiter = "\t" if "\t" in first else max(",;", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[Row] = []
    for number, record in enumerate(reader, start=1):
        if any(cell.strip() for cell in record) and not (
            not rows and SEPARATOR.fullmatch(delimiter.join(record))
        ):
            rows.append(Row(number, record))
    return rows


def _at(row: Row, place: int, header: Sequence[str]) -> str:
    title = f" ({header[place][:40]})" if place < len(header) and header[place] else ""
    return f"row {row.line}, column {column_letter(place)}{title}"


def _said(notice: Notice) -> str:
    """A notice as a sentence; its place only where that says something."""
    place = "" if notice.where in ("file", "$") else f"{_in_rows_text(notice.where).capitalize()}: "
    message = notice.message if place else notice.message[:1].upper() + notice.message[1:]
    return f"{place}{_in_rows_text(message)}."


def _in_rows_text(text: str) -> str:
    return re.sub(r"\bline (\d)", r"row \1", text)


def _in_rows(problem: Problem) -> Problem:
    """The table readers count lines; in a sheet those are rows."""
    where = "sheet" if problem.where == "file" else _in_rows_text(problem.where)
    return Problem(where, _in_rows_text(problem.message), problem.hint)
