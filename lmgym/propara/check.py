"""Report all problems in a file at once, each with line, column and a hint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from lmgym.propara.errors import Problem
from lmgym.propara.grid import ACTIONS, MAX_STEP, Grids, is_integer, lines_of
from lmgym.text import count, quoted
from lmgym.text.near_names import nearest_name

MAX_PROBLEMS = 1_000
VERBATIM = "Use the names of the answers, verbatim."


@dataclass(frozen=True)
class FileRow:
    """A row with six columns, in which process and step are whole numbers."""

    line: int
    process_id: int
    step: int
    participant: str
    action: str
    before: str
    after: str


def read_rows(text: str, file: str) -> tuple[list[FileRow], list[Problem]]:
    """Return the readable rows, and the problems with unreadable rows, actions and locations. Reading stops after
    MAX_PROBLEMS problems, with a problem that says so."""
    rows: list[FileRow] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines_of(text), 1):
        row, row_problems = _row(line.strip("\n\r"), number, file)
        problems += row_problems
        if row:
            rows.append(row)
            problems += _action_problems(row, file)
        if len(problems) >= MAX_PROBLEMS:
            problems.append(too_many(file))
            break
    if not rows and not problems:
        problems.append(
            Problem(file, 0, 0, "empty", "The file is empty.", "Write one row per step and participant.")
        )
    return rows, problems


def _row(line: str, number: int, file: str) -> tuple[FileRow | None, list[Problem]]:
    if not line.strip():
        return None, [Problem(file, number, 0, "blank-line", "The line is blank.", "Delete it.")]
    if number == 1 and line.startswith("\ufeff"):
        return None, [
            Problem(
                file, 1, 1, "bom", "The file begins with a byte order mark.", "Save it as UTF-8 without one."
            )
        ]
    fields = line.split("\t")
    if len(fields) < 6:
        hint = (
            "Separate columns with tabs."
            if len(fields) == 1
            else "Write six columns: process, sentence, participant, action, before, after."
        )
        message = f"The line has {count(len(fields), 'column')}, not 6."
        return None, [Problem(file, number, len(fields), "columns", message, hint)]
    problems = [
        Problem(
            file,
            number,
            column,
            "integer",
            f"{quoted(value[:40])} is not a whole number.",
            _integer_hint(value, number),
        )
        for column, value in enumerate(fields[:2], 1)
        if not is_integer(value)
    ]
    if problems:
        return None, problems
    row = FileRow(number, int(fields[0]), int(fields[1]), *fields[2:6])
    if not 1 <= row.step <= MAX_STEP:
        message = f"There is no sentence {row.step}."
        return row, [
            Problem(
                file, number, 2, "step", message, f"Sentences are numbered from 1 to at most {MAX_STEP:,}."
            )
        ]
    return row, []


def _integer_hint(value: str, line: int) -> str:
    if re.fullmatch(r"\s*\d+\.0*\s*", value):
        return f"Write {value.strip().split('.')[0]}."
    return "If this is a header row, delete it." if line == 1 else ""


def _action_problems(row: FileRow, file: str) -> list[Problem]:
    def problem(column: int, message: str, hint: str) -> Problem:
        return Problem(file, row.line, column, "action" if column == 4 else "location", message, hint)

    action, before, after = row.action, row.before, row.after
    if action not in ACTIONS:
        near = nearest_name(action.strip().upper(), ACTIONS, alike=0.5)
        hint = f"Did you mean {near}?" if near else f"Use one of {', '.join(ACTIONS)}."
        return [problem(4, f"{quoted(action[:40])} is not an action.", hint)]
    if action == "NONE":
        if before == after:
            return []
        hint = "NONE needs equal locations. Use MOVE, CREATE or DESTROY for a change."
        return [problem(6, f"NONE with two different locations, {quoted(before)} and {quoted(after)}.", hint)]
    problems: list[Problem] = []
    if action == "CREATE":
        if before != "-":
            problems.append(
                problem(5, f"CREATE from {quoted(before)}.", "Before a CREATE, the location is -.")
            )
    elif before in ("", "-"):
        problems.append(
            problem(
                5,
                f"{action} from {quoted(before)}.",
                "Write the location before the step, or ? if it is unknown.",
            )
        )
    if action == "DESTROY":
        if after != "-":
            problems.append(
                problem(
                    6,
                    f"DESTROY with {quoted(after)} as the location after.",
                    "After a DESTROY, the location is -.",
                )
            )
    elif after in ("", "-"):
        problems.append(
            problem(
                6,
                f"{action} to {quoted(after)}.",
                "Write the location after the step, or ? if it is unknown.",
            )
        )
    return problems


def too_many(file: str) -> Problem:
    return Problem(file, 0, 0, "too-many", f"Only the first {MAX_PROBLEMS:,} problems are listed.")


def participant_problems(answers: Grids, rows: Iterable[FileRow], file: str) -> Iterator[Problem]:
    """Yield problems for missing and unexpected processes and participants, with the nearest name as a hint. A missing
    participant already suggested as a hint is not reported separately."""
    seen: dict[int, dict[str, int]] = {}
    for row in rows:
        seen.setdefault(row.process_id, {}).setdefault(row.participant, row.line)
    for pid, grid in sorted(answers.items()):
        if pid not in seen:
            yield Problem(file, 0, 0, "process-missing", f"Process {pid} is missing.")
            continue
        missing = [name for name in grid.participants if name not in seen[pid]]
        suggested: set[str] = set()
        for name, line in seen[pid].items():
            if name not in grid.locations:
                near = _nearest(name, missing)
                suggested.add(near)
                hint = f"Did you mean {quoted(near)}?" if near else VERBATIM
                message = f"Process {pid} has no participant {quoted(name)}."
                yield Problem(file, line, 3, "participant-unexpected", message, hint)
        for name in missing:
            if name not in suggested:
                message = f"Process {pid}: participant {quoted(name)} is missing."
                yield Problem(file, 0, 0, "participant-missing", message)


def _nearest(name: str, others: list[str]) -> str:
    """Return the first name in `others` that shares an alternative (`rays` for `light; rays`); failing that,
    a name in which the whole or an alternative is spelled similarly; else an empty string."""
    mine = _alternatives(name)
    if shared := next((other for other in others if mine & _alternatives(other)), ""):
        return shared
    by_spelling = {form: other for other in reversed(others) for form in _forms(other)}
    nearest = (nearest_name(form, by_spelling) for form in _forms(name))
    return next((by_spelling[near] for near in nearest if near), "")


def _forms(name: str) -> list[str]:
    """Return the whole name, then its alternatives, normalised."""
    return list(dict.fromkeys([" ".join(name.split()).casefold(), *sorted(_alternatives(name))]))


def _alternatives(name: str) -> set[str]:
    return {" ".join(part.split()).casefold() for part in name.split(";")} - {""}


def check(answers: Grids | None, predictions: str, file: str = "predictions") -> list[Problem]:
    """Return all problems in a prediction file, sorted by line. `answers`: None if the answers cannot be read."""
    rows, problems = read_rows(predictions, file)
    if answers is not None:
        mismatches = [*islice(participant_problems(answers, rows, file), MAX_PROBLEMS + 1)]
        problems += mismatches if len(mismatches) <= MAX_PROBLEMS else [*mismatches[:-1], too_many(file)]
    return sorted(problems, key=lambda problem: (problem.line == 0, problem.line, problem.column))


def sentence_problems(text: str, file: str, *, lenient: bool = False) -> list[Problem]:
    """Return all problems in a sentence file. `lenient`: only problems for which the reference rejects the file; it
    ignores columns after the third, and uses the later of two rows with the same number."""
    problems: list[Problem] = []
    seen: set[tuple[int, ...]] = set()
    for number, line in enumerate(lines_of(text), 1):
        if len(problems) >= MAX_PROBLEMS:
            problems.append(too_many(file))
            break
        fields = line.strip().split("\t")
        if len(fields) < 3 or (len(fields) > 3 and not lenient):
            hint = "Write process, number and sentence, separated by tabs."
            message = f"The line has {count(len(fields) if line.strip() else 0, 'column')}, not 3."
            problems.append(Problem(file, number, min(len(fields), 4), "columns", message, hint))
            continue
        bad_columns = [column for column, field in enumerate(fields[:2], 1) if not is_integer(field)]
        for column in bad_columns:
            message = f"{quoted(fields[column - 1][:40])} is not a whole number."
            problems.append(Problem(file, number, column, "integer", message))
        key = () if bad_columns else (int(fields[0]), int(fields[1]))
        if key and key in seen and not lenient:
            message = f"Process {key[0]} already has sentence {key[1]}."
            problems.append(
                Problem(file, number, 2, "sentence-again", message, "Give each sentence its own number.")
            )
        seen.add(key)
    return problems
