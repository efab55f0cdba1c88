"""Parse stimuli from a sheet, with problems by row and column.

A sheet is wide (one row per sentence, one column per region), long (one row per region), or has pairs (one row per
item, one column per condition; or a list of alternating sentences). More lenient than the file readers; every
assumption is listed in `ParseResult.understood` or asked.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise, product
from operator import itemgetter
from typing import Any

from lmgym.files.bounded import Refused
from lmgym.suites.formats import read_suite
from lmgym.suites.formats.designs import condition_name as joined_levels
from lmgym.suites.formats.documents import (
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_NAME_CHARACTERS,
    MAX_REGIONS,
    MAX_SENTENCES,
    PredictionDoc,
    SuiteDocument,
)
from lmgym.suites.formats.tables import Row, Table, read_long_table, read_wide, region_name
from lmgym.suites.headings import condition_name
from lmgym.suites.intake import items, pairs
from lmgym.suites.intake.blanks import ask_about_blanks
from lmgym.suites.intake.completions import GOOD
from lmgym.suites.intake.containers import (
    Grid,
    grid_of_cells,
    holds_records,
    rows_of_records,
    split_records,
    split_text,
)
from lmgym.suites.intake.critical import count_from_one
from lmgym.suites.intake.cuts import cut_text
from lmgym.suites.intake.factors import Crossing, join_conditions, split_labels, with_crossing
from lmgym.suites.intake.header import Headed, split_header
from lmgym.suites.intake.ibex import holds_items, split_items
from lmgym.suites.intake.incomplete import settle_incomplete_rows
from lmgym.suites.intake.linger import holds_linger, split_linger
from lmgym.suites.intake.marks import remove_signs
from lmgym.suites.intake.parsing import (
    ANSWER,
    CONDITION_TEXT,
    CONTEXT_TEXT,
    CRITICAL,
    DATA,
    NOTHING,
    OPENING,
    SINGLE,
    SKIP,
    TARGET_TEXT,
    TEXT,
    Choice,
    ParseOptions,
    ParseResult,
    Part,
    column_letter,
)
from lmgym.suites.intake.reading import Reading, as_sentence, at, in_rows, problem_in_rows, text_places
from lmgym.suites.intake.renames import rename_conditions, rename_regions
from lmgym.suites.intake.roles import EXTRA, HEADER_HINT, roles_for
from lmgym.suites.intake.rows import even_rows
from lmgym.text import count, is_unspaced, listing, tidy, unguard
from lmgym.text.problems import MAX_PROBLEMS, FormatError, Problem, Report

_FORMS = {
    "wide": "One row per sentence, one column per region",
    "long": "One row per region",
    "pairs": "One row per item, one column per condition",
    "list": "A list of sentences",
    "crossed": "One row per item, contexts combined with targets",
}

_SAMPLED = 100


def read_sheet(
    text: str, name: str = "", options: ParseOptions = NOTHING, known: SuiteDocument | None = None
) -> ParseResult:
    """Parse pasted text: cells of a spreadsheet (tabs, commas or semicolons), JSON objects, a script with items, or
    JSON of a suite. Never raises.

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
    if holds_items(text):
        return read_items(text, name, options, known)
    if holds_records(text):
        return read_records(text, name, options, known)
    if holds_linger(text):
        return read_linger(text, name, options, known)
    if text.lstrip()[:1] == "{":
        return _read_json(data, name)
    return _SheetReader(lambda report: split_text(text, report), name, options, known).read()


def read_records(
    text: str, name: str = "", options: ParseOptions = NOTHING, known: SuiteDocument | None = None
) -> ParseResult:
    """Parse a JSON array of objects, an object around one, or one JSON object per line. Never raises."""
    return _SheetReader(
        lambda report: split_records(text, report), name, options, known, is_sheet=False
    ).read()


def read_objects(
    objects: Callable[[], Sequence[dict[str, Any]]],
    name: str = "",
    options: ParseOptions = NOTHING,
    known: SuiteDocument | None = None,
) -> ParseResult:
    """Parse objects, one per row. Never raises; if `objects` raises Refused, that becomes a problem."""

    def grid(report: Report) -> Grid:
        try:
            numbered = list(enumerate(objects(), start=1))
        except Refused as error:
            report.refuse(error)
        return rows_of_records(numbered, report)

    return _SheetReader(grid, name, options, known, is_sheet=False).read()


def read_items(
    text: str, name: str = "", options: ParseOptions = NOTHING, known: SuiteDocument | None = None
) -> ParseResult:
    """Parse a script with a list of items. Never raises."""
    return _SheetReader(
        lambda report: split_items(text, options.cut, report), name, options, known, is_sheet=False
    ).read()


def read_linger(
    text: str, name: str = "", options: ParseOptions = NOTHING, known: SuiteDocument | None = None
) -> ParseResult:
    """Parse items of Linger. Never raises."""
    return _SheetReader(lambda report: split_linger(text, report), name, options, known).read()


def read_part(text: str, options: ParseOptions = NOTHING, known: SuiteDocument | None = None) -> ParseResult:
    """Parse a sheet to insert into an existing suite; sentences and regions may be missing. Never raises."""
    return _SheetReader(lambda report: split_text(text, report), "", options, known).read(whole=False)


def read_cells(
    rows: Sequence[Sequence[str]],
    name: str = "",
    options: ParseOptions = NOTHING,
    known: SuiteDocument | None = None,
) -> ParseResult:
    """Parse cells of a workbook; see `read_sheet`. Never raises."""
    return _SheetReader(lambda report: grid_of_cells(rows), name, options, known).read()


def _read_json(data: bytes, name: str) -> ParseResult:
    result = ParseResult("JSON")
    try:
        document = read_suite(data, name)
    except FormatError as error:
        result.problems = list(error.problems)
        return result
    result.document = document
    result.understood = [f"A suite as JSON: {shape(document)}.", *map(as_sentence, document.notices)]
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
        grid: Callable[[Report], Grid],
        name: str,
        options: ParseOptions,
        known: SuiteDocument | None,
        *,
        is_sheet: bool = True,
    ) -> None:
        self.grid = grid
        self.is_sheet = is_sheet
        self.name = name
        self.reading = Reading(options, known)
        self.report = self.reading.report
        self.result = self.reading.result
        self.form = ""
        self.is_cut = False
        self.crossing: Crossing | None = None
        self.predictions: tuple[PredictionDoc, ...] = ()

    def read(self, *, whole: bool = True) -> ParseResult:
        self.reading.is_part = not whole
        try:
            table = self._table()
            if not whole:
                self.result.part = self._part(table)
                return self.result
            document = (read_long_table if self.form == "long" else read_wide)(table, self.name, self.report)
        except FormatError as error:
            problems = error.problems[: MAX_PROBLEMS + 1]
            self.result.problems = [problem_in_rows(one) for one in problems] if self.is_sheet else problems
            return self.result
        except csv.Error as error:
            self.result.problems = [Problem("sheet", f"the text cannot be split into cells: {error}")]
            return self.result
        self._finish(document)
        return self.result

    def _finish(self, document: SuiteDocument) -> None:
        """Add predictions and data of the items to the document, and the notices to what was understood."""
        form = f"{_FORMS[self.form]}: {shape(document)}."
        notices = [notice for notice in document.notices if "no name" not in notice.message]
        if self.predictions:
            notices = [notice for notice in notices if "no predictions" not in notice.message]
        if self.crossing is not None:
            document = with_crossing(document, self.crossing, self.reading)
        extra = (
            {**document.extra, "items": self.reading.item_data} if self.reading.item_data else document.extra
        )
        self.result.document = replace(
            document,
            name=self._shared_name() or document.name,
            predictions=self.predictions,
            extra=extra,
            notices=(),
            is_table=not self.predictions,
        )
        self.result.understood = [
            form,
            *self.result.understood,
            *(in_rows(as_sentence(one)) for one in notices),
        ]
        if _is_unspaced(document):
            self.reading.say(
                "The text has no blanks between words: join the regions without spaces (“none”)."
            )

    def _shared_name(self) -> str:
        """Return BLiMP's name of the paradigm (UID) if all items share it."""
        data = list(self.reading.item_data.values())
        name = data[0].get("UID") if data and self.form == "pairs" else None
        if not isinstance(name, str) or any(item.get("UID") != name for item in data):
            return ""
        return name.strip()[:MAX_NAME_CHARACTERS].strip()

    # --- from cells to a table of items, conditions and texts ---

    def _table(self) -> Table:
        grid = self.grid(self.report)
        if not grid.rows:
            self.report.problem("sheet", "the sheet is empty", HEADER_HINT)
            self.report.raise_problems()
        self.is_cut = grid.is_cut
        self.result.understood += grid.understood
        sheet = split_header(grid, self.reading)
        if not grid.is_named:
            settle_incomplete_rows(sheet, self.reading)
        roles = roles_for(sheet, grid.roles, self.reading)
        if not sheet.body:
            self.report.problem("sheet", "the sheet has a header but no rows")
        self.report.raise_problems()
        even_rows(sheet, roles, self.reading)
        roles = count_from_one(sheet, roles, self.reading)
        if {CONTEXT_TEXT, TARGET_TEXT} <= set(roles):
            return self._crossed(sheet, roles)
        if CONDITION_TEXT in roles:
            return self._pairs(sheet, roles)
        if "item_condition" in roles:
            roles = split_labels(sheet, roles, self.reading)
        if "condition" not in roles and self.reading.options.layout == SINGLE:
            roles = items.single_condition(sheet, roles, self.reading)
        if "condition" not in roles:
            return self._list(sheet, roles)
        return self._rows(sheet, roles)

    def _pairs(self, sheet: Headed, roles: list[str]) -> Table:
        self.form = self.result.kind = "pairs"
        places = [k for k, role in enumerate(roles) if role == CONDITION_TEXT]
        self._check_amount(len(sheet.body) * len(places))
        conditions = pairs.conditions_of(sheet.names, places)
        table = pairs.unpivot(sheet, conditions, self._others(sheet, roles), self.reading)
        self._check_lengths(table)
        good = GOOD if ANSWER in roles else conditions.good
        return self._sentences(table, self.reading.options.conditions.get(good, good))

    def _others(self, sheet: Headed, roles: list[str]) -> pairs.Others:
        """Return the columns beside those of the conditions."""
        item = self._item_place(sheet, roles)
        opening, shared, data = (
            [k for k, role in enumerate(roles) if role == one] for one in (OPENING, TEXT, DATA)
        )
        answer, critical = (roles.index(role) if role in roles else None for role in (ANSWER, CRITICAL))
        return pairs.Others(item, opening, shared, data, answer, critical)

    def _crossed(self, sheet: Headed, roles: list[str]) -> Table:
        self.form, self.result.kind = "crossed", "pairs"
        contexts, targets = (
            [k for k, role in enumerate(roles) if role == one] for one in (CONTEXT_TEXT, TARGET_TEXT)
        )
        self._check_amount(len(sheet.body) * len(contexts) * len(targets))
        table = pairs.cross(sheet, contexts, targets, self._others(sheet, roles), self.reading)
        self._check_lengths(table)
        names = [condition_name(sheet.names[k], column_letter(k)) for k in contexts + targets]
        cells = {
            joined_levels(levels): levels
            for levels in product(names[: len(contexts)], names[len(contexts) :])
        }
        self.crossing = Crossing((pairs.CONTEXT, pairs.TARGET), cells)
        rename_conditions(table, self.reading)
        if not any(name in self.reading.options.conditions for name in cells):
            target = table.header.index(pairs.TARGET) - 1
            self.predictions = pairs.crossed_predictions(list(cells.values()), target, self.reading)
        return self._tidied(table)

    def _list(self, sheet: Headed, roles: list[str]) -> Table:
        self.form, self.result.kind = "list", "pairs"
        self._check_amount(len(sheet.body))
        table = pairs.fold_list(sheet, roles.index(TEXT), self.reading.options.layout, self.reading)
        return self._sentences(table, self.reading.options.conditions.get(GOOD, GOOD))

    def _sentences(self, table: Table, good: str) -> Table:
        """Rename the conditions of a table of items and conditions, and add predictions."""
        rename_conditions(table, self.reading)
        names = list(dict.fromkeys(row.cells[1] for row in table.rows if row.cells[1]))
        self.predictions = pairs.predictions(names, good, self.reading)
        return self._tidied(table)

    def _tidied(self, table: Table) -> Table:
        """Remove signs from the texts of a table of items and conditions, cut them, and number the items."""
        remove_signs(table, text_places(table), self.reading, may_cut=True)
        cut_text(table, self.reading)
        rename_regions(table, False, self.reading)
        items.number_items(table, self.reading)
        self.report.raise_problems()
        return table

    def _item_place(self, sheet: Headed, roles: list[str]) -> int | None:
        """Return the item column; several are joined to one label."""
        places = [k for k, role in enumerate(roles) if role == "item"]
        if len(places) > 1:
            columns = listing([f"{column_letter(k)} “{sheet.names[k]}”" for k in places], 4)
            self.reading.say(f"Columns {columns} together are the item.")
            filled = dict.fromkeys(places, "")
            for row in sheet.body:
                for k in places:
                    filled[k] = unguard(row.cells[k]).strip() or filled[k]
                row.cells[places[0]] = "-".join(filled.values())
        return places[0] if places else None

    def _rows(self, sheet: Headed, roles: list[str]) -> Table:
        """Read a wide or long sheet, which have columns for item and condition."""
        if "item" not in roles:
            roles = items.number_groups(sheet, roles, self.reading)
        self._item_place(sheet, roles)
        places = [k for k, role in enumerate(roles) if role == "condition"]
        self.crossing = join_conditions(sheet, places, self.reading)
        roles = [SKIP if k in places[1:] else role for k, role in enumerate(roles)]
        if "content" not in roles:
            items.merge_lists(sheet, roles, self.reading)
            self._say_nameless(sheet, roles)
        table = self._selected(sheet, roles)
        long = table.is_long
        self.form = self.result.kind = "long" if long else "wide"
        self._check_amount(_count_sentences(table))
        self._check_lengths(table)
        self.report.raise_problems()
        if not long:
            items.drop_empty_rows(table, self.reading)
        items.fill_merged(table, ("item", "condition") if long else ("item",), self.reading)
        if long and "region" not in table.roles:
            self._number_regions(table)
        if not self.reading.is_part:
            items.leave_out_fillers(table, self.reading)
        rename_conditions(table, self.reading)
        texts = [table.roles["content"]] if long else text_places(table)
        ask_about_blanks(table, texts, self.reading)
        may_cut = not long and not self.is_cut
        remove_signs(table, texts, self.reading, may_cut=may_cut)
        if may_cut:
            cut_text(table, self.reading)
        rename_regions(table, long, self.reading)
        if table.data and not long:
            kept = "Left out" if self.reading.is_part else "Kept as item data"
            names = listing([table.header[place] for place in table.data], 12)
            self.reading.say(f"{kept}: {names}.")
        items.number_items(table, self.reading)
        items.check_cells(table, self.reading)
        self.report.raise_problems()
        if self.reading.options.prediction:
            place = table.roles["condition"]
            conditions = list(dict.fromkeys(tidy(unguard(row.cells[place])) for row in table.rows))
            self.predictions = pairs.predictions(conditions, "", self.reading)
            self.report.raise_problems()
        return table

    def _say_nameless(self, sheet: Headed, roles: Sequence[str]) -> None:
        """Note columns of text without a heading among others with one, as a merged heading leaves them."""
        headings = {
            k: k < len(sheet.names) and sheet.names[k] for k, role in enumerate(roles) if role == TEXT
        }
        nameless = [column_letter(k) for k, heading in headings.items() if not heading]
        if 0 < len(nameless) < len(headings):
            what = "Column {} has no heading: read as a region of its own"
            if len(nameless) > 1:
                what = "Columns {} have no heading: each is read as a region of its own"
            merged = "If a heading is merged over several columns, join them into one or name each."
            self.reading.say(f"{what.format(listing(nameless))}. {merged}")

    def _selected(self, sheet: Headed, roles: list[str]) -> Table:
        """Keep the columns that are read."""
        first_item = roles.index("item")
        used = [k for k, role in enumerate(roles) if role != SKIP and (role != "item" or k == first_item)]
        used.sort(key=lambda k: roles[k] != OPENING)
        roles = [TEXT if role == OPENING else role for role in roles]
        names = [region_name(sheet.names[k]) if k < len(sheet.names) else "" for k in used]
        by_role = {
            role: new
            for new, place in reversed(list(enumerate(used)))
            if (role := roles[place]) not in (TEXT, DATA, EXTRA)
        }
        data = [k for k, role in enumerate(roles) if role == DATA]
        headings = pairs.unique_headings(sheet.names, data)
        chosen = bool(self.reading.options.columns)
        if chosen:
            names = [headings.get(place, name) for place, name in zip(used, names, strict=True)]
        for row in sheet.body:
            row.cells = [row.cells[place] for place in used]
        places = tuple(new for new, place in enumerate(used) if roles[place] == DATA)
        return Table(sheet.head.line, names, by_role, sheet.body, places)

    def _check_amount(self, sentences: int) -> None:
        """Report too many sentences as one problem of the sheet instead of one per row."""
        if sentences > MAX_SENTENCES:
            message = f"{sentences:,} sentences; at most {MAX_SENTENCES:,} are allowed"
            self.report.problem("file", message, "Split it into several suites.")
            self.report.raise_problems()

    def _check_lengths(self, table: Table) -> None:
        for row in table.rows:
            for place, cell in enumerate(row.cells):
                if len(cell) > MAX_CELL_CHARACTERS:
                    message = f"{len(cell):,} characters; at most {MAX_CELL_CHARACTERS:,} are allowed"
                    self.report.problem(at(row, place, table.header), message)

    def _number_regions(self, table: Table) -> None:
        """Number the regions of a long sheet without numbers: by name, in an order that agrees with every sentence, or
        by the order of rows if there is none; see `region_order`."""
        column = table.roles.get("name")
        groups: dict[tuple[str, ...], list[tuple[Row, str]]] = {}
        for row in table.rows:
            key = tuple(row.cells[table.roles[role]].strip() for role in ("item", "condition"))
            groups.setdefault(key, []).append((row, "" if column is None else row.cells[column].strip()))
        name_lists = [[name for _, name in rows] for rows in groups.values()]
        order = region_order(name_lists)
        if len(order) > MAX_REGIONS:
            message = f"{len(order):,} different names of regions; at most {MAX_REGIONS} are allowed"
            self.report.problem("sheet", message, "Check which column has the names of the regions.")
            self.report.raise_problems()
        numbers = {name: k for k, name in enumerate(order, start=1)}
        if order and any(len(set(names)) < len(names) for names in name_lists):
            groups = self._join_words(table, groups)
        for rows in groups.values():
            for place, (row, name) in enumerate(rows, start=1):
                row.cells.append(str(numbers[name] if order else place))
        table.roles["region"] = len(table.header)
        table.header.append("region_number")
        order_of = "of their names" if order else "in which the rows of each sentence appear"
        self.reading.say(f"No region numbers: regions are in the order {order_of}.")
        if order:
            self._add_missing(table, groups, numbers)

    def _join_words(
        self, table: Table, groups: dict[tuple[str, ...], list[tuple[Row, str]]]
    ) -> dict[tuple[str, ...], list[tuple[Row, str]]]:
        """Join the rows of a sentence that follow each other under one region name. Returns the rows left."""
        content = table.roles["content"]
        joined: dict[tuple[str, ...], list[tuple[Row, str]]] = {}
        for key, rows in groups.items():
            regions = [(name, [row for row, _ in run]) for name, run in groupby(rows, key=itemgetter(1))]
            for _, words in regions:
                words[0].cells[content] = " ".join(row.cells[content].strip() for row in words)
            joined[key] = [(words[0], name) for name, words in regions]
        kept = {id(row) for rows in joined.values() for row, _ in rows}
        table.rows = [row for row in table.rows if id(row) in kept]
        self._check_lengths(table)
        self.report.raise_problems()
        self.reading.say(
            "Rows of a sentence that follow each other under one region name are joined: one row per word."
        )
        return joined

    def _add_missing(
        self, table: Table, groups: dict[tuple[str, ...], list[tuple[Row, str]]], numbers: Mapping[str, int]
    ) -> None:
        """Ask about sentences without a row for some region, and add empty regions or leave their items out.

        Args:
            numbers: the number of each region, in the order of the regions.
        """
        if self.reading.is_part:
            return
        missing: dict[tuple[str, ...], list[str]] = {}
        for key, rows in groups.items():
            present = {name for _, name in rows}
            if lacking := [name for name in numbers if name not in present]:
                missing[key] = lacking
        if not missing:
            return
        if (amount := len(groups) * len(numbers)) > MAX_CELLS:
            message = f"{amount:,} regions in all, with the missing ones; at most {MAX_CELLS:,} are allowed"
            self.report.problem("sheet", message, "Split it into several suites.")
            self.report.raise_problems()
        (item, condition), lacking = next(iter(missing.items()))
        message = f"{count(len(missing), 'sentence')} without a row for a region"
        example = f"item {item}, {condition}: {listing([f'“{name}”' for name in lacking], 3)}"
        answers = [("text", "Take these regions as empty in them"), ("out", "Leave their items out")]
        choice = Choice("empty", f"{message}, such as {example}", answers, "text")
        hint = "Take the regions as empty, or leave the items out."
        answer = self.reading.choose(choice, "sheet", f"{message}, such as {example}", hint)
        if answer == "out":
            left_out = {key[0] for key in missing}
            place = table.roles["item"]
            table.rows = [row for row in table.rows if row.cells[place].strip() not in left_out]
            self.reading.say(f"Items left out because a region is missing: {listing(sorted(left_out), 8)}.")
        elif answer == "text":
            for key, names in missing.items():
                for name in names:
                    row = Row(groups[key][0][0].line, list(groups[key][0][0].cells))
                    row.cells[table.roles["name"]], row.cells[table.roles["content"]] = name, ""
                    row.cells[table.roles["region"]] = str(numbers[name])
                    groups[key].append((row, name))
            place = table.roles["region"]
            sentences = [
                sorted((row for row, _ in rows), key=lambda row: int(row.cells[place]))
                for rows in groups.values()
            ]
            table.rows = list(chain.from_iterable(sentences))
            self.reading.say(f"{message}: taken as empty.")

    def _part(self, table: Table) -> Part:
        """Collect the texts of the table and check that each cell occurs once."""
        roles, long = table.roles, self.form == "long"
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
        suite_names = self.reading.known.region_names if self.reading.known else names
        doubled = [n for n in dict.fromkeys(names) if n and 1 <= suite_names.count(n) < names.count(n)]
        if doubled:
            message = (
                f"more than one region of the sheet is mapped to {listing([f'“{name}”' for name in doubled])}"
            )
            self.report.problem("sheet", message, "Choose one of them and leave the others out.")
        self.report.raise_problems()
        return Part(tuple(names), tuple((*place, text) for place, text in texts.items()))


def region_order(sentences: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of regions in an order that agrees with every sentence, otherwise by first occurrence. More
    than MAX_REGIONS names are not ordered, because no suite has so many.

    Args:
        sentences: the region of each row; rows of several words may repeat a name.

    Returns:
        []: names are missing, or repeated at a distance; rows of words disagree about the order; or each place has
        the same name in all sentences although a name is repeated, so that the rows are the regions.
    """
    runs = [[name for name, _ in groupby(names)] for names in sentences]
    if not all(all(names) and len(set(names)) == len(names) for names in runs):
        return []
    if runs != [list(names) for names in sentences] and len({tuple(names) for names in sentences}) == 1:
        return []
    in_order_of_rows = list(dict.fromkeys(chain.from_iterable(sentences)))
    if len(in_order_of_rows) > MAX_REGIONS:
        return in_order_of_rows
    order: list[str] = []
    for names in runs:
        place = 0
        for name in names:
            if name in order:
                place = order.index(name) + 1
            else:
                order.insert(place, name)
                place += 1
    rank = {name: k for k, name in enumerate(order)}
    if all(rank[one] < rank[other] for names in runs for one, other in pairwise(names)):
        return order
    are_words = runs != [list(names) for names in sentences]
    return [] if are_words else in_order_of_rows


def _is_unspaced(document: SuiteDocument) -> bool:
    """Return whether most borders of regions are inside text of a script without blanks."""
    borders = [
        is_unspaced(one[-1]) and is_unspaced(other[0])
        for sentence in document.sentences[:_SAMPLED]
        for one, other in pairwise(filter(None, sentence.contents))
    ]
    return 2 * sum(borders) > len(borders)


def _count_sentences(table: Table) -> int:
    if not table.is_long:
        return len(table.rows)
    keys = [table.roles[role] for role in ("item", "condition")]
    return len({tuple(row.cells[k] for k in keys) for row in table.rows})
