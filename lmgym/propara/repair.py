"""Repair files that the reference rejects, and list every change.

The result is canonical text that the reference accepts. It is scored only after a user has agreed to the
changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lmgym.files.bounded import Limits, Refused, check
from lmgym.propara.errors import Problem, ProParaError
from lmgym.propara.grid import ACTIONS, Grids, action_problem, lines_of
from lmgym.text import quoted

LIMITS = Limits(lines=500_000, cells=2_000_000, values=1_500_000)
"""Limits of an uploaded file, checked before it is split into rows or decoded. Blank lines are counted."""
_ALIASES = {
    "N/A": "NONE",
    "EXIST": "NONE",
    "EXISTS": "NONE",
    "CREATED": "CREATE",
    "DESTROYED": "DESTROY",
    "MOVED": "MOVE",
}
_DASHES = {"\u2013", "\u2014", "\u2212", "--"}


class Repair(NamedTuple):
    line: int
    column: int
    code: str
    message: str


class Repaired(NamedTuple):
    text: str
    repairs: tuple[Repair, ...]


def decode(data: bytes, file: str = "predictions") -> tuple[str, list[Repair]]:
    """Decode an upload: UTF-8, or UTF-16 with a byte order mark. Raises ProParaError if it is neither or exceeds
    LIMITS."""
    try:
        has_utf16_mark = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = data.decode("utf-16" if has_utf16_mark else "utf-8")
        check(text, LIMITS, "\t")
        return text, [
            Repair(1, 0, "encoding", "The file was converted from UTF-16 to UTF-8.")
        ] if has_utf16_mark else []
    except Refused as error:
        raise too_large(error, file) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "Save the file as UTF-8."
        problem = Problem(file, line, 0, "encoding", f"Byte {error.start} is not UTF-8.", hint)
        raise ProParaError(f"{file} is not UTF-8.", [problem]) from error


def too_large(error: Refused, file: str, line: int = 0) -> ProParaError:
    """Build the error for a file that exceeds a limit."""
    message = f"{error.message[:1].upper()}{error.message[1:]}."
    problem = Problem(file, line, 0, "too-large", message, error.hint)
    return ProParaError(str(problem), [problem])


def repair(text: str, answers: Grids | None = None) -> Repaired:
    """Repair an action file. Problems that cannot be repaired are left for `check` to report."""
    repairs: list[Repair] = []
    names = _names(answers)
    lines: list[str] = []
    for number, line in _lines(text, repairs):
        fields, dropped = _fields(line, number, 6)
        repairs += dropped
        if len(fields) == 6:
            repairs += _repair_row(fields, number, names)
        lines.append("\t".join(fields))
    return Repaired("".join(f"{line}\n" for line in lines), tuple(repairs))


def repair_states(text: str) -> Repaired:
    """Repair a five-column state file. Participants are repaired after conversion to an action file."""
    repairs: list[Repair] = []
    lines: list[str] = []
    for number, line in _lines(text, repairs):
        fields, dropped = _fields(line, number, 5)
        if len(fields) == 5:
            for column, code in enumerate(_STATE_CODES):
                old, new = fields[column], _state_cell(column, fields[column])
                if new != old:
                    fields[column] = new
                    repairs.append(Repair(number, column + 1, code, f"{quoted(old)} became {quoted(new)}."))
        repairs += dropped
        lines.append("\t".join(fields))
    return Repaired("".join(f"{line}\n" for line in lines), tuple(repairs))


def _lines(text: str, repairs: list[Repair]) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each row. Dropped rows and characters are added to `repairs`."""
    if text.startswith("\ufeff"):
        repairs.append(Repair(1, 1, "bom", "The byte order mark was removed."))
        text = text[1:]
    if "\r" in text:
        repairs.append(Repair(0, 0, "line-ends", "Line endings were changed to LF."))
    first = True
    for number, raw in enumerate(lines_of(text), 1):
        line = raw.removesuffix("\n")
        if not line.strip():
            repairs.append(Repair(number, 0, "blank-line", "A blank line was removed."))
        elif first and _is_header(line):
            first = False
            repairs.append(Repair(number, 0, "header", "The header row was removed."))
        else:
            first = False
            yield number, line


def _is_header(line: str) -> bool:
    """Return True if the first row is a header, with no digit in its first two cells."""
    cells = line.split("\t")
    return len(cells) > 2 and not any(re.search(r"\d", cell) for cell in cells[:2])


def _fields(line: str, number: int, most: int) -> tuple[list[str], list[Repair]]:
    fields = line.split("\t")
    if len(fields) > most:
        more = len(fields) - most
        message = f"{more} column{'s' if more > 1 else ''} after column {most} {'were' if more > 1 else 'was'} removed."
        return fields[:most], [Repair(number, most + 1, "columns", message)]
    return fields, []


def _repair_row(fields: list[str], number: int, names: dict[int, dict[str, str]]) -> Iterable[Repair]:
    """Repair the six fields in place; yield the changes."""
    for column in range(6):
        old = fields[column]
        new = _cell(column, old)
        if column == 2:
            new = _participant(fields[0], new, old, names)
        if new != old:
            fields[column] = new
            yield Repair(
                number,
                column + 1,
                _CODES[column],
                f"{quoted(old)} became {quoted(new)}{_explanation(old, new)}.",
            )
    yield from _repair_state_words(fields, number)
    yield from _fill_implied_blanks(fields, number)


_SIGNS = {"null": "-", "unk": "?"}


def _repair_state_words(fields: list[str], number: int) -> Iterable[Repair]:
    """Replace `null` and `unk`, which are used in state files, with `-` and `?`. A word is kept if the reference
    accepts the row with the word but not with the symbol.
    """
    old = fields[4:]
    signs, words = (
        [known.get(cell.lower(), cell) for cell in old] for known in (_SIGNS, {word: word for word in _SIGNS})
    )
    keeps_words = action_problem(fields[3], *signs) and not action_problem(fields[3], *words)
    for column, (was, new) in enumerate(zip(old, words if keeps_words else signs, strict=True), 4):
        if new != was:
            fields[column] = new
            yield Repair(number, column + 1, "location", f"{quoted(was)} became {quoted(new)}.")


_CODES = ("integer", "integer", "participant", "action", "location", "location")


def _cell(column: int, cell: str) -> str:
    text = cell.strip()
    if column < 2:
        match = re.fullmatch(r"\+?0*(\d+)(\.0*)?", text)
        return match.group(1) if match else text
    if column == 3:
        word = text.upper()
        word = _ALIASES.get(word, word)
        return word if word in ACTIONS else text
    if column > 3:
        return "-" if text in _DASHES else text
    return text


_STATE_CODES = ("integer", "integer", "participant", "location", "location")


def _state_cell(column: int, cell: str) -> str:
    if column < 3:
        return _cell(column, cell)
    text = cell.strip()
    if text.lower() in ("null", "unk"):
        return text.lower()
    return "-" if text in _DASHES else text


def _names(answers: Grids | None) -> dict[int, dict[str, str]]:
    """Map keys (see `_key`) to the answers' names, by process. Keys shared by several names are omitted."""
    if answers is None:
        return {}
    return {
        pid: {key: names[0] for key, names in _grouped(grid.participants).items() if len(names) == 1}
        for pid, grid in answers.items()
    }


def _grouped(names: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_key(name), []).append(name)
    return groups


def _key(name: str) -> str:
    """Normalise a name: Unicode form, case, quotes, spaces, and the order of its alternatives."""
    plain = unicodedata.normalize("NFC", name).strip().strip('"')
    parts = sorted(" ".join(part.split()).casefold() for part in plain.split(";"))
    return ";".join(part for part in parts if part)


def _participant(process: str, name: str, raw: str, names: dict[int, dict[str, str]]) -> str:
    """Return the answers' name with the same `_key`, or else the name itself."""
    known = names.get(int(process), {}) if process.isdecimal() and len(process) <= 18 else {}
    if raw in known.values():
        return raw
    return known.get(_key(name), name)


def _explanation(old: str, new: str) -> str:
    """Explain the difference between two spellings that look the same on a page."""
    same = unicodedata.normalize("NFC", old) == unicodedata.normalize("NFC", new)
    return " (same letters, now in the Unicode form that the answers use)" if same else ""


def _fill_implied_blanks(fields: list[str], number: int) -> Iterable[Repair]:
    """Fill a blank before CREATE or after DESTROY with -, the only valid value."""
    for action, column in (("CREATE", 4), ("DESTROY", 5)):
        if fields[3] == action and fields[column] == "":
            fields[column] = "-"
            yield Repair(number, column + 1, "location", f"An empty cell became “-”, as {action} requires.")
