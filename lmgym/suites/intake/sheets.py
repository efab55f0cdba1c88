"""Parse stimuli from a spreadsheet, wide or long, with problems by row and column.

More lenient than the file readers: merged cells, which arrive empty below the first, are filled, and headers may have
more names. Every assumption is listed in `ParseResult.understood`.
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
from lmgym.suites.formats.tables import Row, Table, check_table, data_places, read_long_table, read_wide
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
"""Headings of these columns if no heading in `_HEADERS` names the column; otherwise headings of regions."""
_ROLES = {name: role for role, names in _HEADERS.items() for name in names.split()}
SEPARATOR = re.compile(r'"?sep=.?"?\s*', re.IGNORECASE)
"""Excel's line that declares the separator."""
_NUMBER = re.compile(r"[0-9]{1,9}(\.0+)?\Z")
_HEADER_HINT = (
    "The first row names the columns: item, condition, then one column per region; or, with one row per region, "
    "item_number, condition_name, region_number, region_name, content."
)


def read_sheet(
    text: str, name: str = "", options: ParseOptions = NOTHING, known: SuiteDocument | None = None
) -> ParseResult:
    """Parse pasted text: cells of a spreadsheet (tabs, commas or semicolons), or JSON of a suite. Never raises.

    Args:
        name: name of the suite.
        options: choices of the user.
        known: suite whose names the sheet must use; other names become questions.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        problem = Problem(
            "sheet", f"the sheet is {len(data):,} bytes; at most {MAX_BYTES:,} are allowed", "Split it."
        )
        return ParseResult("sheet", problems=[problem])
    if text.lstrip()[:1] in ("{", "["):
        return _read_json(data, name)
    return _SheetReader(lambda report: _rows_of(text, report), name, options, known).read()


def read_part(text: str, options: ParseOptions = NOTHING, known: SuiteDocument | None = None) -> ParseResult:
    """Parse a sheet that is inserted into an existing suite; sentences and regions may be missing."""
    return _SheetReader(lambda report: _rows_of(text, report), "", options, known).read(whole=False)


def read_cells(
    rows: Sequence[Sequence[str]],
    name: str = "",
    options: ParseOptions = NOTHING,
    known: SuiteDocument | None = None,
) -> ParseResult:
    """Parse cells of a workbook; see `read_sheet`. Never raises."""
    numbered = [Row(n, list(cells)) for n, cells in enumerate(rows, 1) if any(cell.strip() for cell in cells)]
    return _SheetReader(lambda report: numbered, name, options, known).read()


def _read_json(data: bytes, name: str) -> ParseResult:
    result = ParseResult("JSON")
    try:
        document = read_suite(data, name)
    except FormatError as error:
        result.problems = list(error.problems)
        return result
    result.document = document
    result.understood = [f"A suite as JSON: {shape(document)}.", *map(_sentence, document.notices)]
    return result


def shape(document: SuiteDocument) -> str:
    """Describe the size of a suite: "3 items × 2 conditions × 4 regions"."""
    return (
        f"{count(len(document.items), 'item')} × {count(len(document.conditions), 'condition')} × "
        f"{count(len(document.region_names), 'region')}"
    )


class _SheetReader:
    """Parser for one sheet; call `read` only once."""

    def __init__(
        self,
        rows: Callable[[Report], list[Row]],
        name: str,
        options: ParseOptions,
        known: SuiteDocument | None,
    ) -> None:
        self.rows = rows
        self.name = name
        self.options = options
        self.known = known
        self.report = Report()
        self.result = ParseResult("sheet")

    def read(self, *, whole: bool = True) -> ParseResult:
        try:
            table = self._table()
            long = table.is_long
            self.result.kind = "long" if long else "wide"
            self._fill(table, long)
            if long and "region" not in table.roles:
                self._number_regions(table)
            self._translate(table, long)
            if table.data and not long:
                kept = "Kept as item data" if whole else "Left out"
                names = listing([table.header[place] for place in table.data], 12)
                self.result.understood.append(f"{kept}: {names}.")
            self._check_numbers(table, long)
            self.report.raise_problems()
            if not whole:
                self.result.part = self._part(table, long)
                return self.result
            document = (read_long_table if long else read_wide)(table, self.name, self.report)
        except FormatError as error:
            self.result.problems = [_in_rows(problem) for problem in error.problems][: MAX_PROBLEMS + 1]
            return self.result
        except csv.Error as error:
            self.result.problems = [Problem("sheet", f"the text cannot be split into cells: {error}")]
            return self.result
        form = "one row per region" if long else "one row per sentence, one column per region"
        notices = [notice for notice in document.notices if "no name" not in notice.message]
        self.result.document = replace(document, notices=())
        self.result.understood = [f"{form.capitalize()}: {shape(document)}.", *self.result.understood]
        self.result.understood += map(_sentence, notices)
        return self.result

    # --- cells ---

    def _table(self) -> Table:
        rows = self.rows(self.report)
        if not rows:
            self.report.problem("sheet", "nothing was pasted", _HEADER_HINT)
            self.report.raise_problems()
        self.result.preview = [[cell[:60] for cell in row.cells[:MAX_REGIONS]] for row in rows[:SAMPLE]]
        head, body = self._header(rows)
        header = [unguard(cell).strip() for cell in head.cells]
        while header and not header[-1]:
            header.pop()
        if self.options.columns:
            roles, header, body = self._mapped(head, header, body)
        else:
            roles = self._roles(head, header, body)
        data = self._data_places(header)
        if not body:
            self.report.problem("sheet", "the sheet has a header but no rows")
        table = Table(head.line, header, roles, body, data)
        self._check_amount(table)
        self.report.raise_problems()
        self._check_lengths(table)
        self.report.raise_problems()
        return table

    def _header(self, rows: list[Row]) -> tuple[Row, list[Row]]:
        """Split the header from the other rows; without a header, its names are empty."""
        self.result.has_header = self.options.header != "no"
        if self.result.has_header:
            return rows[0], rows[1:]
        width = max(len(row.cells) for row in rows)
        return Row(rows[0].line, [""] * min(width, MAX_REGIONS + len(_HEADERS))), rows

    def _mapped(
        self, head: Row, header: list[str], body: list[Row]
    ) -> tuple[dict[str, int], list[str], list[Row]]:
        """Use the roles chosen by the user; columns without a role are skipped."""
        width = max(len(header), len(head.cells))
        header = header + [""] * (width - len(header))
        chosen = [self.options.columns.get(column_letter(place), "skip") for place in range(width)]
        self.result.columns = [
            Column(column_letter(place), header[place], ROLES.get(role, ROLES["skip"]), role)
            for place, role in enumerate(chosen)
        ]
        used = [place for place, role in enumerate(chosen) if role in ROLES and role != "skip"]
        roles: dict[str, int] = {}
        names = [header[place] for place in used]
        for new, place in enumerate(used):
            role = chosen[place]
            if role in ("text", "data"):
                continue
            if role in roles:
                message = f"more than one column has the role “{ROLES[role]}”"
                self._ask("columns", f"column {column_letter(place)}", message, "Choose one of them.")
            roles.setdefault(role, new)
        for role in ("item", "condition"):
            if role not in roles:
                message = f"no {_hyphenated(role)} column found"
                self._ask("columns", "sheet", message, "Choose the column.")
        texts = [place for place in used if chosen[place] == "text"]
        if "content" not in roles and not texts:
            self._ask("columns", "sheet", "no column contains text", "Choose the columns of regions.")
        if "content" in roles and texts:
            message = f"one column has the role “{ROLES['content']}”, and another is a region"
            self._ask(
                "columns",
                "sheet",
                message,
                "A sheet has one row per region or one column per region, not both.",
            )
        for row in body:
            cells = row.cells + [""] * (width - len(row.cells))
            row.cells = [cells[place] for place in used]
        return roles, names, body

    def _ask(self, field_name: str, where: str, message: str, hint: str) -> None:
        """Add a problem that an option resolves."""
        if field_name not in self.result.asks:
            self.result.asks += (field_name,)
        self.report.problem(where, message, hint)

    def _roles(self, row: Row, header: list[str], body: list[Row]) -> dict[str, int]:
        """Detect roles from the headings; columns without another role are regions."""
        names = [re.sub(r"[\s\-.]+", "_", cell.lower()).strip("_") for cell in header]
        detected = [_ROLES.get(name, "") for name in names]
        for role, others in _WEAK.items():
            if role not in detected and (name := next((name for name in names if name in others), None)):
                detected[names.index(name)] = role
        long = "content" in detected and ({"region", "name"} & set(detected) or len(header) == 3)
        possible = set(_HEADERS) if long else {"item", "condition"}
        roles: dict[str, int] = {}
        for place, role in enumerate(detected):
            if role not in possible:
                continue
            if role in roles:
                first = roles[role]
                message = (
                    f"column {column_letter(first)} (“{header[first]}”) already has the role “{ROLES[role]}”"
                )
                self.report.problem(_at(row, place, header), message, "Rename or remove one of them.")
            roles.setdefault(role, place)
        for role in ("item", "condition"):
            if role not in roles:
                headings = listing([f"“{cell[:40]}”" for cell in header], 8) or "nothing"
                message = f"no {_hyphenated(role)} column found; the header has {headings}"
                self._ask("columns", f"row {row.line}", message, _HEADER_HINT)
        if "columns" in self.result.asks:
            self._guess(header, detected, [row, *body] if self.result.has_header else body)
            self.report.raise_problems()
        self._check_regions(row, header, roles, bool(long))
        if not long:
            self._ask_about_doubts(row, header, roles, body)
        return roles

    def _doubts(
        self, header: list[str], roles: Mapping[str, int], cells: Sequence[Sequence[str]]
    ) -> dict[int, str]:
        """Map columns that may not be regions to the reason."""
        fixed = [roles[role] for role in ("item", "condition") if role in roles] + [*data_places(header)]
        places = [k for k in range(len(header)) if k not in fixed]
        empty = [""] * (len(cells[0]) if cells else 0)
        item, condition = (_filled(cells[roles[r]]) if r in roles else empty for r in ("item", "condition"))
        sure = {*(self.known.region_names if self.known else ()), *self.options.regions}
        reasons = doubts([header[k] for k in places], [cells[k] for k in places], item, condition, sure)
        return {places[k]: reason for k, reason in reasons.items()}

    def _ask_about_doubts(self, row: Row, header: list[str], roles: dict[str, int], body: list[Row]) -> None:
        """Ask for the roles of columns if one may not be a region; item data is proposed for doubtful ones."""
        cells = [
            [unguard(body_row.cells[k]).strip() if k < len(body_row.cells) else "" for body_row in body]
            for k in range(len(header))
        ]
        doubted = self._doubts(header, roles, cells)
        if not doubted:
            return
        self.result.kind = "wide"
        self.result.columns = [
            replace(column, meaning=ROLES["data"], role="data", doubt=doubted[place])
            if place in doubted
            else column
            for place, column in enumerate(self.result.columns)
        ]
        doubtful = [
            (column.letter, column.header, column.doubt) for column in self.result.columns if column.doubt
        ]
        message = f"{count(len(doubtful), 'column')} may not be a region: {in_words(doubtful)}"
        hint = "Choose for each column whether it is a region, item data (kept but not scored), or not read."
        self._ask("columns", f"row {row.line}", message, hint)
        self.report.raise_problems()

    def _data_places(self, header: list[str]) -> tuple[int, ...]:
        """Return the columns chosen as item data, and make their headings unique."""
        if not self.options.columns:
            return data_places(header)
        kept = [column for column in self.result.columns if column.role in ROLES and column.role != "skip"]
        places = tuple(k for k, column in enumerate(kept) if column.role == "data")
        taken: set[str] = set()
        for k in places:
            if not header[k] or header[k] in taken:
                header[k] = f"{header[k]} (column {kept[k].letter})".strip()
            taken.add(header[k])
        return places

    def _guess(self, header: list[str], detected: list[str], rows: list[Row]) -> None:
        """Propose roles of columns from their cells, for the user to confirm."""
        sample = rows[:_SAMPLED]
        width = max(len(row.cells) for row in sample)
        detected = detected + [""] * (width - len(detected))
        cells = [[row.cells[k].strip() if k < len(row.cells) else "" for row in sample] for k in range(width)]
        if not self.options.header:
            self.result.has_header = not any(_NUMBER.match(column[0]) for column in cells)
        below = [column[1:] if self.result.has_header else column for column in cells]
        if "item" not in detected:
            numbers = [k for k in range(width) if not detected[k] and _all_numbers(below[k])]
            if numbers:
                detected[numbers[0]] = "item"
        if "condition" not in detected:
            names = [k for k in range(width) if not detected[k] and _are_names(below[k])]
            if names:
                kinds = {k: len(set(below[k])) for k in names}
                detected[min(names, key=lambda k: (kinds[k] == 1, kinds[k]))] = "condition"
        long = "content" in detected and {"region", "name"} & set(detected)
        header = header + [""] * (width - len(header)) if self.result.has_header else [""] * width
        doubted = (
            {} if long else self._doubts(header, {role: k for k, role in enumerate(detected) if role}, below)
        )
        for place, role in enumerate(detected):
            proposed = (
                role if long or role in ("item", "condition") else "text" if any(cells[place]) else "skip"
            )
            proposed = "data" if place in doubted else proposed or "skip"
            self.result.columns.append(
                Column(column_letter(place), header[place], ROLES[proposed], proposed, doubted.get(place, ""))
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
                    message = f"“{cell}” is already the name of column {column_letter(seen[cell])}"
                    self.report.problem(_at(row, place, header), message, "Give every region its own name.")
                seen.setdefault(cell, place)
            role = next((role for role, at in roles.items() if at == place), "skip" if long else "text")
            self.result.columns.append(
                Column(column_letter(place), cell, meaning or "kept as extra data", role)
            )
        if number > MAX_REGIONS:
            self.report.problem(f"row {row.line}", f"{number} regions; at most {MAX_REGIONS} are allowed")
        if not long and not number:
            self.report.problem(f"row {row.line}", "the header has no region columns", _HEADER_HINT)

    def _check_amount(self, table: Table) -> None:
        """Report too many sentences as one problem of the sheet instead of one per row."""
        sentences = len(table.rows)
        if table.is_long:
            keys = [table.roles[role] for role in ("item", "condition") if role in table.roles]
            cells = {tuple(row.cells[k] if k < len(row.cells) else "" for k in keys) for row in table.rows}
            sentences = len(cells)
        if sentences > MAX_SENTENCES:
            message = f"the sheet has {sentences:,} sentences; at most {MAX_SENTENCES:,} are allowed"
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
                self.report.problem(where, message, "Name the column or clear the cell.")
            for place, cell in enumerate(row.cells):
                if len(cell) > MAX_CELL_CHARACTERS:
                    message = f"{len(cell):,} characters; at most {MAX_CELL_CHARACTERS:,} are allowed"
                    self.report.problem(_at(row, place, table.header), message)

    # --- meaning ---

    def _fill(self, table: Table, long: bool) -> None:
        """Fill merged cells (a value with empty cells below): items, and in long sheets conditions."""
        filled: dict[str, list[int]] = {}
        last: dict[str, str] = {}
        for row in table.rows:
            for role in ("item", "condition") if long else ("item",):
                place = table.roles[role]
                value = row.cells[place].strip()
                if value:
                    if role == "item" and value != last.get("item"):
                        last.pop("condition", None)
                    last[role] = value
                elif role in last:
                    row.cells[place] = last[role]
                    filled.setdefault(role, []).append(row.line)
        for role, lines in filled.items():
            column = column_letter(table.roles[role])
            message = (
                f"Column {column} is empty in {count(len(lines), 'row')} (row {listing(lines, 4)}): treated as merged "
                f"cells and filled with the {ROLES[role]} above."
            )
            self.result.understood.append(message)

    def _number_regions(self, table: Table) -> None:
        """Number the regions of a long sheet without numbers: by name, in order of first occurrence, or by the order of
        rows if names are missing or repeated within a sentence."""
        column = table.roles.get("name")
        groups: dict[tuple[str, ...], list[tuple[Row, str]]] = {}
        for row in table.rows:
            key = tuple(row.cells[table.roles[role]].strip() for role in ("item", "condition"))
            groups.setdefault(key, []).append((row, "" if column is None else row.cells[column].strip()))
        name_lists = [[name for _, name in rows] for rows in groups.values()]
        by_name = all(len(set(names)) == len(names) and all(names) for names in name_lists)
        order: dict[str, int] = {}
        for rows in groups.values():
            for place, (row, name) in enumerate(rows, start=1):
                number = order.setdefault(name, len(order) + 1) if by_name else place
                row.cells.append(str(number))
        table.roles["region"] = len(table.header)
        table.header.append("region_number")
        order_of = "their names first appear" if by_name else "the rows of each sentence appear"
        self.result.understood.append(f"No region numbers: regions are in the order in which {order_of}.")

    def _translate(self, table: Table, long: bool) -> None:
        """Replace names of the sheet by names of the suite, and ask about unknown ones."""
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

    def _rename_cells(self, table: Table, what: str, column: int, suite_names: Sequence[str] | None) -> None:
        cells = dict.fromkeys(clean for row in table.rows if (clean := unguard(row.cells[column]).strip()))
        names = self._names(what, list(cells), suite_names)
        for row in table.rows:
            name = unguard(row.cells[column]).strip()
            row.cells[column] = names.get(name, name)
        omitted = {name for name, new in names.items() if not new}
        if omitted:
            n_before = len(table.rows)
            table.rows = [row for row in table.rows if row.cells[column].strip()]
            n_rows = n_before - len(table.rows)
            self.result.understood.append(f"Left out: {listing(sorted(omitted))} ({count(n_rows, 'row')}).")
            if what == "regions" and "region" in table.roles:
                self._close_gaps(table)

    def _close_gaps(self, table: Table) -> None:
        """Renumber the remaining regions from 1 after others were left out."""
        place = table.roles["region"]
        numbers = sorted({int(cell) for row in table.rows if (cell := row.cells[place].strip()).isdecimal()})
        new = {str(number): str(k) for k, number in enumerate(numbers, start=1)}
        for row in table.rows:
            row.cells[place] = new.get(row.cells[place].strip(), row.cells[place])

    def _rename_columns(self, table: Table) -> None:
        fixed = {table.roles["item"], table.roles["condition"]}
        places = [place for place in range(len(table.header)) if place not in {*fixed, *table.data}]
        headings = [unguard(table.header[place]).strip() for place in places]
        suite_names = self.known.region_names if self.known else None
        names = self._names("regions", [name for name in headings if name], suite_names)
        renamed = [(place, names.get(name, name), name) for place, name in zip(places, headings, strict=True)]
        kept = [(place, new) for place, new, old in renamed if new or not old]
        if suite_names:  # formulas refer to region numbers, so keep the suite's order
            order = {name: k for k, name in enumerate(suite_names)}
            rank, last = {}, -1.0
            for n, (place, name) in enumerate(kept):
                last = float(order[name]) if name in order else last + 1 / (len(kept) + 1)
                rank[place] = (last, n)
            kept.sort(key=lambda column: rank[column[0]])
        if omitted := [name for name in headings if name and not names.get(name, name)]:
            self.result.understood.append(f"Left out: {listing(omitted)}.")
        data = [(place, table.header[place]) for place in table.data]
        columns = [(table.roles["item"], "item"), (table.roles["condition"], "condition"), *kept, *data]
        for row in table.rows:
            row.cells = [row.cells[place] for place, _ in columns]
        table.header = [name for _, name in columns]
        table.roles = {"item": 0, "condition": 1}
        table.data = tuple(range(len(columns) - len(data), len(columns)))

    def _names(self, what: str, names: list[str], suite_names: Sequence[str] | None) -> dict[str, str]:
        """Map names in the sheet to names in the suite ("" = left out), and ask about names that the suite lacks."""
        chosen: Mapping[str, str] = getattr(self.options, what)
        unknown = [name for name in names if suite_names and name not in suite_names and name not in chosen]
        if unknown and suite_names:
            self.result.unknown[what] = unknown
            noun = what[:-1]
            message = f"the suite has no {noun} {listing([f'“{name[:40]}”' for name in unknown], 8)}"
            hint = f"It has {listing(suite_names, 12)}. Choose one of these, add it, or leave it out."
            self._ask(what, "sheet", message, hint)
        return {name: str(chosen[name]).strip() for name in names if name in chosen}

    def _part(self, table: Table, long: bool) -> Part:
        """Collect the texts of the table and check that each cell occurs once."""
        roles = table.roles
        regions: dict[tuple[int, str], int] = {}
        texts: dict[tuple[int, str, int], str] = {}
        for row in table.rows:
            if long:
                name = unguard(row.cells[roles["name"]]).strip() if "name" in roles else ""
                row_texts = [((int(row.cells[roles["region"]]), name), row.cells[roles["content"]])]
            else:
                places = range(2, len(table.header) - len(table.data))
                row_texts = [((k, unguard(table.header[k]).strip()), row.cells[k]) for k in places]
            item, condition = int(row.cells[roles["item"]]), tidy(unguard(row.cells[roles["condition"]]))
            cells = [(item, condition, regions.setdefault(region, len(regions))) for region, _ in row_texts]
            if any(cell in texts for cell in cells):
                what = f"region {row.cells[roles['region']]}" if long else f"the condition “{condition}”"
                message = f"item {item} has {what}{f' of “{condition}”' if long else ''} twice"
                self.report.problem(f"row {row.line}", message, "Rename or remove one of them.")
            texts.update(zip(cells, (tidy(unguard(text)) for _, text in row_texts), strict=True))
        names = [name for _, name in regions]
        suite_names = self.known.region_names if self.known else names
        doubled = [n for n in dict.fromkeys(names) if n and 1 <= suite_names.count(n) < names.count(n)]
        if doubled:
            message = (
                f"more than one region of the sheet is mapped to {listing([f'“{name}”' for name in doubled])}"
            )
            self.report.problem("sheet", message, "Choose one of them and leave the others out.")
        self.report.raise_problems()
        return Part(tuple(names), tuple((*place, text) for place, text in texts.items()))

    def _check_numbers(self, table: Table, long: bool) -> None:
        limits = {"item": MAX_ITEM_NUMBER, "region": MAX_REGIONS} if long else {"item": MAX_ITEM_NUMBER}
        for row in table.rows:
            for role, most in limits.items():
                place = table.roles.get(role)
                if place is None:
                    continue
                value = row.cells[place].strip()
                if _NUMBER.match(value) and int(float(value)) <= most:
                    row.cells[place] = value.split(".")[0]
                    continue
                shown = f"“{value[:40]}”" if value else "empty"
                hint = f"Write a whole number of at most {most:,}."
                self.report.problem(_at(row, place, table.header), f"the {ROLES[role]} is {shown}", hint)
            place = table.roles["condition"]
            if not row.cells[place].strip():
                message, hint = "the condition is empty", "Fill in the condition's name in every row."
                self.report.problem(_at(row, place, table.header), message, hint)


def _filled(cells: Sequence[str]) -> list[str]:
    """Fill empty cells with the one above, as in merged cells."""
    filled: list[str] = []
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


_SAMPLED = 200
"""Number of rows used to guess roles of columns."""


def _all_numbers(cells: list[str]) -> bool:
    """Return whether cells are numbers. Empty cells are ignored: they may belong to a merged cell."""
    return bool(cells and cells[0]) and all(not cell or _NUMBER.match(cell) for cell in cells)


def _are_names(cells: list[str]) -> bool:
    return bool(cells) and all(cells) and max(map(len, cells)) <= _LONGEST_NAME


_LONGEST_NAME = 40


def _rows_of(text: str, report: Report) -> list[Row]:
    text = text.replace("\u2028", " ").replace("\u2029", " ")
    if bad := CONTROL.search(text) or SURROGATE.search(text):
        row = text.count("\n", 0, bad.start()) + 1
        message = f"control character U+{ord(bad[0]):04X}"
        report.problem(f"row {row}", message, "Remove it; it often results from a wrong encoding.")
        report.raise_problems()
    check_table(text, report)
    return _cells(text)


def _cells(text: str) -> list[Row]:
    """List rows that are not blank, with their numbers in the sheet; a quoted cell may span lines of the text."""
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


def _hyphenated(role: str) -> str:
    return ROLES[role].replace(" ", "-")


def _sentence(notice: Notice) -> str:
    """Format a notice as a sentence, with its place unless that is the whole file."""
    place = "" if notice.where in ("file", "$") else f"{_in_rows_text(notice.where).capitalize()}: "
    message = notice.message if place else notice.message[:1].upper() + notice.message[1:]
    return f"{place}{_in_rows_text(message)}."


def _in_rows_text(text: str) -> str:
    return re.sub(r"\bline (\d)", r"row \1", text)


def _in_rows(problem: Problem) -> Problem:
    """Rename lines to rows in a problem of the table readers."""
    where = "sheet" if problem.where == "file" else _in_rows_text(problem.where)
    return Problem(where, _in_rows_text(problem.message), problem.hint)
