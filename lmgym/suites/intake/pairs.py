"""Sheets that tell conditions apart by position: one column per condition, or pairs in alternating rows.

Both become rows of item, condition and text. Which sentence of a pair is the good one is taken from known headings or
asked, never inferred from the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from lmgym.suites import columns
from lmgym.suites.formats.designs import condition_name as joined_levels
from lmgym.suites.formats.documents import MAX_CELL_CHARACTERS, PredictionDoc
from lmgym.suites.formats.tables import Row, Table, data_name
from lmgym.suites.headings import condition_name, pair_of
from lmgym.suites.intake.completions import BAD, GOOD, fill_blank, texts_by_condition
from lmgym.suites.intake.containers import Record
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.parsing import CRITICAL, MATCHED, NO_PREDICTION, Choice, column_letter
from lmgym.suites.intake.reading import Reading, at, first_places
from lmgym.text import BLANKS, count, is_unspaced, listing, unguard

SENTENCE = "Sentence"
"""Name of the only region."""
CONTEXT, TARGET = "Context", "Target"
"""Names of the regions, and of the factors, of combined contexts and targets."""
NO_SENTENCE = columns.SIGNS | {"", "None"}
"""Cells that mean that there is no sentence."""
_ITEM_KEYS = frozenset({"item_number", "conditions"})
_SHORTEST = 3
"""Minimum number of words of a sentence in the place of a heading."""
_SHOWN = 3
_COMPARED_COLUMNS = 24
_COMPARED = 50
"""Number of rows compared to find columns with similar sentences."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions that have a column of text each.

    Attributes:
        names: by column.
        good: the condition that headings call the good one, or "".
    """

    names: dict[int, str]
    good: str


def conditions_of(names: Sequence[str], places: Sequence[int]) -> Conditions:
    """Name the conditions after their columns. `names`: headings of all columns."""
    width = max(len(names), *(place + 1 for place in places))
    headings = [*names, *[""] * (width - len(names))]
    conditions = {place: condition_name(headings[place], column_letter(place)) for place in places}
    if len(set(conditions.values())) < len(conditions):
        conditions = {place: headings[place] or f"Column {column_letter(place)}" for place in places}
    pair = pair_of(headings)
    good = conditions[pair[0]] if pair and set(pair) == set(places) else ""
    return Conditions(conditions, good)


# --- which columns have similar sentences ---


def alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two columns have similar sentences in most rows, and equal ones in fewer than half."""
    rows = [(a, b) for a, b in zip(one[:_COMPARED], other[:_COMPARED], strict=False) if a and b]
    similar = sum(_is_similar(a, b) for a, b in rows)
    equal = sum(a == b for a, b in rows)
    return bool(rows) and 2 * similar > len(rows) and 2 * equal < len(rows)


def are_similar(texts: Sequence[str]) -> bool:
    """Return whether texts are long enough to be sentences, not headings, and all similar to the first."""
    are_long = all(
        len(_words(text)) >= (_SHORTEST * 2 if any(map(is_unspaced, text[:1])) else _SHORTEST)
        for text in texts
    )
    return are_long and all(_is_similar(texts[0], text) for text in texts[1:])


def _is_similar(one: str, other: str) -> bool:
    first, second = _words(one), _words(other)
    shorter, longer = sorted((len(first), len(second)))
    return shorter > 1 and longer <= 2 * shorter and 2 * len(first & second) >= shorter


def _words(text: str) -> set[str]:
    """Return the words of a text, or the characters of one without blanks between words."""
    text = text[:500].casefold()
    return set(text) if any(map(is_unspaced, text)) else set(text.split())


def similar_columns(cells: Sequence[Sequence[str]], places: Sequence[int]) -> list[int]:
    """Return the largest group of these columns whose sentences are similar."""
    places = places[:_COMPARED_COLUMNS]
    groups: list[list[int]] = [
        [k, *(other for other in places if other != k and alike(cells[k], cells[other]))] for k in places
    ]
    largest: list[int] = max(groups, key=lambda group: len(group), default=[])
    return sorted(largest)


def is_unique(cells: Sequence[str]) -> bool:
    """Return whether every row has its own value."""
    return bool(cells) and len(set(cells)) == len(cells)


def is_text(cells: Sequence[str]) -> bool:
    """Return whether most cells are sentences: they have several words, or letters of a script without blanks."""
    filled = [cell for cell in cells if cell not in NO_SENTENCE]
    sentences = sum(" " in cell.strip() or any(map(is_unspaced, cell[:50])) for cell in filled)
    return bool(filled) and 2 * sentences > len(filled)


def is_measure(cells: Sequence[str]) -> bool:
    """Return whether cells are numbers or verdicts, not sentences; see `columns.is_measure`."""
    return columns.is_measure([cell for cell in cells if cell not in NO_SENTENCE])


def list_column(sheet: Headed) -> int | None:
    """Return the only column with sentences if all others are empty or number the rows; otherwise None."""
    cells = sheet.columns()
    filled = [k for k, one in enumerate(cells) if not _numbers_rows(one)]
    return filled[0] if len(filled) == 1 and len(sheet.body) > 1 and is_text(cells[filled[0]]) else None


def _numbers_rows(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return all(map(str.isdecimal, filled)) and len(set(filled)) == len(filled)


def is_sentence(heading: str) -> bool:
    """Return whether a cell in the place of a heading is a sentence, so that the sheet has no header."""
    return columns.closes_sentence(heading) and (" " in heading.strip() or any(map(is_unspaced, heading)))


# --- one column per condition ---


@dataclass(frozen=True, slots=True)
class Others:
    """The columns beside those of the conditions.

    Attributes:
        opening, shared: text that all conditions have in common: at the beginning, and in the order of the columns.
        answer: the column that says which condition is right.
        critical: the column of the critical word.
    """

    item: int | None = None
    opening: Sequence[int] = ()
    shared: Sequence[int] = ()
    data: Sequence[int] = ()
    answer: int | None = None
    critical: int | None = None


def unpivot(sheet: Headed, conditions: Conditions, others: Others, reading: Reading) -> Table:
    """Make one row per sentence from one row per item.

    Item numbers come from the item column, if there is one and each row has its own; otherwise from the order of rows.
    With an answer column, the right text is the condition good. If the shared text has a blank such as ___, the texts
    of the conditions fill it.
    """
    first = min(conditions.names)
    before = [*others.opening, *(k for k in others.shared if k < first)]
    after = [k for k in others.shared if k > first]
    rows = _item_rows(sheet, conditions, others, reading)
    varying = "Varying text" if before or after else SENTENCE
    regions = [*(sheet.names[k] for k in before), varying, *(sheet.names[k] for k in after)]
    if before or after:
        reading.say(
            f"Text that all conditions share: {listing([sheet.names[k] for k in (*before, *after)], 12)}."
        )
    table_rows: list[Row] = []
    right_texts: list[str] = []
    for row, key, texts in rows:
        named = texts_by_condition(sheet, row, conditions.names, texts, others.answer, reading)
        around = [[unguard(row.cells[k]) for k in places] for places in (before, after)]
        for name, text in named:
            table_rows.append(Row(row.line, [key, name, *around[0], text, *around[1]]))
        right_texts += [f"“{text[:40]}” (item {key})" for _, text in named[:1]]
    reading.report.raise_problems()
    if others.answer is not None:
        reading.say(f"Right texts: {listing(right_texts, _SHOWN)}.")
    regions = fill_blank(table_rows, regions, 2 + len(before), reading)
    return _with_critical(
        sheet, [row for row, *_ in rows], len(conditions.names), table_rows, regions, others
    )


def cross(
    sheet: Headed, contexts: Sequence[int], targets: Sequence[int], others: Others, reading: Reading
) -> Table:
    """Make one row per sentence from one row per item, whose conditions are all combinations of a context and a target.
    Shared columns before the first of them come first, the others last."""
    names = {k: condition_name(sheet.names[k], column_letter(k)) for k in (*contexts, *targets)}
    first = min(names)
    before = [*others.opening, *(k for k in others.shared if k < first)]
    after = [k for k in others.shared if k > first]
    rows = _item_rows(sheet, Conditions(names, ""), others, reading)
    regions = [*(sheet.names[k] for k in before), CONTEXT, TARGET, *(sheet.names[k] for k in after)]
    table_rows: list[Row] = []
    for row, key, texts in rows:
        around = [[unguard(row.cells[k]) for k in places] for places in (before, after)]
        for context, target in product(contexts, targets):
            name = joined_levels((names[context], names[target]))
            table_rows.append(
                Row(row.line, [key, name, *around[0], texts[context], texts[target], *around[1]])
            )
    reading.say(
        f"Every context ({listing([names[k] for k in contexts])}) is combined with every target "
        f"({listing([names[k] for k in targets])})."
    )
    return Table(sheet.head.line, ["item", "condition", *regions], {"item": 0, "condition": 1}, table_rows)


def _item_rows(
    sheet: Headed, conditions: Conditions, others: Others, reading: Reading
) -> list[tuple[Row, str, dict[int, str]]]:
    """Return the rows with their item and texts by column, and keep the item data."""
    cells, item, data = sheet.columns(), others.item, list(others.data)
    if item is not None and len(set(cells[item])) < len(cells[item]):
        reading.say(
            f"Column {column_letter(item)} “{sheet.names[item]}” has repeated values, so each row is an item."
        )
        data, item = sorted([*data, item]), None
    elif item is None:
        reading.say("Items are numbered in the order of rows.")
    kept = _with_sentences(sheet, conditions, reading)
    headings = unique_headings(sheet.names, data)
    rows = []
    for number, row in enumerate(sheet.body, start=1):
        if number not in kept:
            continue
        key = str(number) if item is None else cells[item][number - 1]
        rows.append((row, key, kept[number]))
        values = {
            _item_key(data_name(headings[k])): value for k in data if (value := _value(row, k)) is not _EMPTY
        }
        if values:
            reading.item_data.setdefault(key, {}).update(values)
    if data:
        reading.say(f"Kept as item data: {listing([headings[k] for k in data], 12)}.")
    return rows


def _with_critical(
    sheet: Headed,
    rows: Sequence[Row],
    per_item: int,
    table_rows: list[Row],
    regions: Sequence[str],
    others: Others,
) -> Table:
    """Return the table of these rows, with the critical word of each item."""
    header, roles = ["item", "condition", *regions], {"item": 0, "condition": 1}
    if others.critical is not None:
        for number, row in enumerate(table_rows):
            row.cells.append(rows[number // per_item].cells[others.critical])
        roles[CRITICAL] = len(header)
        header.append(sheet.names[others.critical])
    return Table(sheet.head.line, header, roles, table_rows)


_EMPTY = object()


def _value(row: Row, place: int) -> Any:
    """Return a cell's value for the item data; cells of a table that are empty are left out."""
    if isinstance(row, Record):
        return row.values[place]
    text = unguard(row.cells[place]).strip() if place < len(row.cells) else ""
    return text or _EMPTY


def _item_key(heading: str) -> str:
    return f"pair_{heading}" if heading in _ITEM_KEYS else heading


def unique_headings(names: Sequence[str], places: Sequence[int]) -> dict[int, str]:
    """Return a heading of its own for each of these columns."""
    taken: dict[int, str] = {}
    for k in places:
        heading = names[k] if k < len(names) else ""
        if not heading or heading in taken.values():
            heading = f"{heading} (column {column_letter(k)})".strip()
        taken[k] = heading
    return taken


def _with_sentences(sheet: Headed, conditions: Conditions, reading: Reading) -> dict[int, dict[int, str]]:
    """Return the texts by number of the row and column, without rows that the user leaves out."""
    texts: dict[int, dict[int, str]] = {}
    empty: list[tuple[int, int]] = []
    for number, row in enumerate(sheet.body, start=1):
        texts[number] = {}
        for place in conditions.names:
            if isinstance(row, Record) and not isinstance(row.values[place], str | None):
                reading.report.problem(at(row, place, sheet.names), "the sentence is not text", "Write text.")
            text = unguard(row.cells[place])
            if text.strip(BLANKS) in NO_SENTENCE:
                empty.append((number, place))
                text = ""
            elif len(text) > MAX_CELL_CHARACTERS:
                message = f"{len(text):,} characters; at most {MAX_CELL_CHARACTERS:,} are allowed"
                reading.report.problem(at(row, place, sheet.names), message)
            texts[number][place] = text
    reading.report.raise_problems()
    left_out = _left_out(sheet, empty, reading) if empty else set()
    return {number: row for number, row in texts.items() if number not in left_out}


def _left_out(sheet: Headed, empty: Sequence[tuple[int, int]], reading: Reading) -> set[int]:
    """Ask what cells without a sentence mean, and return the numbers of the rows to leave out."""
    number, place = empty[0]
    row = sheet.body[number - 1]
    cells = count(len(empty), "cell")
    answers = [("out", "Leave their items out"), ("text", "Take them as empty texts")]
    shown = row.cells[place].strip()
    message = f"{cells} without a sentence" + (f", such as “{shown}”" if shown else "")
    hint = "Leave the items out, or take the cells as empty texts."
    choice = Choice("empty", f"{cells} without a sentence", answers, "out")
    answer = reading.choose(choice, at(row, place, sheet.names), message, hint)
    if answer == "out":
        left_out = {number for number, _ in empty}
        lines = [sheet.body[number - 1].line for number in sorted(left_out)]
        rows = f"{count(len(lines), 'row')} ({first_places('row', lines)})"
        reading.say(f"Left out because a sentence is missing: {rows}.")
        return left_out
    if answer == "text":
        reading.say(f"{cells} without a sentence: taken as empty texts.")
    return set()


# --- alternating rows ---


def fold_list(sheet: Headed, place: int, layout: str, reading: Reading) -> Table:
    """Make a pair of every two rows of a list of sentences. Raises FormatError if their number is odd."""
    order = (GOOD, BAD) if layout == "good_bad" else (BAD, GOOD)
    rows = [
        Row(row.line, [str(k // 2 + 1), order[k % 2], unguard(row.cells[place])])
        for k, row in enumerate(sheet.body)
        if place < len(row.cells) and row.cells[place].strip()
    ]
    if len(rows) % 2:
        message = f"the list has {len(rows)} sentences, an odd number, so it cannot consist of pairs"
        reading.report.problem(
            "sheet", message, "Add the missing sentence, or columns for item and condition."
        )
        reading.report.raise_problems()
    first = "first" if order[0] == GOOD else "second"
    reading.say(f"Every two rows are a pair, the good sentence {first}; items are numbered in this order.")
    return Table(sheet.head.line, ["item", "condition", SENTENCE], {"item": 0, "condition": 1}, rows)


LAYOUT = Choice(
    "layout",
    "Sentences in pairs",
    [
        ("good_bad", "Every two rows are a pair: first the good sentence, then the bad one"),
        ("bad_good", "Every two rows are a pair: first the bad sentence, then the good one"),
    ],
)


# --- the prediction ---


def predictions(conditions: Sequence[str], good: str, reading: Reading) -> tuple[PredictionDoc, ...]:
    """Return the prediction that the good sentence has the lower total surprisal, if it is known or chosen."""
    if reading.known is not None or reading.is_part:
        return ()
    if len(conditions) < 2:
        if reading.options.prediction not in ("", NO_PREDICTION):
            reading.say("No prediction is made: the table has a single condition.")
        return ()
    choice = prediction_choice(conditions, good)
    if good and not reading.options.prediction:
        reading.result.choices.append(choice)
        chosen = good
    else:
        names = listing([f"“{name}”" for name in conditions], 8)
        message = f"which of {names} is the better sentence is not clear from the headings"
        hint = "Choose the condition that should have the lower surprisal, or no prediction."
        chosen = reading.choose(choice, "sheet", message, hint)
    if chosen in ("", NO_PREDICTION):
        return ()
    made = tuple(_prediction(chosen, other, conditions) for other in conditions if other != chosen)
    formulas = listing([prediction.formula for prediction in made], 4)
    reading.say(f"A pair passes if “{chosen}” has the lower total surprisal: {formulas}.")
    return made


def prediction_choice(conditions: Sequence[str], good: str = "") -> Choice:
    answers = [(name, f"“{name}” should have the lower surprisal") for name in conditions]
    return Choice(
        "prediction", "Which sentence is better?", [*answers, (NO_PREDICTION, "No prediction")], good
    )


def crossed_predictions(
    names: Sequence[tuple[str, str]], target: int, reading: Reading
) -> tuple[PredictionDoc, ...]:
    """Return the predictions that each target is more likely after its own context than after any other, if the user
    says that contexts and targets belong together in the order of their columns.

    Args:
        names: context and target of each condition.
        target: number of the region with the target.
    """
    if reading.known is not None or reading.is_part:
        return ()
    contexts, targets = (list(dict.fromkeys(levels)) for levels in zip(*names, strict=True))
    choice = matched_choice(contexts, targets)
    message = "which context makes which target likely is not clear from the headings"
    hint = "Choose whether they belong together in the order of their columns."
    if reading.choose(choice, "sheet", message, hint) != MATCHED:
        return ()
    made = []
    for own, word in zip(contexts, targets, strict=True):
        for other in contexts:
            if other != own:
                good, bad = joined_levels((own, word)), joined_levels((other, word))
                formula = f"({target};%{good}%) < ({target};%{bad}%)"
                made.append(PredictionDoc(formula, f"{word} is more likely after {own} than after {other}"))
    return tuple(made)


def matched_choice(contexts: Sequence[str], targets: Sequence[str]) -> Choice:
    answers = [(NO_PREDICTION, "No prediction")]
    if len(contexts) == len(targets):
        both = listing([f"{one} with {other}" for one, other in zip(contexts, targets, strict=True)], 4)
        label = f"{both}: each target should have the lower surprisal after its own context"
        answers.insert(0, (MATCHED, label))
    return Choice("prediction", "Which belong together?", answers, answers[0][0])


def _prediction(good: str, other: str, conditions: Sequence[str]) -> PredictionDoc:
    is_pair = set(conditions) == {GOOD, BAD} and good == GOOD
    name = "The good sentence is more likely" if is_pair else f"{good} is more likely than {other}"
    return PredictionDoc(f"(*;%{good}%) < (*;%{other}%)", name)
