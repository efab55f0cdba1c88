"""Read action and sentence files exactly as the reference does: only the first error, same messages, same leniency.

`lmgym.propara.check` lists all problems in a file at once; `lmgym.propara.repair` reads files that the reference
rejects.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable
from typing import Any, NamedTuple

from lmgym.propara.errors import Corrupted, Crash, corrupted
from lmgym.text import count, quoted

ACTIONS = ("NONE", "CREATE", "MOVE", "DESTROY")
ABSENT, UNKNOWN = "null", "unk"
_TOKENS = {"-": ABSENT, "?": UNKNOWN}
MAX_STEP = 1_000_000
MAX_CELLS = 20_000_000
"""Limits on the step of a row and on the cells of a file. The reference has none: for a row with step
1,000,000,000 it allocates a list of that length."""


class Grid(NamedTuple):
    """A process in a file. Each participant has `steps` + 1 locations (before step 1 and after each step) and `steps`
    actions."""

    process_id: int
    steps: int
    locations: dict[str, list[str]]
    actions: dict[str, list[str]]

    @property
    def participants(self) -> Iterable[str]:
        return self.locations.keys()

    def as_dict(self) -> dict[str, Any]:
        """Return locations and actions by participant."""
        return {
            name: {"locations": where, "actions": self.actions[name]}
            for name, where in self.locations.items()
        }


Grids = dict[int, Grid]


def all_none_grid(grid: Grid) -> Grid:
    """Return a grid with the same participants and steps, NONE for all actions and unknown locations."""
    where = {name: [UNKNOWN] * (grid.steps + 1) for name in grid.participants}
    return Grid(grid.process_id, grid.steps, where, {name: ["NONE"] * grid.steps for name in where})


def token(location: str) -> str:
    """Translate a location from action files to summaries: `-` becomes `null`, and `?` becomes `unk`."""
    return _TOKENS.get(location, location)


def lines_of(text: str) -> io.StringIO:
    """Split into lines as Python's text mode does: at CR LF, LF and CR, but not at form feed or U+2028."""
    return io.StringIO(text, newline=None)


def read_text(path: str) -> str:
    """Read a UTF-8 file. Raises Crash where the reference ends with a traceback."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error


def read_action_file(path: str) -> str:
    """Read an action file. Raises Crash or Corrupted. The reference decodes 8,192 bytes at a time, so errors in rows
    before the first block that is not UTF-8 are reported first."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = _text_before(data)
        lines = list(lines_of(text))
        _lengths(lines if text.endswith("\n") else lines[:-1], path)
        raise _not_utf8(path, error) from error


def read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Crash(f"Cannot read {path}: {error.strerror}.") from error


def _not_utf8(path: str, error: UnicodeDecodeError) -> Crash:
    return Crash(f"{path} is not UTF-8: {error.reason} at byte {error.start}.")


_BLOCK = 8_192


def _text_before(data: bytes) -> str:
    """Decode the blocks before the first block that is not UTF-8. A character may span two blocks."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    blocks: list[str] = []
    for start in range(0, len(data), _BLOCK):
        try:
            blocks.append(decoder.decode(data[start : start + _BLOCK]))
        except UnicodeDecodeError:
            break
    return "".join(blocks)


def read_grids(text: str, file: str) -> Grids:
    """Parse the text of an action file. Raises Corrupted or Crash for the first error in the order of the reference's
    two passes."""
    lines = list(lines_of(text))
    lengths = _lengths(lines, file)
    if not lengths:
        raise corrupted(file, "no lines to iterate")
    grids: Grids = {}
    cells = 0
    for number, line in enumerate(lines, 1):
        fields = line.strip("\n\r").split("\t", 6)[:6]
        if len(fields) < 6:
            raise corrupted(file, f"not enough values to unpack (expected 6, got {len(fields)})", number)
        pid, step = _process_and_step(fields, file, number)
        _, _, participant, action, before, after = fields
        if problem := action_problem(action, before, after):
            raise corrupted(file, problem, number)
        grid = grids.get(pid)
        if grid is None:
            grid = grids[pid] = Grid(pid, lengths[pid], {}, {})
        if participant not in grid.locations:
            cells += grid.steps + 1
            if cells > MAX_CELLS:
                raise Crash(f"{file}, line {number}: more than {MAX_CELLS:,} cells.")
            grid.locations[participant] = [UNKNOWN] * (grid.steps + 1)
            grid.actions[participant] = ["NONE"] * grid.steps
        try:  # as in the reference, steps below 1 index from the end, and later rows replace earlier ones
            if step == 1:
                grid.locations[participant][0] = token(before)
            grid.locations[participant][step] = token(after)
            grid.actions[participant][step - 1] = action
        except IndexError:
            message = f"process {pid} has no step {step}; steps are numbered from 1."
            raise Crash(f"{file}, line {number}: {message}") from None
    return grids


def _lengths(lines: list[str], file: str) -> dict[int, int]:
    """Find the highest step of each process, as in the reference's first pass."""
    lengths: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        fields = line.strip().split("\t", 2)
        if len(fields) < 2:
            raise corrupted(file, "not enough values to unpack (expected 2, got 1)", number)
        pid, step = _process_and_step(fields, file, number)
        if step > MAX_STEP:
            raise Crash(f"{file}, line {number}: step {step} exceeds the limit of {MAX_STEP:,}.")
        if step > lengths.setdefault(pid, 0):
            lengths[pid] = step
    return lengths


def _process_and_step(fields: list[str], file: str, line: int) -> tuple[int, int]:
    try:
        return int(fields[0]), int(fields[1])
    except ValueError:
        wrong = fields[1] if is_integer(fields[0]) else fields[0]
        raise Crash(
            f"{file}, line {line}: {quoted(wrong[:40])} is not a whole number. "
            "The first two columns are the process and the sentence; a header row or byte order mark is not allowed."
        ) from None


def is_integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def action_problem(action: str, before: str, after: str) -> str:
    """Return the reference's message about a row's last three columns; empty if they are valid."""
    if action == "NONE":
        return "" if before == after else f"Unequal NONE locations: {before} -- {after}"
    if action == "CREATE":
        if before != "-":
            return f"Invalid CREATE before_location: {before}"
        return f"Invalid CREATE after_location: {after}" if after in ("", "-") else ""
    if action == "DESTROY":
        if before in ("", "-"):
            return f"Invalid DESTROY before_location: {before}"
        return f"Invalid DESTROY after_location: {after}" if after != "-" else ""
    if action == "MOVE":
        if before in ("", "-"):
            return f"Invalid MOVE before_location: {before}"
        return f"Invalid MOVE after_location: {after}" if after in ("", "-") else ""
    return f"Invalid action: {action}"


def implied_action(before: str, after: str) -> str:
    """Derive the action from the locations before and after."""
    if before == after:
        return "NONE"
    if before == ABSENT:
        return "CREATE"
    return "DESTROY" if after == ABSENT else "MOVE"


def participant_differences(answers: Grids, predictions: Grids, file: str) -> list[str]:
    """Return the reference's message lines about missing or unexpected participants. Extra processes are allowed."""
    lines: list[str] = []
    for pid in sorted(answers):
        if pid not in predictions:
            lines.append(f"Process {pid} missing in {file}")
            continue
        theirs, mine = answers[pid].locations.keys(), predictions[pid].locations.keys()
        lines += sorted(
            [f'Process {pid} in {file}: participant "{name}" is missing.' for name in theirs - mine]
            + [f'Process {pid} in {file}: participant "{name}" is unexpected.' for name in mine - theirs]
        )
    return lines


def differences_message(lines: list[str], answers_file: str, predictions_file: str) -> str:
    return (
        f"Participants in predictions file {predictions_file} are not exact matches to participants\n"
        f"in {answers_file}. Detailed report:\n\n" + "\n".join(lines) + "\n\n"
        f"Corrupted or empty action file {predictions_file} (Some participants are missing or unexpected.)"
    )


# --- sentences ---

Sentences = dict[int, tuple[str, ...]]
"""Sentences by process."""


def read_sentences(text: str, file: str) -> Sentences:
    """Parse sentences, sort them and renumber them from 1. The later of two rows with the same number is used. The file
    may be empty. Raises Crash for the first invalid row."""
    texts: dict[tuple[int, int], str] = {}
    for number, line in enumerate(lines_of(text), 1):
        fields = line.strip().split("\t", 3)[:3]
        if len(fields) < 3:
            raise Crash(
                f"{file}, line {number}: expected process, number and sentence, got {count(len(fields), 'column')}."
            )
        try:
            key = (int(fields[0]), int(fields[1]))
        except ValueError:
            raise Crash(f"{file}, line {number}: process and number must be whole numbers.") from None
        texts[key] = fields[2]
    sentences: dict[int, list[str]] = {}
    for process_id, index in sorted(texts):
        sentences.setdefault(process_id, []).append(texts[process_id, index])
    return {process_id: tuple(rows) for process_id, rows in sentences.items()}


def sentences_missing(file: str, process_id: int) -> Corrupted:
    return Corrupted(
        f"Corrupted or empty sentences file {file} (Sentences for process {process_id} not found.)"
    )
