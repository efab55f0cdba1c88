"""Decide the role of each column: as chosen by the user, named by its heading, or proposed from its cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmgym.suites.formats.documents import MAX_REGIONS
from lmgym.suites.formats.tables import data_places
from lmgym.suites.intake import pairs
from lmgym.suites.intake.columns import doubts, in_words, is_whole, metadata_heading
from lmgym.suites.intake.containers import Record
from lmgym.suites.intake.factors import TELLS_APART, crosses, item_and_condition, telling_columns
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.headings import (
    condition_name,
    item_of_pairs,
    named_roles,
    normal,
    other_of_pair,
    pair_of,
    roles_of,
)
from lmgym.suites.intake.parsing import ROLES, Choice, Column, column_letter
from lmgym.suites.intake.reading import Reading, at, hyphenated
from lmgym.text import count, listing

HEADER_HINT = (
    "The first row names the columns: item, condition, then one column per region; or, with one row per region, "
    "item_number, condition_name, region_number, region_name, content; or, with one row per item, one column per "
    "condition."
)
NUMBER = re.compile(r"[0-9]{1,9}(\.0+)?\Z")
GROUPS = Choice(
    "layout",
    "If no column has the item",
    [("groups", "An item’s rows are adjacent; a new item begins when a condition is repeated")],
    "groups",
)
SKIP, DATA, TEXT, CONDITION_TEXT = "skip", "data", "text", "condition_text"
EXTRA = "extra"
"""Role of the unknown columns of a long sheet, which are kept with the regions. Users cannot choose it."""
SENTENCES = "may be a sentence of another condition"
_PART_OF_PAIR = re.compile(r".*(prefix|suffix|stem|template|critical|word|target|cue|head|span).*")
"""Headings of columns that hold a part of both sentences of a pair."""
_LONG = frozenset({"region", "name", "content"})
_SAMPLED = 200
"""Number of rows used to guess roles of columns."""
_LONGEST_NAME = 40
_MOST_LABELS = 8


def roles_for(sheet: Headed, fixed: Sequence[str], reading: Reading) -> list[str]:
    """Return the role of each column. Raises FormatError if the user has to choose.

    Args:
        fixed: roles that the container determines, one per column; empty if it determines none.
    """
    if reading.options.columns:
        return _chosen(sheet, reading)
    if fixed:
        reading.result.columns = [
            Column(column_letter(k), _heading(sheet, k), ROLES[role], role) for k, role in enumerate(fixed)
        ]
        return list(fixed)
    return _detected(sheet, reading)


# --- chosen by the user ---


def _chosen(sheet: Headed, reading: Reading) -> list[str]:
    width = max(sheet.width, len(sheet.head.cells))
    sheet.names = sheet.names + [""] * (width - len(sheet.names))
    options = reading.options
    chosen = [options.columns.get(column_letter(place), SKIP) for place in range(width)]
    chosen = [role if role in ROLES else SKIP for role in chosen]
    reading.result.columns = [
        Column(column_letter(place), sheet.names[place], ROLES[role], role)
        for place, role in enumerate(chosen)
    ]
    _check_combination(chosen, reading)
    return chosen


def _check_combination(chosen: list[str], reading: Reading) -> None:
    """Ask again about roles that do not make a suite."""
    used = set(chosen)
    for role in sorted(_LONG):
        places = [place for place, one in enumerate(chosen) if one == role]
        if len(places) > 1:
            message = f"more than one column has the role “{ROLES[role]}”"
            reading.ask("columns", f"column {column_letter(places[1])}", message, "Choose one of them.")
    if CONDITION_TEXT in used:
        _check_condition_texts(chosen, reading)
        return
    if reading.options.layout in dict(pairs.LAYOUT.answers):
        if chosen.count(TEXT) != 1 or used & {"item", "condition", *_LONG}:
            message = "a list of sentences has a single column of text, without items and conditions"
            reading.ask(
                "columns", "sheet", message, f"Choose “{ROLES[TEXT]}” for the column of sentences only."
            )
        return
    for role in ("item", "condition"):
        if "item_condition" in used:
            break
        if role not in used and not (role == "item" and "condition" in used and _are_groups(reading)):
            reading.ask("columns", "sheet", f"no {hyphenated(role)} column found", "Choose the column.")
    if "content" not in used and TEXT not in used:
        reading.ask("columns", "sheet", "no column contains text", "Choose the columns of regions.")
    if used & {"region", "name"} and "content" not in used:
        message = f"a column has region numbers or names, but none has the role “{ROLES['content']}”"
        reading.ask("columns", "sheet", message, "Choose the column with the texts of the regions.")
    if "content" in used and TEXT in used:
        message = f"one column has the role “{ROLES['content']}”, and another is a region"
        hint = "A sheet has one row per region or one column per region, not both."
        reading.ask("columns", "sheet", message, hint)


def _are_groups(reading: Reading) -> bool:
    """Return whether the user lets each repeated condition begin a new item; otherwise ask."""
    message = "no item-number column found"
    hint = "Choose the column, or how rows form items."
    reading.result.choices.append(GROUPS)
    if reading.options.layout == GROUPS.answers[0][0]:
        return True
    reading.ask("layout", "sheet", message, hint)
    return False


def _check_condition_texts(chosen: list[str], reading: Reading) -> None:
    others = [ROLES[role] for role in ("condition", "item_condition", *sorted(_LONG)) if role in chosen]
    if others:
        message = f"a column has the role “{ROLES[CONDITION_TEXT]}”, and another “{others[0]}”"
        hint = (
            "With one column per condition, other columns are the item number, text that all conditions share (a "
            "region), item data or not read."
        )
        reading.ask("columns", "sheet", message, hint)
    if chosen.count(CONDITION_TEXT) == 1:
        message = f"only one column has the role “{ROLES[CONDITION_TEXT]}”"
        reading.ask("columns", "sheet", message, "Choose it for the column of each condition.")


# --- named by the headings ---


def _detected(sheet: Headed, reading: Reading) -> list[str]:
    """Detect roles from the headings; columns without another role are regions."""
    columns = sheet.columns()
    detected = roles_of(sheet.names, columns)
    pair = pair_of(sheet.names)
    if pair and not any(pairs.is_measure(columns[place]) for place in pair):
        return _pair(sheet, pair, columns, reading)
    is_named = {"item", "condition"} <= set(detected)
    if not is_named and (half := other_of_pair(sheet.names)):
        message = f"the column “{half[0]}” has one sentence of a pair; the other one, such as “{half[1]}”, is missing"
        reading.report.problem(f"row {sheet.head.line}", message, "Add the column with the other sentences.")
        reading.report.raise_problems()
    if not is_named and (place := pairs.list_column(sheet)) is not None:
        return _list(sheet, place, reading)
    return _named(sheet, detected, reading)


def _pair(sheet: Headed, pair: tuple[int, int], columns: list[list[str]], reading: Reading) -> list[str]:
    """Take a pair from its headings; ask only if another column may be text as well."""
    reading.result.kind = "pairs"
    has_keys = bool(sheet.body) and isinstance(sheet.body[0], Record)
    rest = [k for k in range(len(columns)) if k not in pair and (has_keys or any(columns[k]))]
    doubted = {k: SENTENCES for k in rest if _may_be_sentences(sheet.names, columns, k, pair[0])}
    named = named_roles(sheet.names)
    is_bare = condition_name(sheet.names[pair[0]], "") == sheet.names[pair[0]]
    if "condition" in named and is_bare:  # regions may be called good and bad as well
        doubted[named.index("condition")] = "a condition although the row has a pair of sentences"
    item = item_of_pairs(sheet.names, columns)
    roles = [
        CONDITION_TEXT if k in pair else "item" if k == item else DATA if k in rest else SKIP
        for k in range(len(columns))
    ]
    conditions = pairs.conditions_of(sheet.names, pair).names
    reading.result.columns = [
        Column(
            column_letter(k),
            _heading(sheet, k),
            f"text in condition “{conditions[k]}”" if k in conditions else ROLES[role],
            role,
            doubted.get(k, ""),
        )
        for k, role in enumerate(roles)
    ]
    if doubted:
        _ask_about(sheet, reading)
    return roles


def _may_be_sentences(names: Sequence[str], columns: list[list[str]], place: int, good: int) -> bool:
    """Return whether a column next to a pair may be the text of another condition."""
    heading = names[place] if place < len(names) else ""
    if metadata_heading(heading) or _PART_OF_PAIR.fullmatch(normal(heading)):
        return False
    return is_whole(columns[place]) or pairs.alike(columns[good], columns[place])


def _list(sheet: Headed, place: int, reading: Reading) -> list[str]:
    """Ask whether a list of sentences consists of pairs, or use the answer."""
    result = reading.result
    heading = _heading(sheet, place)
    if not reading.options.header and pairs.is_sentence(heading):
        sheet.body.insert(0, sheet.head)
        sheet.names, result.has_header, result.header_row = [], False, 0
        reading.say("No row names the columns: every row is a sentence.")
    roles = [TEXT if k == place else SKIP for k in range(sheet.width)]
    result.columns = [
        Column(column_letter(k), _heading(sheet, k), ROLES[role], role) for k, role in enumerate(roles)
    ]
    n_rows = sum(place < len(row.cells) and bool(row.cells[place].strip()) for row in sheet.body)
    message = f"a list of {n_rows} sentences without items and conditions"
    if n_rows % 2:
        message += ", an odd number, so it cannot consist of pairs"
        reading.report.problem("sheet", message, HEADER_HINT)
    elif not reading.choose(
        pairs.LAYOUT, "sheet", message, "If every two rows are a pair, choose which sentence comes first."
    ):
        reading.result.asks += ("columns",)
    reading.report.raise_problems()
    return roles


def _named(sheet: Headed, detected: list[str], reading: Reading) -> list[str]:
    """Take wide and long sheets from their headings; propose roles if item or condition have no column."""
    head, header = sheet.head, sheet.names
    detected = detected + [""] * (len(header) - len(detected))
    long = "content" in detected and ({"region", "name"} & set(detected) or len(header) == 3)
    if long and not {"region", "name"} & set(detected) and _has_row_per_sentence(sheet, detected):
        long = False
    possible = {"item", "condition", *_LONG} if long else {"item", "condition"}
    roles: dict[str, int] = {}
    for place, role in enumerate(detected):
        if role not in possible or place >= len(header):
            continue
        if role in roles:
            first = roles[role]
            message = (
                f"column {column_letter(first)} (“{header[first]}”) already has the role “{ROLES[role]}”"
            )
            reading.report.problem(at(head, place, header), message, "Rename or remove one of them.")
        roles.setdefault(role, place)
    missing = [role for role in ("item", "condition") if role not in roles]
    if missing:
        propose(sheet, detected, reading)
    for role in missing:
        headings = listing([f"“{cell[:40]}”" for cell in header], 8) or "nothing"
        message = f"no {hyphenated(role)} column found; the header has {headings}"
        reading.ask("columns", f"row {head.line}", message, HEADER_HINT)
    proposed = {column.role for column in reading.result.columns}
    if "item" in missing and "condition" in proposed and "item" not in proposed:
        reading.result.choices.append(GROUPS)
        reading.result.asks += ("layout",)
    if missing:
        reading.report.raise_problems()
    _check_regions(sheet, roles, bool(long), reading)
    if not long:
        _ask_about_doubts(sheet, roles, reading)
    by_place = {place: role for role, place in roles.items()}
    data = data_places(header)
    return [
        by_place.get(place, DATA if place in data else EXTRA if long else TEXT)
        for place in range(len(header))
    ]


def _has_row_per_sentence(sheet: Headed, detected: Sequence[str]) -> bool:
    """Return whether no two rows have the same item and condition, so that a column of text has whole sentences."""
    if not {"item", "condition"} <= set(detected):
        return False
    columns = sheet.columns()
    item, condition = columns[detected.index("item")], columns[detected.index("condition")]
    keys = list(zip(_filled(item), condition, strict=True))
    return len(set(keys)) == len(keys)


def _check_regions(sheet: Headed, roles: Mapping[str, int], long: bool, reading: Reading) -> None:
    head, header = sheet.head, sheet.names
    by_place = {place: role for role, place in roles.items()} | dict.fromkeys(data_places(header), DATA)
    seen: dict[str, int] = {}
    number = 0
    for place, cell in enumerate(header):
        role = by_place.get(place, SKIP if long else TEXT)
        meaning = ROLES[by_place[place]] if place in by_place else ""
        if place not in by_place and not long:
            number += 1
            meaning = f"region {number}"
            if cell and cell in seen:
                message = f"“{cell}” is already the name of column {column_letter(seen[cell])}"
                reading.report.problem(at(head, place, header), message, "Give every region its own name.")
            seen.setdefault(cell, place)
        reading.result.columns.append(
            Column(column_letter(place), cell, meaning or "kept as extra data", role)
        )
    if number > MAX_REGIONS:
        reading.report.problem(f"row {head.line}", f"{number} regions; at most {MAX_REGIONS} are allowed")
    if not long and not number:
        reading.report.problem(f"row {head.line}", "the header has no region columns", HEADER_HINT)


def _ask_about_doubts(sheet: Headed, roles: dict[str, int], reading: Reading) -> None:
    """Ask for the roles of columns if one may not be a region; item data is proposed for doubtful ones."""
    cells = sheet.columns()[: len(sheet.names)]
    doubted = _doubts(sheet.names, roles, cells, reading)
    factors = _further_factors(cells, roles)
    doubted |= dict.fromkeys(factors, TELLS_APART)
    if not doubted:
        return
    reading.result.kind = "wide"
    proposed = {place: "condition" if place in factors else DATA for place in doubted}
    reading.result.columns = [
        replace(column, meaning=ROLES[proposed[place]], role=proposed[place], doubt=doubted[place])
        if place in doubted
        else column
        for place, column in enumerate(reading.result.columns)
    ]
    _ask_about(sheet, reading)


def _further_factors(cells: Sequence[Sequence[str]], roles: Mapping[str, int]) -> list[int]:
    """Return columns that tell apart sentences with the same item and condition."""
    items, conditions = _filled(cells[roles["item"]]), cells[roles["condition"]]
    keys = list(zip(items, conditions, strict=True))
    if len(set(keys)) == len(keys):
        return []
    places = [k for k in range(len(cells)) if k not in (roles["item"], roles["condition"])]
    return telling_columns(cells, items, places, [roles["condition"]])


def _ask_about(sheet: Headed, reading: Reading) -> None:
    doubtful = [
        (column.letter, column.header, column.doubt) for column in reading.result.columns if column.doubt
    ]
    what = "a condition" if reading.result.kind == "pairs" else "a region"
    verb = "may be" if what == "a condition" else "may not be"
    message = f"{count(len(doubtful), 'column')} {verb} {what}: {in_words(doubtful)}"
    hint = f"Choose for each column whether it is {what}, item data (kept but not scored), or not read."
    reading.ask("columns", f"row {sheet.head.line}", message, hint)
    reading.report.raise_problems()


def _doubts(
    header: Sequence[str],
    roles: Mapping[str, int],
    cells: Sequence[Sequence[str]],
    reading: Reading,
    others: Sequence[int] = (),
) -> dict[int, str]:
    """Map columns that may not be regions to the reason. `others`: further columns to leave out."""
    fixed = [*(roles[role] for role in ("item", "condition") if role in roles), *others, *data_places(header)]
    places = [k for k in range(len(header)) if k not in fixed]
    empty = [""] * (len(cells[0]) if cells else 0)
    item, condition = (_filled(cells[roles[r]]) if r in roles else empty for r in ("item", "condition"))
    sure = {*(reading.known.region_names if reading.known else ()), *reading.options.regions}
    reasons = doubts([header[k] for k in places], [cells[k] for k in places], item, condition, sure)
    return {places[k]: reason for k, reason in reasons.items()}


# --- proposed from the cells ---


def propose(sheet: Headed, detected: list[str], reading: Reading) -> None:
    """Propose roles of columns from their cells, for the user to confirm."""
    result = reading.result
    sample = [sheet.head, *sheet.body][:_SAMPLED] if result.has_header else sheet.body[:_SAMPLED]
    width = max(len(row.cells) for row in sample)
    detected = (detected + [""] * width)[:width]
    cells = [[row.cells[k].strip() if k < len(row.cells) else "" for row in sample] for k in range(width)]
    if not reading.options.header and result.header_row:
        result.has_header = not any(map(_begins_with_data, cells))
    similar = _similar([], [column[1:] for column in cells], detected)
    if result.has_header and similar and not reading.options.header and result.header_row:
        result.has_header = not pairs.are_similar([cells[k][0] for k in similar])
    has_names = result.has_header
    below = [column[1:] if has_names else column for column in cells]
    header = (sheet.names + [""] * width)[:width] if has_names else [""] * width
    similar = _similar(header, below, detected)
    _propose_item(detected, below, bool(similar))
    if "condition" not in detected and not similar and not _propose_labels(detected, below):
        _propose_conditions(detected, below)
    long = "content" in detected and bool({"region", "name"} & set(detected))
    doubted: dict[int, str] = {}
    if not long and not similar:
        places = {role: k for k, role in enumerate(detected) if role}
        fixed = [k for k, role in enumerate(detected) if role in ("condition", "item_condition")]
        doubted = _doubts(header, places, below, reading, fixed)
    for place, role in enumerate(detected):
        proposed = _proposal(place, role, similar, long, bool(any(cells[place])), doubted)
        column = Column(
            column_letter(place), header[place], ROLES[proposed], proposed, doubted.get(place, "")
        )
        result.columns.append(column)
    if similar:
        conditions = pairs.conditions_of(header, similar).names
        result.choices.append(pairs.prediction_choice(list(conditions.values())))
        if reading.known is None and not reading.is_part:
            result.asks += ("prediction",)


def _begins_with_data(cells: Sequence[str]) -> bool:
    """Return whether the first cell of a column is no heading: a number, a sentence, or one of a few
    labels that recur below."""
    first, rest = cells[0], cells[1:]
    is_label = first in rest and len(set(rest)) <= _MOST_LABELS
    return bool(NUMBER.match(first)) or pairs.is_sentence(first) or (bool(first) and is_label)


def _propose_item(detected: list[str], below: list[list[str]], has_row_per_item: bool) -> None:
    if "item" in detected:
        return
    numbers = [
        k
        for k, cells in enumerate(below)
        if not detected[k] and _all_numbers(cells) and not _is_binary(cells)
    ]
    repeating = [k for k in numbers if len(set(below[k])) < len(below[k])]
    if numbers:
        detected[numbers[0] if has_row_per_item or not repeating else repeating[0]] = "item"


def _propose_labels(detected: list[str], below: list[list[str]]) -> bool:
    """Propose the column that has item and condition in one label, such as 12b, if there is one."""
    for k, cells in enumerate(below):
        labels = [item_and_condition(cell) for cell in cells]
        if detected[k] in ("", "item") and cells and all(labels):
            items, conditions = zip(*(label for label in labels if label), strict=True)
            if crosses([conditions], items):
                detected[:] = ["" if role == "item" else role for role in detected]
                detected[k] = "item_condition"
                return True
    return False


def _is_binary(cells: Sequence[str]) -> bool:
    """Return whether numbers are the labels 0 and 1 of several rows."""
    return set(cells) <= {"0", "1"} and len(cells) > 2


def _propose_conditions(detected: list[str], below: list[list[str]]) -> None:
    """Propose the columns that tell the sentences of an item apart, otherwise the column of short
    texts with the fewest different ones (more than one, if possible)."""
    free = [k for k, role in enumerate(detected) if not role]
    if "item" in detected:
        items = _filled(below[detected.index("item")])
        for k in telling_columns(below, items, free):
            detected[k] = "condition"
    if "condition" in detected:
        return
    names = [k for k in free if _are_names(below[k])]
    if names:
        kinds = {k: len(set(below[k])) for k in names}
        detected[min(names, key=lambda k: (kinds[k] == 1, kinds[k]))] = "condition"


def _proposal(
    place: int, role: str, similar: Sequence[int], long: bool, is_filled: bool, doubted: Mapping[int, str]
) -> str:
    if place in similar:
        return CONDITION_TEXT
    if role in ("item", "item_condition") or (role and not similar and (long or role == "condition")):
        return role
    if not is_filled or long:
        return SKIP
    return DATA if similar or place in doubted else TEXT


def _similar(header: Sequence[str], below: list[list[str]], detected: list[str]) -> list[int]:
    """Return columns with similar sentences: the conditions of items that have one row each."""
    if "condition" in detected:
        return []
    places = [
        k
        for k, cells in enumerate(below)
        if detected[k] != "item" and pairs.is_text(cells) and not (header and metadata_heading(header[k]))
    ]
    return similar if len(similar := pairs.similar_columns(below, places)) > 1 else []


def _all_numbers(cells: list[str]) -> bool:
    """Return whether cells are numbers. Empty cells are ignored: they may belong to a merged cell."""
    return bool(cells and cells[0]) and all(not cell or NUMBER.match(cell) for cell in cells)


def _are_names(cells: list[str]) -> bool:
    return bool(cells) and all(cells) and max(map(len, cells)) <= _LONGEST_NAME


def _filled(cells: Sequence[str]) -> list[str]:
    """Fill empty cells with the one above, as in merged cells."""
    filled: list[str] = []
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def _heading(sheet: Headed, place: int) -> str:
    return sheet.names[place] if place < len(sheet.names) else ""
