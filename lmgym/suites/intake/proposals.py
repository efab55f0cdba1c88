"""Propose the roles of columns from their cells and headings, for the user to confirm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmgym.suites.columns import doubts, metadata_heading
from lmgym.suites.formats.tables import REGION_PREFIX, data_places, region_name
from lmgym.suites.headings import condition_name, is_opening, normal
from lmgym.suites.intake import pairs
from lmgym.suites.intake.completions import has_blanks
from lmgym.suites.intake.factors import crosses, item_and_condition, telling_columns
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.items import NUMBER
from lmgym.suites.intake.parsing import (
    ANSWER,
    CONDITION_TEXT,
    CONTEXT_TEXT,
    CRITICAL,
    DATA,
    FROM_0,
    OPENING,
    ROLES,
    SKIP,
    TARGET_TEXT,
    TEXT,
    Column,
    column_letter,
)
from lmgym.suites.intake.reading import Reading

OPENS = "its heading suggests the beginning of the sentence"
_SAMPLED = 192
"""Number of rows used to guess roles of columns: divisible by most numbers of conditions, so no item is cut off."""
_LONGEST_NAME = 40
_MOST_LABELS = 8
LONGEST_PHRASE = 3
"""Maximum number of words of a region, typically."""


def propose(sheet: Headed, detected: list[str], reading: Reading) -> None:
    """Propose roles of columns from their cells, for the user to confirm."""
    result = reading.result
    sample = [sheet.head, *sheet.body][: _SAMPLED + 1] if result.has_header else sheet.body[:_SAMPLED]
    width = max(len(row.cells) for row in sample)
    if width > 2:  # a single cell below the header is a remark
        sample = [row for row in sample if row is sheet.head or sum(map(bool, map(str.strip, row.cells))) > 1]
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
    combined = _crossed_columns(header)
    similar = (
        [] if combined or _have_a_row_per_condition(below, detected) else _similar(header, below, detected)
    )
    _propose_item(list(map(normal, header)), detected, below, bool(similar or combined))
    endings: list[int] = []
    if "condition" not in detected and not similar and not combined and not _propose_labels(detected, below):
        has_row_per_item = "item" in detected and pairs.is_unique(filled(below[detected.index("item")]))
        endings = (
            [] if "item" in detected and not has_row_per_item else _continuations(header, below, detected)
        )
        if not endings and not has_row_per_item:
            _propose_conditions(detected, below)
    similar = similar or endings
    long = "content" in detected and bool({"region", "name"} & set(detected))
    doubted: dict[int, str] = {}
    if not long and not similar and not combined:
        places = {role: k for k, role in enumerate(detected) if role}
        fixed = [k for k, role in enumerate(detected) if role in ("condition", "item_condition")]
        doubted = doubted_columns(header, places, below, reading, fixed)
    for place, role in enumerate(detected):
        proposed = combined.get(place) or _proposal(
            place, role, [*similar, *combined], long, bool(any(cells[place])), doubted
        )
        if similar and proposed == DATA and has_blanks(below[place]):
            proposed = TEXT
        if endings and proposed == DATA and _is_shared(header[place], below[place]):
            proposed = OPENING if place > endings[0] and is_opening(header[place]) else TEXT
        column = Column(
            column_letter(place), header[place], ROLES[proposed], proposed, doubted.get(place, "")
        )
        result.columns.append(column)
    _propose_answer(header, below, similar, result.columns)
    text = [k for k, column in enumerate(result.columns) if column.role == TEXT]
    for k in [] if long or similar or combined else late_openings(header, text, reading):
        result.columns[k] = replace(result.columns[k], role=OPENING, meaning=ROLES[OPENING], doubt=OPENS)
    propose_critical(sheet, below, result.columns)
    if combined:
        contexts, targets = (
            [condition_name(header[k], column_letter(k)) for k, role in combined.items() if role == one]
            for one in (CONTEXT_TEXT, TARGET_TEXT)
        )
        result.choices.append(pairs.matched_choice(contexts, targets))
        if reading.known is None and not reading.is_part:
            result.asks += ("prediction",)
    elif similar and not any(column.role.startswith("answer") for column in result.columns):
        conditions = pairs.conditions_of(header, similar).names
        good = next((name for k, name in conditions.items() if _GOOD.match(normal(header[k]))), "")
        result.choices.append(pairs.prediction_choice(list(conditions.values()), good))
        if reading.known is None and not reading.is_part:
            result.asks += ("prediction",)


_CROSSED = re.compile(
    r"(?P<context>context|premise|prefix)_?(?P<level>\w{1,20})|"
    r"(?P<target>target|continuation|completion|ending|predicate)_?(?P<other>\w{1,20})"
)
"""Headings of contexts and targets, each with a number or the name of a level."""
_GOOD = re.compile(r"(good|expected|correct|right|plausible|congruent|acceptable|grammatical)(_.*)?$")
_CRITICAL = re.compile(
    r"(critical|target|cw|roi)_?(word)?_?(position|index|idx|number|no|nr|pos|loc|location)?|"
    r"(position|index)_of_(the_)?(critical|target)(_word)?"
)
"""Headings of the critical word or its number."""
_ANSWER = re.compile(r"answer|label|gold(_label)?|correct(_(answer|option|choice))?|right(_(answer|option))?")
"""Headings of the right one of several texts."""
DOUBTED_CRITICAL = "may be the critical word of the sentence"
_LONGEST_ENDING = 3
"""Maximum number of words of the texts that complete a sentence, such as the expected word."""


def _crossed_columns(header: Sequence[str]) -> dict[int, str]:
    """Return the roles of columns that are called contexts and targets, if there are two or more of both."""
    roles = {
        k: CONTEXT_TEXT if match["context"] else TARGET_TEXT
        for k, name in enumerate(header)
        if (match := _CROSSED.fullmatch(normal(name)))
    }
    levels = {
        k: match["level"] or match["other"] for k in roles if (match := _CROSSED.fullmatch(normal(header[k])))
    }
    contexts, targets = ({levels[k] for k in roles if roles[k] == one} for one in (CONTEXT_TEXT, TARGET_TEXT))
    return roles if len(contexts) > 1 and contexts == targets else {}


def _continuations(header: Sequence[str], below: list[list[str]], detected: Sequence[str]) -> list[int]:
    """Return the columns of words that complete the text of another column: expected, unexpected. There are none
    without such a text, and labels are not among them."""
    free = [
        k
        for k, role in enumerate(detected)
        if not role and below[k] and all(below[k]) and not pairs.is_measure(below[k])
    ]
    texts = [k for k in free if _is_shared(header[k], below[k])]
    short = [
        k
        for k in free
        if k not in texts
        and max(len(cell.split()) for cell in below[k]) <= _LONGEST_ENDING
        and 4 * len(set(below[k])) >= len(below[k])
        and not metadata_heading(header[k])
    ]
    return short if texts and len(short) > 1 else []


def _is_shared(heading: str, cells: Sequence[str]) -> bool:
    """Return whether most cells are text of several words, and the heading is not that of data."""
    filled = [cell for cell in cells if cell]
    are_long = 2 * sum(len(cell.split()) >= _LONGEST_ENDING for cell in filled) > len(filled)
    return bool(filled) and are_long and not metadata_heading(heading)


def _propose_answer(
    header: Sequence[str], below: list[list[str]], similar: Sequence[int], proposed: list[Column]
) -> None:
    """Propose the column with the number of the right text, if its numbers fit the number of texts."""
    for k, column in enumerate(proposed):
        if not similar or column.role != DATA or not _ANSWER.fullmatch(normal(header[k])):
            continue
        if below[k] and all(map(str.isdecimal, below[k])):
            numbers = {int(cell) for cell in below[k]}
            if max(numbers) > len(similar):
                continue
            role = ANSWER + FROM_0 if 0 in numbers else ANSWER
            if role == ANSWER or max(numbers) < len(similar):
                proposed[k] = replace(column, role=role, meaning=ROLES[role])
                return


def propose_critical(sheet: Headed, below: list[list[str]], proposed: list[Column]) -> None:
    """Propose the column that gives the critical word of a single column of sentences."""
    texts = [k for k, column in enumerate(proposed) if column.role == TEXT and pairs.is_text(below[k])]
    named = [
        k
        for k, column in enumerate(proposed)
        if _CRITICAL.fullmatch(normal(column.header)) and k not in texts
    ]
    if len(texts) != 1 or len(named) != 1 or not all(below[named[0]]):
        return
    (text,), (place,) = texts, named
    cells = below[place]
    if not any(column.role == "condition" for column in proposed) or proposed[place].role not in (
        DATA,
        TEXT,
        SKIP,
    ):
        return
    if _all_numbers(list(cells)):
        role = CRITICAL + FROM_0 if any(not int(float(cell)) for cell in cells) else CRITICAL
    elif all(
        cell.casefold() in sentence.casefold() for cell, sentence in zip(cells, below[text], strict=True)
    ):
        role = CRITICAL
    else:
        return
    proposed[place] = replace(proposed[place], role=role, meaning=ROLES[role], doubt=DOUBTED_CRITICAL)


def _begins_with_data(cells: Sequence[str]) -> bool:
    """Return whether the first cell of a column is no heading: a number, a sentence, or one of a few
    labels that recur below."""
    first, rest = cells[0], cells[1:]
    is_label = first in rest and len(set(rest)) <= _MOST_LABELS
    return bool(NUMBER.match(first)) or pairs.is_sentence(first) or (bool(first) and is_label)


def _propose_item(
    header: Sequence[str], detected: list[str], below: list[list[str]], has_row_per_item: bool
) -> None:
    if "item" in detected:
        return
    numbers = [
        k
        for k, cells in enumerate(below)
        if not detected[k]
        and _all_numbers(cells)
        and not _is_binary(cells)
        and not _ANSWER.fullmatch(header[k])
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
        items = filled(below[detected.index("item")])
        for k in telling_columns(below, items, free):
            detected[k] = "condition"
    if "condition" in detected:
        return
    names = [k for k in free if _are_names(below[k]) and not _are_many_numbers(below[k])]
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


def _have_a_row_per_condition(below: list[list[str]], detected: list[str]) -> bool:
    """Return whether items have several rows, which other columns tell apart, and texts are phrases. Then
    columns with similar texts (“the king”, “the guests”) are regions of one sentence."""
    if "item" not in detected:
        return False
    items = filled(below[detected.index("item")])
    free = [k for k, role in enumerate(detected) if not role]
    if pairs.is_unique(items) or not telling_columns(below, items, free):
        return False
    lengths = sorted(len(cell.split()) for k in free if pairs.is_text(below[k]) for cell in below[k] if cell)
    return bool(lengths) and lengths[len(lengths) // 2] <= LONGEST_PHRASE


def _all_numbers(cells: list[str]) -> bool:
    """Return whether cells are numbers. Empty cells are ignored: they may belong to a merged cell."""
    return bool(cells and cells[0]) and all(not cell or NUMBER.match(cell) for cell in cells)


def _are_many_numbers(cells: list[str]) -> bool:
    """Return whether cells are measures or numbers of the rows rather than labels of conditions."""
    return pairs.is_measure(cells) and len(set(cells)) > _MOST_LABELS


def _are_names(cells: list[str]) -> bool:
    return bool(cells) and all(cells) and max(map(len, cells)) <= _LONGEST_NAME


# --- doubtful columns ---


def doubted_columns(
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
    item, condition = (filled(cells[roles[r]]) if r in roles else empty for r in ("item", "condition"))
    sure = {*(reading.known.region_names if reading.known else ()), *reading.options.regions}
    sure |= {region_name(name) for name in header if name.startswith(REGION_PREFIX)}
    reasons = doubts(
        [region_name(header[k]) for k in places], [cells[k] for k in places], item, condition, sure
    )
    return {places[k]: reason for k, reason in reasons.items()}


def late_openings(header: Sequence[str], text: Sequence[int], reading: Reading) -> list[int]:
    """Return the columns of text that are called the beginning of the sentence although they are not the first one."""
    sure = {*(reading.known.region_names if reading.known else ()), *reading.options.regions}
    return [k for k in text[1:] if is_opening(header[k]) and header[k] not in sure]


def filled(cells: Sequence[str]) -> list[str]:
    """Fill empty cells with the one above, as in merged cells."""
    filled: list[str] = []
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled
