"""Decide the role of each column: as chosen by the user, or named by its heading; see also `proposals`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmgym.suites.columns import in_words, is_whole, metadata_heading
from lmgym.suites.formats.documents import MAX_REGIONS
from lmgym.suites.formats.tables import REGION_PREFIX, data_places
from lmgym.suites.headings import (
    condition_name,
    item_of_pairs,
    named_roles,
    normal,
    other_of_pair,
    pair_of,
    roles_of,
)
from lmgym.suites.intake import pairs
from lmgym.suites.intake.containers import Record
from lmgym.suites.intake.factors import TELLS_APART, telling_columns
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.parsing import (
    ANSWER,
    CONDITION_TEXT,
    CONTEXT_TEXT,
    CRITICAL,
    DATA,
    FROM_0,
    OPENING,
    ROLES,
    SINGLE,
    SKIP,
    TARGET_TEXT,
    TEXT,
    Choice,
    Column,
    column_letter,
)
from lmgym.suites.intake.proposals import (
    LONGEST_PHRASE,
    OPENS,
    doubted_columns,
    filled,
    late_openings,
    propose,
    propose_critical,
)
from lmgym.suites.intake.reading import Reading, at, hyphenated
from lmgym.text import count, listing

HEADER_HINT = (
    "The first row names the columns: item, condition, then one column per region; or, with one row per region, "
    "item_number, condition_name, region_number, region_name, content; or, with one row per item, one column per "
    "condition."
)
GROUPS = Choice(
    "layout",
    "If no column has the item",
    [("groups", "An item’s rows are adjacent; a new item begins when a condition is repeated")],
    "groups",
)
ONE_CONDITION = Choice(
    "layout",
    "If no column has the condition",
    [(SINGLE, "There is one condition: every row is an item with one sentence, and nothing is compared")],
    SINGLE,
)
EXTRA = "extra"
"""Role of the unknown columns of a long sheet, which are kept with the regions. Users cannot choose it."""
SENTENCES = "may be a sentence of another condition"
_PART_OF_PAIR = re.compile(r".*(prefix|suffix|stem|template|critical|word|target|cue|head|span).*")
"""Headings of columns that hold a part of both sentences of a pair."""
_LONG = frozenset({"region", "name", "content"})


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
    _check_single_columns(chosen, reading)
    if used & {CONTEXT_TEXT, TARGET_TEXT}:
        _check_crossed(chosen, reading)
        return
    if CONDITION_TEXT in used:
        _check_condition_texts(chosen, reading)
        return
    if any(role.startswith(ANSWER) for role in used):
        message = f"a column has the role “{ROLES[ANSWER]}”, but none “{ROLES[CONDITION_TEXT]}”"
        reading.ask("columns", "sheet", message, "Choose the columns of the texts to choose from.")
    if reading.options.layout in dict(pairs.LAYOUT.answers):
        if chosen.count(TEXT) != 1 or used - {TEXT, SKIP}:
            message = "of a list of sentences, a single column of text is read"
            hint = f"Choose “{ROLES[TEXT]}” for the column of sentences, and “{ROLES[SKIP]}” for the others."
            reading.ask("columns", "sheet", message, hint)
        return
    for role in ("item", "condition"):
        if "item_condition" in used:
            break
        if role in used or (role == "item" and "condition" not in used and reading.options.layout == SINGLE):
            continue
        if role == "condition" and _is_single(reading):
            continue
        if not (role == "item" and "condition" in used and _are_groups(reading)):
            reading.ask("columns", "sheet", f"no {hyphenated(role)} column found", "Choose the column.")
    if "content" not in used and not used & {TEXT, OPENING}:
        reading.ask("columns", "sheet", "no column contains text", "Choose the columns of regions.")
    if used & {"region", "name"} and "content" not in used:
        message = f"a column has region numbers or names, but none has the role “{ROLES['content']}”"
        reading.ask("columns", "sheet", message, "Choose the column with the texts of the regions.")
    others = [role for role in (TEXT, OPENING, CRITICAL, CRITICAL + FROM_0) if role in used]
    if "content" in used and others:
        message = f"one column has the role “{ROLES['content']}”, and another “{ROLES[others[0]]}”"
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


def _is_single(reading: Reading) -> bool:
    """Return whether the user says that there is one condition only; offer it otherwise."""
    reading.result.choices.append(ONE_CONDITION)
    if reading.options.layout == SINGLE:
        return True
    if "layout" not in reading.result.asks:
        reading.result.asks += ("layout",)
    return False


def _check_single_columns(chosen: Sequence[str], reading: Reading) -> None:
    """Ask again if more than one column has the answer or the critical word."""
    for name in (ANSWER, CRITICAL):
        places = [k for k, role in enumerate(chosen) if role.removesuffix(FROM_0) == name]
        if len(places) > 1:
            message = f"more than one column has the role “{ROLES[name]}”"
            reading.ask("columns", f"column {column_letter(places[1])}", message, "Choose one of them.")


def _check_crossed(chosen: Sequence[str], reading: Reading) -> None:
    for role in (CONTEXT_TEXT, TARGET_TEXT):
        if chosen.count(role) < 2:
            message = f"{count(chosen.count(role), 'column')} with the role “{ROLES[role]}”"
            hint = (
                "Choose it for two or more columns each; if there is a single context or target, it is a region, and "
                f"the other columns are “{ROLES[CONDITION_TEXT]}”."
            )
            reading.ask("columns", "sheet", message, hint)
    allowed = {CONTEXT_TEXT, TARGET_TEXT, TEXT, OPENING, "item", DATA, SKIP}
    if others := [ROLES[role] for role in ROLES if role in chosen and role not in allowed]:
        message = f"a column has the role “{ROLES[CONTEXT_TEXT]}”, and another “{others[0]}”"
        hint = (
            "With contexts and targets, other columns are the item number, a region, item data or not read."
        )
        reading.ask("columns", "sheet", message, hint)


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
    answers = [*ONE_CONDITION.answers] if n_rows % 2 else [*pairs.LAYOUT.answers, *ONE_CONDITION.answers]
    hint = "Choose whether every two rows are a pair, and which sentence comes first, or whether nothing is compared."
    if n_rows % 2:
        message += ", an odd number, so it cannot consist of pairs"
        hint = f"{HEADER_HINT} Or choose that nothing is compared."
    if not reading.choose(replace(pairs.LAYOUT, answers=answers), "sheet", message, hint):
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
    if missing and not proposed & {"condition", "item_condition", CONDITION_TEXT, CONTEXT_TEXT}:
        reading.result.choices.append(ONE_CONDITION)
        reading.result.asks += ("layout",)
    if "item" in missing and "condition" in proposed and "item" not in proposed:
        reading.result.choices.append(GROUPS)
        reading.result.asks += ("layout",)
    if missing:
        reading.report.raise_problems()
    _check_regions(sheet, roles, bool(long), reading)
    if not long:
        _ask_about_doubted(sheet, roles, reading)
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
    keys = list(zip(filled(item), condition, strict=True))
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
            if cell and cell in seen and not cell.startswith(REGION_PREFIX):
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


def _ask_about_doubted(sheet: Headed, roles: dict[str, int], reading: Reading) -> None:
    """Ask for the roles of columns if one may not be a region; item data is proposed for doubtful ones."""
    cells = sheet.columns()[: len(sheet.names)]
    if sheet.body:
        _ask_about_long(sheet, roles, cells, reading)
    doubted = doubted_columns(sheet.names, roles, cells, reading)
    factors = _further_factors(cells, roles)
    doubted |= dict.fromkeys(factors, TELLS_APART)
    beside = _beside(sheet.names, cells) if sheet.body else {}
    doubted |= beside
    text = [k for k in range(len(sheet.names)) if k not in roles.values() and k not in doubted]
    openings = late_openings(sheet.names, text, reading)
    doubted |= dict.fromkeys(openings, OPENS)
    if not doubted:
        return
    reading.result.kind = "wide"
    proposed = dict.fromkeys(doubted, DATA) | dict.fromkeys(openings, OPENING)
    proposed |= dict.fromkeys(factors, "condition") | dict.fromkeys(beside, SKIP)
    reading.result.columns = [
        replace(column, meaning=ROLES[proposed[place]], role=proposed[place], doubt=doubted[place])
        if place in doubted
        else column
        for place, column in enumerate(reading.result.columns)
    ]
    propose_critical(sheet, cells, reading.result.columns)
    _ask_about(sheet, reading)


def _beside(names: Sequence[str], cells: Sequence[Sequence[str]]) -> dict[int, str]:
    """Map the columns from the first empty one on to the reason why they may not be regions, such as a legend."""
    empty = [k for k, name in enumerate(names) if not name.strip() and not any(map(str.strip, cells[k]))]
    if not empty:
        return {}
    return {k: "empty" if k in empty else "beside an empty column" for k in range(empty[0], len(names))}


def _ask_about_long(
    sheet: Headed, roles: Mapping[str, int], cells: list[list[str]], reading: Reading
) -> None:
    """Ask whether a sheet has one row per region, if a column counts the rows of each item and condition from 1 and
    texts are short."""
    keys = list(zip(filled(cells[roles["item"]]), filled(cells[roles["condition"]]), strict=True))
    expected: list[str] = []
    rows_of: Counter[tuple[str, str]] = Counter()
    for key in keys:
        rows_of[key] += 1
        expected.append(str(rows_of[key]))
    free = [k for k in range(len(cells)) if k not in roles.values()]
    number = next((k for k in free if cells[k] == expected), None)
    texts = [k for k in free if k != number and not pairs.is_measure(cells[k])]
    if number is None or not texts or 2 * len(rows_of) > len(keys):
        return
    content = max(texts, key=lambda k: len(set(cells[k])))
    lengths = sorted(len(cell.split()) for cell in cells[content])
    if lengths[len(lengths) // 2] > LONGEST_PHRASE:
        return
    reading.result.kind = "long"
    proposed = {roles["item"]: "item", roles["condition"]: "condition", number: "region", content: "content"}
    doubts = {number: "counts the rows of each sentence", content: "text of a region in each row"}
    reading.result.columns = [
        replace(column, meaning=ROLES[role], role=role, doubt=doubts.get(k, ""))
        for k, column in enumerate(reading.result.columns)
        for role in [proposed.get(k, DATA)]
    ]
    message = f"column {column_letter(number)} (“{sheet.names[number]}”) counts the rows of each sentence"
    hint = "Choose whether it has the numbers of regions, and which column has their texts."
    reading.ask("columns", f"row {sheet.head.line}", message, hint)
    reading.report.raise_problems()


def _further_factors(cells: Sequence[Sequence[str]], roles: Mapping[str, int]) -> list[int]:
    """Return columns that tell apart sentences with the same item and condition."""
    items, conditions = filled(cells[roles["item"]]), cells[roles["condition"]]
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


def _heading(sheet: Headed, place: int) -> str:
    return sheet.names[place] if place < len(sheet.names) else ""
