"""Read the items of Ibex and PCIbex experiments from their JavaScript; see `lmgym.suites.intake.javascript`.

An entry is `[["condition", item], "DashedSentence", {s: "The cat sleeps every_day."}, "Question", {q: "…"}]`. Chunks
are separated by blanks; `_` is a blank inside a chunk. Other lists of objects, as in jsPsych, are read as records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lmgym.suites.formats.documents import MAX_REGIONS
from lmgym.suites.formats.tables import Row
from lmgym.suites.intake.containers import Grid, as_cell, rows_of_records
from lmgym.suites.intake.javascript import LiteralList, NoLiteral, literal_lists
from lmgym.suites.intake.reading import first_places
from lmgym.text import count, listing
from lmgym.text.problems import Report

_ITEMS = re.compile(r"^[ \t]*(?:(?:var|let|const)[ \t]+)?items\s*=\s*\[", re.MULTILINE)
_PENN = re.compile(r"\bPennController\b|\bnewTrial\s*\(|\bTemplate\s*\(")
_TEXT = "s"
"""Option of Ibex's controllers with the sentence: a string, or a list of chunks."""


@dataclass(frozen=True, slots=True)
class _Trial:
    line: int
    condition: str
    item: str
    chunks: list[str]
    data: dict[str, Any]


def holds_items(text: str, filename: str = "") -> bool:
    """Return whether a file is a script: its name ends in .js, or it assigns a list to `items`."""
    return filename.lower().endswith(".js") or bool(_ITEMS.search(text))


def split_items(text: str, cut: str, report: Report) -> Grid:
    """Split the list of items into rows, one per sentence. Raises FormatError.

    Args:
        cut: "words" makes each chunk a region even if sentences have different numbers of them, "none" leaves
            sentences whole. By default, chunks are regions if all sentences have equally many.
    """
    found, others = _items(text, report)
    name = f"the list “{found.name}”" if found.name else "a list without a name"
    if not all(isinstance(entry, list) for _, entry in found.entries):
        objects = [(line, _flat(entry)) for line, entry in found.entries if isinstance(entry, dict)]
        grid = rows_of_records(objects, report)
        skipped = _not_read(found.skipped, "with code instead of plain values")
        grid.understood = [f"Read from a script: {name}.", *skipped, *_other_lists(others)]
        return grid
    trials, asides = _trials(found.entries)
    if not trials:
        message = f"no entry of {name} has a condition, an item and a sentence"
        hint = 'An entry is [["condition", 1], "DashedSentence", {s: "The cat sleeps."}].'
        report.problem("file", message, hint)
        report.raise_problems()
    grid = _laid_out(trials, cut)
    grid.understood = [
        f"Ibex items from {name}.",
        *_not_read(asides, "without an item or a sentence"),
        *_not_read(found.skipped, "with code instead of plain values"),
        *_other_lists(others),
        *grid.understood,
    ]
    return grid


def _items(text: str, report: Report) -> tuple[LiteralList, list[LiteralList]]:
    """Return the list called items, otherwise the one with the most entries; and the other lists."""
    try:
        lists = [one for one in literal_lists(text) if one.entries or one.skipped]
    except NoLiteral as error:
        report.problem(f"line {error.line}", error.what, "Shorten the script.")
        report.raise_problems()
        raise
    if not lists:
        is_penn = bool(_PENN.search(text))
        message = "a script of PennController" if is_penn else "a script"
        hint = (
            "Import the table (CSV) that its Template reads."
            if is_penn
            else "The items are a list: items = [ … ];"
        )
        report.problem("file", f"{message} without a list of items", hint)
        report.raise_problems()
    chosen = next((one for one in lists if one.name == "items"), max(lists, key=lambda one: len(one.entries)))
    return chosen, [one for one in lists if one is not chosen and (one.entries or one.skipped)]


def _other_lists(lists: Sequence[LiteralList]) -> list[str]:
    """Name the lists of objects or of entries that were not read; lists of words and numbers are settings."""
    names = [
        f"“{one.name}” ({count(len(one.entries), 'entry', 'entries')})"
        for one in lists
        if any(isinstance(value, list | dict) for _, value in one.entries)
    ]
    return [f"Other lists of the script: not read ({listing(names, 6)})."] if names else []


def _not_read(lines: Sequence[int], reason: str) -> list[str]:
    if not lines:
        return []
    return [f"{count(len(lines), 'entry', 'entries')} {reason}: not read ({first_places('line', lines)})."]


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Lift the entries of `data`, where jsPsych keeps conditions, to the record."""
    data = record.get("data")
    if not isinstance(data, dict) or set(data) & set(record):
        return record
    return {key: value for key, value in record.items() if key != "data"} | data


# --- entries ---


def _trials(entries: Sequence[tuple[int, Any]]) -> tuple[list[_Trial], list[int]]:
    """Return the trials, and the lines of entries that have no item or no sentence."""
    trials: list[_Trial] = []
    asides: list[int] = []
    for line, entry in entries:
        trial = _trial(line, entry)
        if trial is None:
            asides.append(line)
        else:
            trials.append(trial)
    return trials, asides


def _trial(line: int, entry: list[Any]) -> _Trial | None:
    label = entry[0] if entry else None
    if not isinstance(label, list) or len(label) < 2 or not isinstance(label[0], str | int):
        return None
    group = label[1][0] if isinstance(label[1], list) and label[1] else label[1]
    if not isinstance(group, str | int) or isinstance(group, bool):
        return None
    chunks: list[str] = []
    data: dict[str, Any] = {}
    for controller, options in _controllers(entry):
        rest = options
        if not chunks and (chunks := _chunks(options.get(_TEXT))):
            rest = {key: value for key, value in options.items() if key != _TEXT}
        if rest:
            data.setdefault(controller, rest)
    return _Trial(line, str(label[0]), str(group), chunks, data) if chunks else None


def _controllers(entry: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for controller, options in zip(entry[1::2], entry[2::2], strict=False):
        if isinstance(controller, str) and isinstance(options, dict):
            yield controller, options


def _chunks(value: Any) -> list[str]:
    if isinstance(value, str):
        return [chunk.replace("_", " ") for chunk in value.split()]
    if isinstance(value, list) and value and all(isinstance(chunk, str) for chunk in value):
        return list(value)
    return []


# --- cells ---


def _laid_out(trials: Sequence[_Trial], cut: str) -> Grid:
    lengths = {len(trial.chunks) for trial in trials}
    most = max(lengths)
    in_chunks = 1 < most <= MAX_REGIONS and (cut == "words" or (cut == "" and len(lengths) == 1))
    if in_chunks:
        regions = [f"Region {number}" for number in range(1, most + 1)]
        shorter = sum(len(trial.chunks) < most for trial in trials)
        ends = f"; the last ones are empty in {count(shorter, 'sentence')} with fewer" if shorter else ""
        said = f"Each chunk is a region: {count(most, 'region')}{ends}."
    else:
        regions = ["Sentence"]
        numbers = f"{min(lengths)} to {most}" if len(lengths) > 1 else str(most)
        said = f"The whole sentence is one region; chunks per sentence: {numbers}."
    data = list(dict.fromkeys(key for trial in trials for key in trial.data))
    header = ["item", "condition", *regions, *data]
    rows = [Row(trials[0].line, header)]
    for trial in trials:
        texts = trial.chunks + [""] * (most - len(trial.chunks)) if in_chunks else [" ".join(trial.chunks)]
        values = [as_cell(trial.data.get(key)) for key in data]
        rows.append(Row(trial.line, [trial.item, trial.condition, *texts, *values]))
    roles = ["item", "condition", *["text"] * len(regions), *["data"] * len(data)]
    return Grid(rows, is_named=True, understood=[said], roles=roles, is_cut=in_chunks)
