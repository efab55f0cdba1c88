"""Find the suite's sentence of each row: by item and condition, or by its text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.building import crossed
from lmgym.people.intake.numbers import is_missing, whole
from lmgym.people.intake.participants import columns_of
from lmgym.people.intake.state import Matching
from lmgym.people.intake.table import TextColumn
from lmgym.people.intake.texts import difference, letters, nearest, plain, shortened
from lmgym.suites.formats.documents import MAX_NAME_CHARACTERS
from lmgym.suites.formats.item_data import item_data
from lmgym.suites.headings import normal
from lmgym.suites.intake.questions import LEAVE_OUT, Question
from lmgym.text import count
from lmgym.text.near_names import nearest_name

OTHERS = "of items that the suite lacks"
_GOOD = re.compile(r"(.*_)?(good|grammatical|acceptable|correct|match(ed)?)(_.*)?")
MAX_ASKED = 100
"""Number of condition names that are asked about, one question each."""
WRITE_ALIKE = "Write the sentences as in the suite, or match the rows by item number and condition."
ITEMS = {
    "number": "by item number and condition",
    "name": "by item name and condition",
    "sentence": "by the text of the sentence",
}


@dataclass(frozen=True)
class RowSentences:
    """Sentence of each row.

    Attributes:
        sentence: int64[n_rows], index into `document.sentences`; -1 if none.
        condition: int64[n_rows], index into `document.conditions`, for means over all items; -1 otherwise.
    """

    sentence: NDArray[np.int64]
    condition: NDArray[np.int64]


def find_sentences(state: Matching) -> RowSentences:
    """Find the sentence of each row, and leave out rows of others as answered."""
    item = columns_of(state.table, state.roles, "item")
    label = columns_of(state.table, state.roles, "item_label")
    text = columns_of(state.table, state.roles, "sentence")
    none = np.full(len(state.table), -1)
    possible = {
        key: words
        for key, words in ITEMS.items()
        if {"number": item or label, "name": label or item, "sentence": text}[key]
    }
    if not possible:
        return RowSentences(none, _conditions_only(state))
    how = state.offer(
        Question("items", "How rows are matched to sentences", possible, _default(state, possible))
    )
    if how == "sentence":
        sentence = _by_text(state, text[0])
    else:
        numbers = (
            _numbers(state, (item or label)[0]) if how == "number" else _named(state, (label or item)[0])
        )
        sentence = _by_item(state, numbers, text[0] if text else None)
    return RowSentences(sentence, none)


def _default(state: Matching, possible: dict[str, str]) -> str:
    """Propose item numbers if the suite has some of them, then names, then the sentence."""
    suite = set(state.document.items)
    columns = [
        column for role in ("item", "item_label") for column in columns_of(state.table, state.roles, role)
    ]
    if any(whole(text) in suite for column in columns[:1] for text in column.texts):
        return "number"
    names = _item_names(state)
    if any(plain(text) in names for column in columns for text in column.texts):
        return "name"
    return "sentence" if "sentence" in possible else next(iter(possible))


# --- items ---


def _numbers(state: Matching, column: TextColumn) -> NDArray[np.int64]:
    """Return the item number of each row; -1 for items that the suite lacks."""
    suite = set(state.document.items)
    numbers = [number if (number := whole(text)) in suite else -1 for text in column.texts]
    return np.array(numbers, np.int64)[column.codes]


def _item_names(state: Matching) -> dict[str, int]:
    """Map values of item data that belong to a single item to its number."""
    owners: dict[str, set[int]] = defaultdict(set)
    for by_item in item_data(state.document).by_item.values():
        for item, value in by_item.items():
            owners[plain(value)].add(item)
    return {name: next(iter(items)) for name, items in owners.items() if len(items) == 1}


def _named(state: Matching, column: TextColumn) -> NDArray[np.int64]:
    names = _item_names(state)
    return np.array([names.get(plain(text), -1) for text in column.texts], np.int64)[column.codes]


def _leave_out_others(
    state: Matching,
    rows: NDArray[np.bool_],
    names: Callable[[], Sequence[str]],
    noun: str,
    near: Callable[[], str] = str,
) -> None:
    """Leave out rows of fillers and practice, once the user says that they are. `near`: says which of them are almost
    in the suite; "" if none is."""
    rows = rows & state.keep
    if not rows.any():
        return
    almost = near()
    if rows.sum() == state.keep.sum():
        message = f"no row has {noun} of the suite: {state.examples(names())}"
        hint = "Is this the right suite? Check the roles of the columns."
        if almost:
            message, hint = f"{message}. {almost}", WRITE_ALIKE
        state.report.problem("file", message, hint)
        state.report.raise_problems()
    question = Question(
        "others", "Rows of other items", {"out": "are fillers or practice: leave them out"}, "out"
    )
    message = f"{state.rows(int(rows.sum()))} with {noun} that the suite lacks: {state.examples(names())}"
    hint = "Leave them out if they are fillers or practice."
    if almost:
        message, hint = f"{message}. {almost}", f"{WRITE_ALIKE} {hint}"
    if state.ask(question, state.where(rows), message, hint) and almost:
        state.report.warning("file", f"among the rows left out, {almost}")
    state.leave_out(rows, OTHERS)


def _texts(column: TextColumn, rows: NDArray[np.bool_]) -> list[str]:
    return [column.texts[code] for code in dict.fromkeys(column.codes[rows].tolist())]


def _by_item(state: Matching, numbers: NDArray[np.int64], text: TextColumn | None) -> NDArray[np.int64]:
    """Return the sentence of each row by item and condition."""
    role = "item" if columns_of(state.table, state.roles, "item") else "item_label"
    column = columns_of(state.table, state.roles, role)[0]
    others = numbers < 0
    _leave_out_others(state, others, lambda: _texts(column, others & state.keep), "items")
    columns = columns_of(state.table, state.roles, "condition")
    document = state.document
    table = {(s.item, s.condition): k for k, s in enumerate(document.sentences)}
    if columns:
        codes, combinations = crossed(columns)
        names = ["-".join(combination) for combination in combinations]
        near = _conditions_by_text(state, codes, numbers, text) if text is not None else {}
        condition = _condition_codes(state, codes, names, near)
    elif len(document.conditions) == 1:
        condition = np.zeros(len(numbers), np.int64)
    elif text is not None:
        return _by_text(state, text, numbers)
    else:
        hint = f"Choose it; the suite has {state.examples(document.conditions)}."
        state.asks.append("columns")
        state.report.problem("file", "no column has the condition", hint)
        state.report.raise_problems()
    items, places = np.unique(numbers, return_inverse=True)
    lookup = np.array(
        [[table.get((int(item), name), -1) for name in document.conditions] for item in items], np.int64
    )
    sentence = np.where(condition < 0, -1, lookup[places, condition])
    lacking = state.keep & (condition >= 0) & (sentence < 0)
    if lacking.any():
        message = "the suite has no sentence for this item and condition"
        state.report.problem(state.where(lacking), message, "Is this the right suite, in the right version?")
    return sentence


def _condition_codes(
    state: Matching, codes: NDArray[np.int64], names: Sequence[str], near: dict[int, str]
) -> NDArray[np.int64]:
    """Return the suite's condition of each row; asks about names that the suite lacks."""
    conditions = state.document.conditions
    exact = {name: k for k, name in enumerate(conditions)}
    loose = Counter(map(normal, conditions))
    loosely = {normal(name): k for name, k in exact.items() if loose[normal(name)] == 1}
    found = np.full(len(names), -1)
    present = set(np.unique(codes[state.keep]).tolist())
    n_asked = 0
    for k, name in enumerate(names):
        if k not in present:
            continue
        if name in exact:
            found[k] = exact[name]
        elif normal(name) in loosely:
            found[k] = loosely[normal(name)]
            state.report.notice("file", f"the condition “{name[:60]}” is taken as “{conditions[found[k]]}”")
        elif len(name) > MAX_NAME_CHARACTERS:
            message = f"a condition with more than {MAX_NAME_CHARACTERS} characters"
            state.report.problem(state.where(codes == k), message, "Choose another column for the condition.")
            state.report.raise_problems()
        elif n_asked < MAX_ASKED:
            n_asked += 1
            found[k] = _asked(state, codes == k, name, near.get(k, ""))
        else:
            message = f"more than {MAX_ASKED} conditions that the suite lacks"
            state.report.problem("file", message, "Choose another column for the condition.")
            state.report.raise_problems()
    return found[codes]


def _asked(state: Matching, rows: NDArray[np.bool_], name: str, near: str) -> int:
    """Ask which condition of the suite a name stands for; -1 leaves its rows out."""
    conditions = state.document.conditions
    choices = {**{f"={one}": f"is {one}" for one in conditions}, LEAVE_OUT: "leave its rows out"}
    near = near or nearest_name(name, list(conditions)) or ""
    question = Question(
        f"conditions.{name}", f"Condition “{name[:60]}”", choices, f"={near}" if near else LEAVE_OUT
    )
    message = f"the condition “{name[:60]}” is not in the suite, which has {state.examples(conditions)}"
    answer = state.ask(
        question, state.where(rows & state.keep), message, "Choose which it is, or leave its rows out."
    )
    if answer == LEAVE_OUT:
        state.leave_out(rows, f"of the condition “{name[:60]}”")
    return conditions.index(answer[1:]) if answer.startswith("=") else -1


def _conditions_by_text(
    state: Matching, codes: NDArray[np.int64], numbers: NDArray[np.int64], text: TextColumn
) -> dict[int, str]:
    """Propose for each condition of the file the suite's condition that has most of its sentences."""
    by_text = {(plain(s.text), s.item): s.condition for s in state.document.sentences}
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    n_items = int(numbers.max(initial=0)) + 2
    keys = (codes * len(text.texts) + text.codes) * n_items + numbers + 1
    for key in np.unique(keys[state.keep]).tolist():
        rest, item = divmod(key, n_items)
        code, place = divmod(rest, len(text.texts))
        if condition := by_text.get((plain(text.texts[place]), item - 1)):
            votes[code][condition] += 1
    return {code: counts.most_common(1)[0][0] for code, counts in votes.items()}


# --- sentences ---


def _by_text(
    state: Matching, text: TextColumn, numbers: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the sentence of each row by its text.

    Args:
        numbers: item of each row, if known: equal sentences of several items are told apart.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for k, one in enumerate(state.document.sentences):
        places[plain(one.text)].append(k)
    candidates = [places.get(plain(cell), []) for cell in text.texts]
    sentence: NDArray[np.int64] = np.array([found[0] if found else -1 for found in candidates])[text.codes]
    if any(len(found) > 1 for found in candidates):
        sentence = _narrowed(state, text, candidates, numbers)
    if numbers is not None:
        items = np.array([one.item for one in state.document.sentences])
        wrong = state.keep & (sentence >= 0) & (numbers >= 0) & (items[sentence] != numbers)
        if wrong.any():
            message = "the sentence belongs to another item of the suite"
            state.report.problem(state.where(wrong), message, "Check the column of the item.")
    others = (sentence == -1) & state.keep
    _leave_out_others(
        state,
        others,
        lambda: _texts(text, others),
        "sentences",
        lambda: _almost(state, text, others & state.keep),
    )
    twice = (sentence == _AMBIGUOUS) & state.keep
    if twice.any():
        message = "this sentence is in the suite more than once"
        state.report.problem(state.where(twice), message, "Choose columns for item and condition.")
    return sentence


def _almost(state: Matching, text: TextColumn, rows: NDArray[np.bool_]) -> str:
    """Say how many texts of these rows differ from sentences of the suite only in punctuation or spaces, with what
    differs in the first of them; "" if none does."""
    by_letters: dict[str, list[str]] = defaultdict(list)
    for one in state.document.sentences:
        by_letters[letters(one.text)].append(one.text)
    near = [cell for cell in _texts(text, rows) if letters(cell) in by_letters]
    if not near:
        return ""
    first = near[0]
    in_suite = nearest(first, by_letters[letters(first)])
    place = state.where(np.flatnonzero(rows & (text.codes == text.texts.index(first)))[:1])
    return (
        f"{count(len(near), 'sentence')} {'differs' if len(near) == 1 else 'differ'} from the suite’s only in "
        f"punctuation or spaces; the first is in {place}: {shortened(first)}, where the suite has "
        f"{shortened(in_suite)}: {difference(first, in_suite)}"
    )


_AMBIGUOUS = -2


def _narrowed(
    state: Matching, text: TextColumn, candidates: list[list[int]], numbers: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Choose among equal sentences by item and by the name of the condition; _AMBIGUOUS where they do not tell."""
    sentences = state.document.sentences
    columns = columns_of(state.table, state.roles, "condition")
    conditions = crossed(columns)[0] if columns else np.zeros(len(text.codes), np.int64)
    items = numbers if numbers is not None else np.full(len(text.codes), -1)
    keys = np.stack([text.codes, conditions, items])
    _, firsts, codes = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    chosen = []
    for row in firsts.tolist():
        found = candidates[text.codes[row]]
        name = "-".join(column.cell(row) for column in columns)
        of_item = [k for k in found if sentences[k].item == items[row]] or found
        of_condition = [k for k in of_item if sentences[k].condition == name] or of_item
        chosen.append(-1 if not found else of_condition[0] if len(of_condition) == 1 else _AMBIGUOUS)
    return np.array(chosen, np.int64)[codes]


# --- conditions without items ---


def _conditions_only(state: Matching) -> NDArray[np.int64]:
    """Return the condition of each row, for data that are means over all items."""
    columns = columns_of(state.table, state.roles, "condition")
    columns = columns or columns_of(state.table, state.roles, "item_label")
    if not columns:
        hint = "Choose the column with the item number, the item name, the sentence or the condition."
        state.asks.append("columns")
        state.report.problem("file", "no column identifies the sentence of a row", hint)
        state.report.raise_problems()
    codes, combinations = crossed(columns)
    names = ["-".join(combination) for combination in combinations]
    known = set(map(normal, state.document.conditions))
    state.report.notice(
        "file", "no column has the item or sentence: values are taken as means over all items"
    )
    if any(normal(name) in known or f"conditions.{name}" in state.answers for name in names):
        return _condition_codes(state, codes, names, {})
    return _one_row(state, codes, names)


def _one_row(state: Matching, codes: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
    """Return the condition of the row about this suite, in a table with a row per suite or paradigm."""
    document = state.document
    wanted = normal(document.name)
    proposed = next((name for name in names if normal(name) == wanted), "") if wanted else ""
    choices = {
        name: name for name in names[:1000] if len(name) <= MAX_NAME_CHARACTERS and not is_missing(name)
    }
    row = Question("suite_row", "Row about this suite", choices, proposed)
    name = (
        state.offer(row)
        if proposed
        else state.ask(
            row,
            "file",
            f"no row is named after the suite or its conditions: {state.examples(names)}",
            "Choose one.",
        )
    )
    good = next((one for one in document.conditions if _GOOD.fullmatch(normal(one))), "")
    conditions = {one: one for one in document.conditions}
    what = Question("stands_for", "Condition whose share or mean the row has", conditions, good)
    condition = (
        state.offer(what)
        if good
        else state.ask(what, "file", "the condition of the value is not in the row", "Choose it.")
    )
    if not name or not condition:
        return np.full(len(codes), -1)
    rows = np.array([one == name for one in names])[codes]
    state.leave_out(~rows, "about other suites")
    state.report.notice("file", f"the row “{name[:60]}” is taken for this suite, as values of “{condition}”")
    return np.where(rows, document.conditions.index(condition), -1)
