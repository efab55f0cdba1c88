"""Values of the chosen measure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.headings import measure_name
from lmgym.people.intake.numbers import (
    has_decimal_comma,
    is_ambiguous,
    is_missing,
    numbers,
    verdicts,
    whole,
)
from lmgym.people.intake.participants import columns_of
from lmgym.people.intake.roles import MAX_ANSWERS, MEASURES, REGION_TIMES, region_number
from lmgym.people.intake.state import Matching
from lmgym.people.intake.table import TextColumn
from lmgym.people.observations import Kind, Measure
from lmgym.suites.formats.documents import MAX_NAME_CHARACTERS
from lmgym.suites.intake.questions import LEAVE_OUT, Question

LONGEST_MS = 3_600_000
"""Longest possible reading time: an hour."""
BY_REGION = "regions"
"""The answer that the columns of regions are the measure."""
_KINDS: dict[str, Kind] = {
    "rt_ms": "reading time",
    "rt_s": "reading time",
    "rating": "rating",
    "binary": "binary",
    "choice": "forced choice",
}
ROLE_OF_KIND = {kind: role for role, kind in _KINDS.items() if role != "rt_s"}
"""Role of a column with values of a kind, in the units of `Observations`."""
_GENERAL = frozenset({"value", "answer", "response"})
_SCALES = ("1-5", "1-7", "0-100", "1-100")


@dataclass(frozen=True)
class Values:
    """Values, one per observation.

    Attributes:
        row: int64[n], row of the table.
        value: float64[n]; NaN for values that are left out.
        region: int16[n], region of values in columns of regions; None if a row is one observation.
    """

    measure: Measure
    row: NDArray[np.int64]
    value: NDArray[np.float64]
    region: NDArray[np.int16] | None = None


def read_values(state: Matching) -> Values:
    """Read the chosen measure, in ms, points or shares. Rows with missing and impossible values are left out."""
    choices = {
        letter: f"{column.name or letter}"
        for letter, column in zip(state.table.letters, state.table.columns, strict=True)
        if state.roles.get(letter) in MEASURES
    }
    wide = [letter for letter in state.table.letters if state.roles.get(letter) in REGION_TIMES]
    if wide:
        choices[BY_REGION] = f"reading times of {len(wide)} regions, a column each"
    if not choices:
        state.asks.append("columns")
        hint = "Choose the column with reading times, ratings or judgments."
        state.report.problem("file", "no column has values", hint)
        state.report.raise_problems()
    question = Question("measure", "Measure to import", choices, next(iter(choices)))
    if len(choices) == 1:
        chosen = question.proposed
    else:
        message = f"several columns have values: {state.examples(list(choices.values()))}"
        chosen = state.ask(question, "file", message, "Choose one; import the file again for another.")
        chosen = chosen or question.proposed
    if chosen == BY_REGION:
        return _regions(state, wide)
    return _column(state, chosen)


def _column(state: Matching, letter: str) -> Values:
    column, role = state.table.column(letter), state.roles[letter]
    value = _parsed(state, column, role, state.keep.copy())
    _note_unit(state, role, column.name)
    known = state.table.measure
    if known is not None and known.kind == _KINDS[role]:
        return Values(known, np.arange(len(state.table)), value)
    name = measure_name(column.name) if role in ("rt_ms", "rt_s") else column.name
    if column.name.lower() in _GENERAL:
        name = state.table.name.split("-")[1] if state.table.name.count("-") > 1 else state.table.name
    scale = _scale(state, value[state.keep]) if role == "rating" else None
    measure = Measure(name or "reading time", _KINDS[role], scale)
    return Values(measure, np.arange(len(state.table)), value)


def _regions(state: Matching, letters: Sequence[str]) -> Values:
    """Lay columns of regions out as observations, row by row."""
    numbers_of_regions: list[int] = []
    values: list[NDArray[np.float64]] = []
    for letter in letters:
        column = state.table.column(letter)
        region = region_number(column.name, state.document)
        if not region or region in numbers_of_regions:
            message = f"the heading “{column.name[:40]}” names no region of the suite, or one that has a column already"
            hint = f"The suite has {state.examples([f'{k} {name}' for k, name in state.document.regions.items()])}."
            state.report.problem(f"column {letter}", message, hint)
            continue
        numbers_of_regions.append(region)
        _note_unit(state, state.roles[letter], column.name)
        keep = state.keep.copy()
        values.append(
            _parsed(
                state, column, "rt_ms" if state.roles[letter] == "region_ms" else "rt_s", keep, is_cell=True
            )
        )
    state.report.raise_problems()
    row = np.repeat(np.arange(len(state.table)), len(numbers_of_regions))
    regions = np.tile(np.array(numbers_of_regions, np.int16), len(state.table))
    measure = Measure("reading time", "reading time")
    return Values(measure, row, np.stack(values, axis=1).ravel(), regions)


def _note_unit(state: Matching, role: str, heading: str) -> None:
    if role in ("rt_ms", "region_ms"):
        state.report.notice("file", f"“{heading[:40]}” is read as ms")
    elif role in ("rt_s", "region_s"):
        state.report.notice("file", f"“{heading[:40]}” is read as seconds and stored as ms")


def _parsed(
    state: Matching, column: TextColumn, role: str, keep: NDArray[np.bool_], *, is_cell: bool = False
) -> NDArray[np.float64]:
    """Return the values of a column; NaN for missing and impossible ones, whose rows are left out.

    Args:
        is_cell: other columns of the row have observations too, so rows are not left out as a whole.
    """
    texts = column.texts
    missing = np.array([is_missing(text) for text in texts])
    parsed = verdicts(texts) if role in ("binary", "choice") else numbers(texts)
    if role in ("binary", "choice"):
        parsed = np.where(np.isnan(parsed), numbers(texts), parsed)
        _ask_about_answers(state, column, parsed, keep)
        possible = (parsed >= 0) & (parsed <= 1)
    elif role == "rating":
        possible = ~np.isnan(parsed)
    else:
        if role == "rt_s":
            parsed = parsed * 1000
        possible = (parsed > 0) & (parsed <= LONGEST_MS)
    if has_decimal_comma(texts):
        state.report.notice("file", f"decimal commas in “{column.name[:40]}” are read as points")
    wrong = (~possible & ~missing)[column.codes] & keep
    parsed = np.where(possible, parsed, np.nan)
    if wrong.any():
        _impossible(state, column, role, wrong)
    absent = missing[column.codes] & keep
    if is_cell:
        for rows, reason in ((absent, "without a value"), (wrong, "with an impossible value")):
            if n := int(rows.sum()):
                state.left_out[reason] = state.left_out.get(reason, 0) + n
    else:
        state.leave_out(absent, "without a value")
        state.leave_out(wrong, "with an impossible value")
    return parsed[column.codes]


def _ask_about_answers(
    state: Matching, column: TextColumn, parsed: NDArray[np.float64], keep: NDArray[np.bool_]
) -> None:
    """Ask which answers, such as the keys F and J, count as yes, and write 1 or 0 for them into `parsed`."""
    present = np.zeros(len(column.texts), bool)
    present[column.codes[keep]] = True
    unknown = [
        code
        for code, text in enumerate(column.texts)
        if present[code] and np.isnan(parsed[code]) and not is_missing(text)
    ]
    if len(unknown) > MAX_ANSWERS:
        return
    for code in unknown:
        text = column.texts[code][:MAX_NAME_CHARACTERS]
        choices = {
            "1": "counts as yes, or chosen",
            "0": "counts as no, or not chosen",
            LEAVE_OUT: "leave its rows out",
        }
        question = Question(f"answers.{text}", f"Answer “{text[:60]}”", choices, "")
        message = f"the answer “{text[:60]}” in “{column.name[:40]}” is neither yes nor no"
        rows = keep & (column.codes == code)
        answer = state.ask(question, state.where(rows), message, "Choose what it counts as.")
        if answer in ("1", "0"):
            parsed[code] = float(answer)
        else:
            state.leave_out(rows, f"with the answer “{text[:60]}”")
            keep &= ~rows


def _impossible(state: Matching, column: TextColumn, role: str, wrong: NDArray[np.bool_]) -> None:
    texts = [column.texts[code] for code in dict.fromkeys(column.codes[wrong].tolist())]
    what = {
        "rt_ms": "reading times must be above 0 and at most an hour",
        "rt_s": "reading times must be above 0 and at most an hour",
        "rating": "ratings must be numbers",
        "binary": "judgments must be yes or no, 1 or 0, or shares between 0 and 1",
        "choice": "choices must be yes or no, 1 or 0, or shares between 0 and 1",
    }[role]
    n = int(wrong.sum())
    message = (
        f"{state.rows(n)} with an impossible value in “{column.name[:40]}” ({state.examples(texts)}): {what}"
    )
    hint = "Correct them or leave these rows out."
    if any(map(is_ambiguous, texts)):
        message += "; the comma in a number such as 1,234 may be a decimal comma or separate thousands"
        hint = "Write decimals with a point and thousands without a comma, or leave these rows out."
    question = Question("impossible", "Impossible values", {"out": "leave these rows out"}, "out")
    if any(asked.name == "impossible" for asked in state.questions):
        if state.answers.get("impossible") != "out":
            state.report.problem(state.where(wrong), message, hint)
        return
    state.ask(question, state.where(wrong), message, hint)


def _scale(state: Matching, values: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the ends of the rating scale: as answered, otherwise the lowest and highest rating if all are whole."""
    values = values[~np.isnan(values)]
    observed = ""
    if len(values) and (values == np.round(values)).all() and values.min() < values.max():
        observed = f"{values.min():.0f}-{values.max():.0f}"
    scales = dict.fromkeys(filter(None, (observed, *_SCALES)))
    choices = {scale: " to ".join(_ends(scale)) for scale in scales} | {"unknown": "unknown, or standardised"}
    answer = state.offer(Question("scale", "Scale of the ratings", choices, observed or "unknown"))
    if answer == "unknown" or answer not in choices:
        return None
    if not state.answers.get("scale"):
        state.report.notice("file", f"ratings are taken to be on a scale from {choices[answer]}")
    low, high = map(float, _ends(answer))
    return low, high


def _ends(scale: str) -> tuple[str, str]:
    """Split a scale such as 1-7 or -5--1."""
    match = re.fullmatch(r"(-?\d+)-(-?\d+)", scale)
    assert match
    return match[1], match[2]


def counts(state: Matching) -> NDArray[np.int32] | None:
    """Return the number of participants of each row's mean, or None without such a column."""
    columns = columns_of(state.table, state.roles, "n")
    if not columns:
        return None
    numbered = [whole(text) or 0 for text in columns[0].texts]
    n = np.clip(np.array(numbered, np.int64), 0, 2**31 - 1).astype(np.int32)[columns[0].codes]
    wrong = state.keep & (n < 1)
    if wrong.any():
        message = f"the number of participants in “{columns[0].name[:40]}” is no whole number above 0"
        state.report.problem(state.where(wrong), message, "Correct it, or choose another column.")
    return n
