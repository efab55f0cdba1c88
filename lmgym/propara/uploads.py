"""Uploaded files, read strictly, within limits and with all problems: submissions, answers, sentences. Pure.

Kinds of submissions: `actions` (six columns), `states` (five columns), `grids` (JSON grids), `answers` (what a language
model said to the prompt pack: JSON or JSON Lines, several samples for each process).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from lmgym.files.bounded import Refused
from lmgym.propara.check import MAX_PROBLEMS, check, read_rows, sentence_problems, too_many
from lmgym.propara.convert import (
    grids_to_actions,
    load_json,
    looks_like_states,
    no_json,
    read_answer,
    states_to_actions,
    template,
)
from lmgym.propara.errors import Problem, ProParaError
from lmgym.propara.grid import ACTIONS, Grids, Sentences, lines_of, read_grids, read_sentences
from lmgym.propara.repair import LIMITS, Repair, decode, repair, repair_states, too_large
from lmgym.propara.report import evaluate
from lmgym.text import count

# --- submissions ---

KINDS = {
    "actions": "action file, six columns",
    "states": "state file, five columns",
    "grids": "JSON grids",
    "answers": "answers to the prompt pack",
}
MAX_BYTES = 5_000_000
MAX_CELLS = 2_000_000
MAX_STEPS = 100
"""Of a prediction. Published processes have at most 10 sentences."""
MAX_SAMPLES = 20
MAX_OBJECTS = 50_000
"""Of JSON: processes, or answers about them."""
Lines = dict[int, int]
_ANSWER_KEYS = ("answers", "answer", "responses", "response", "output", "completion")


@dataclass(frozen=True)
class Sample:
    """One action file. `failures`: (process, why) of answers that could not be used and count as the template."""

    text: str
    failures: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Intake:
    """A submission as action files. One with repairs must not be scored before somebody has agreed to them."""

    kind: str
    samples: tuple[Sample, ...]
    repairs: tuple[Repair, ...] = ()

    @property
    def text(self) -> str:
        return self.samples[0].text


def take_in(data: bytes, answers: str, file: str = "predictions") -> Intake:
    """Raises ProParaError with all problems when the file cannot be scored, even after repairs."""
    if len(data) > MAX_BYTES:
        message = f"The file has {len(data):,} bytes; at most {MAX_BYTES:,} are read."
        raise refused(file, "too-large", message, "Split it by process.")
    grids = read_grids(answers, "answers")
    text, changed = decode(data, file)
    if not text.strip("\ufeff \t\r\n"):
        hint = "It needs one row per step and participant."
        raise refused(file, "empty", "The file is empty.", hint)
    if "\0" in text:
        raise refused(
            file, "binary", "The file holds NUL characters: it is no text.", "Save it as plain text."
        )
    bare = text.removeprefix("\ufeff")
    if bare.lstrip().startswith(("{", "[")):
        return _json(bare, grids, file, changed)
    if problem := grid_table_problem(bare, file):
        raise ProParaError(problem.message, [problem])
    if looks_like_states(bare):
        return _states(text, grids, file, changed)
    return _actions("actions", text, grids, file, changed)


def refused(file: str, code: str, message: str, hint: str = "") -> ProParaError:
    return ProParaError(message, [Problem(file, 0, 0, code, message, hint)])


def grid_table_problem(text: str, file: str) -> Problem | None:
    """The original annotation of ProPara (grids.v1.*.tsv) has a column for each participant, and no actions."""
    for number, line in enumerate(lines_of(text), 1):
        if fields := line.split():
            if fields[1:3] != ["SID", "PARTICIPANTS"]:
                return None
            message = "The file is a grid table of the original data, with a column for each participant."
            hint = "Write one row per sentence and participant: process, sentence, participant, action, before, after."
            return Problem(file, number, 2, "grid-table", message, hint)
    return None


def _actions(
    kind: str, text: str, grids: Grids, file: str, changed: list[Repair], lines: Lines | None = None
) -> Intake:
    """As it stands where the reference takes it; otherwise repaired; otherwise refused.

    `lines`: where the lines of this text are in the file as it came; 0 = nowhere.
    """
    _bound(text, file)
    if not changed and _fits(text, grids, file):
        return Intake(kind, (Sample(text),))
    repaired = repair(text, grids)
    if problems := check(grids, repaired.text, file):
        kept = _kept_lines(repaired.repairs, repaired.text.count("\n"))
        raise _located(problems, {line: _at(lines, old) for line, old in kept.items()}, file)
    try:
        read_grids(repaired.text, file)
    except ProParaError as error:
        raise refused(file, "unreadable", str(error)) from error
    repairs = tuple(one._replace(line=_at(lines, one.line)) for one in repaired.repairs)
    return Intake(kind, (Sample(repaired.text),), (*changed, *repairs))


def _at(lines: Lines | None, line: int) -> int:
    return line if lines is None else lines.get(line, 0)


def _located(problems: list[Problem], lines: Lines, file: str) -> ProParaError:
    """The problems at the lines of the file as it came; those that have none there speak of the file."""
    moved = [
        one._replace(line=lines.get(one.line, 0), column=one.column if lines.get(one.line) else 0)
        for one in problems
    ]
    return ProParaError(f"{file} has {count(len(moved), 'problem')}.", moved)


def _fits(text: str, grids: Grids, file: str) -> bool:
    """Does the reference take this file for these answers?"""
    try:
        found = read_grids(text, file)
    except ProParaError:
        return False
    return all(pid in found and found[pid].participants == grid.participants for pid, grid in grids.items())


def _kept_lines(repairs: tuple[Repair, ...], n: int) -> Lines:
    """Line numbers of repaired text in the file as it came."""
    dropped = {one.line for one in repairs if one.code in ("blank-line", "header")}
    kept = (line for line in range(1, n + len(dropped) + 1) if line not in dropped)
    return dict(enumerate(kept, 1))


def _bound(text: str, file: str) -> None:
    """Refuse before anything of the size of steps times participants is made."""
    last: Counter[int] = Counter()
    names: set[tuple[int, str]] = set()
    for number, line in enumerate(lines_of(text), 1):
        fields = line.split("\t", 3)
        if len(fields) < 3 or (step := _whole(fields[1])) is None or (process := _whole(fields[0])) is None:
            continue
        if step > MAX_STEPS:
            message = f"Step {step:,}: this site reads at most {MAX_STEPS} steps."
            raise ProParaError(message, [Problem(file, number, 2, "step", message)])
        last[process] = max(last[process], step)
        names.add((process, fields[2]))
    if sum(last[process] + 1 for process, _ in names) > MAX_CELLS:
        raise refused(file, "too-large", f"The file has more than {MAX_CELLS:,} cells.")


def _whole(cell: str) -> int | None:
    """A number as the reference reads it (`1_0` is 10) or the repairs do (`1.0` is 1); None for all else, and for what
    is too long for any of them."""
    bare = re.sub(r"\.0*\s*$", "", cell)
    try:
        return int(bare) if len(bare) < 100 else None
    except ValueError:
        return None


def _states(text: str, grids: Grids, file: str, changed: list[Repair]) -> Intake:
    repaired = repair_states(text)
    lines = _kept_lines(repaired.repairs, repaired.text.count("\n"))
    _bound(repaired.text, file)
    try:
        actions = states_to_actions(repaired.text, file)
    except ProParaError as error:
        raise _located(error.problems, lines, file) from error
    return _actions("states", actions, grids, file, [*changed, *repaired.repairs], lines)


# --- JSON ---


def _json(text: str, grids: Grids, file: str, changed: list[Repair]) -> Intake:
    items, lines = _read_json(text, file)
    if isinstance(items, Mapping):
        items = [items] if "process_id" in items else items.get("processes")
    if not isinstance(items, list) or not items:
        hint = 'Expected {"processes": [...]}, or one object with process_id per line.'
        raise refused(file, "json", "There is no list of processes.", hint)
    if len(items) > MAX_OBJECTS:
        raise refused(
            file, "too-large", f"The file has more than {MAX_OBJECTS:,} objects.", "Split it by process."
        )
    if any(isinstance(item, Mapping) and _answer_key(item) for item in items) or lines or _repeats(items):
        return _answers(items, grids, file, changed, lines)
    _bound_json(items, file)
    actions = grids_to_actions(items, file)
    return _actions("grids", actions, grids, file, changed, {})


def _read_json(text: str, file: str) -> tuple[Any, list[int]]:
    """What is in the text; of JSON Lines, a list and the line of each item. A file whose first line is JSON by itself
    is taken for JSON Lines, and what is wrong further down is said of the line where it is."""
    try:
        return load_json(text, LIMITS), []
    except Refused as error:
        raise too_large(error, file) from error
    except ValueError as error:
        whole = _no_json(error, file)
    items: list[Any] = []
    lines: list[int] = []
    for number, line in enumerate(lines_of(text), 1):
        if line.strip():
            try:
                items.append(load_json(line, LIMITS))
            except Refused as error:
                raise too_large(error, file, number) from error
            except ValueError as error:
                raise _no_json(error, file, number) if items else whole from error
            lines.append(number)
            if len(items) > MAX_OBJECTS:
                break
    return items, lines


def _no_json(error: ValueError, file: str, line: int = 0) -> ProParaError:
    """`line`: where the text that was read is in the file, if it is not all of it."""
    where, column = line or getattr(error, "lineno", 0), getattr(error, "colno", 0)
    problem = Problem(file, where, column, "json", no_json(error), "One object, or one per line.")
    return ProParaError(str(problem), [problem])


def _answer_key(item: Mapping[str, Any]) -> str:
    return next((key for key in _ANSWER_KEYS if key in item), "")


def _repeats(items: list[Any]) -> bool:
    ids = [item.get("process_id") for item in items if isinstance(item, Mapping)]
    return any(n > 1 for n in Counter(map(repr, ids)).values())


def _bound_json(items: list[Any], file: str) -> None:
    for item in items:
        tracks = item.get("participants") if isinstance(item, Mapping) else None
        for value in tracks.values() if isinstance(tracks, Mapping) else ():
            where = value.get("locations") if isinstance(value, Mapping) else value
            if isinstance(where, list) and len(where) > MAX_STEPS + 1:
                raise refused(file, "step", f"A list of {len(where):,} locations; at most {MAX_STEPS + 1}.")


def _answers(items: list[Any], grids: Grids, file: str, changed: list[Repair], lines: list[int]) -> Intake:
    returned = _returned(items, grids, file, lines)
    n = max(len(texts) for texts in returned.values())
    if n > MAX_SAMPLES:
        raise refused(file, "samples", f"{n} samples for one process; at most {MAX_SAMPLES} are read.")
    samples = tuple(_sample(returned, grids, k) for k in range(n))
    return Intake("answers", samples, tuple(changed))


def _returned(items: list[Any], grids: Grids, file: str, lines: list[int]) -> dict[int, list[str]]:
    """Returned texts by process, in the file's order. `lines`: the line of each item; empty outside JSON Lines."""
    returned: dict[int, list[str]] = {}
    problems: list[Problem] = []
    for number, item in enumerate(items, 1):
        if len(problems) >= MAX_PROBLEMS:
            problems.append(too_many(file))
            break
        line = lines[number - 1] if lines else 0
        pid = item.get("process_id") if isinstance(item, Mapping) else None
        if not isinstance(pid, int) or isinstance(pid, bool):
            problems.append(Problem(file, line, 0, "json", f"Object {number} has no whole process_id."))
        elif pid not in grids:
            hint = "Answers must be about the processes of these reference answers."
            problems.append(Problem(file, line, 0, "json", f"Object {number}: no process {pid}.", hint))
        else:
            key = _answer_key(item)
            said = item[key] if key else item
            several = said if isinstance(said, list) else [said]
            returned.setdefault(pid, []).extend(
                one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in several
            )
    if problems:
        raise ProParaError(f"{file} has {count(len(problems), 'problem')}.", problems)
    if not any(returned.values()):
        raise refused(file, "json", "There are no answers in the file.")
    return returned


def _sample(returned: Mapping[int, list[str]], grids: Grids, k: int) -> Sample:
    parts: list[str] = []
    failures: list[tuple[int, str]] = []
    for pid, grid in grids.items():
        texts = returned.get(pid, [])
        try:
            parts.append(read_answer(texts[k] if k < len(texts) else "", grid))
        except (ProParaError, RecursionError) as error:
            failures.append((pid, str(error)[:300]))
            parts.append(template({pid: grid}))
    return Sample("".join(parts), tuple(failures))


def samples_summary(scores: Sequence[float | None], n_failures: int, n_processes: int) -> dict[str, Any]:
    """Mean and deviation of F1 over samples, None where one has no score; and the rate of answers that could not be
    used."""
    known = [score for score in scores if score is not None]
    whole = len(known) == len(scores)
    n_answers = len(scores) * n_processes
    return {
        "n_samples": len(scores),
        "f1_mean": fmean(known) if whole else None,
        "f1_deviation": stdev(known) if whole and len(known) > 1 else None,
        "n_answers": n_answers,
        "n_failures": n_failures,
        "failure_rate": n_failures / n_answers if n_answers else 0.0,
    }


# --- answer sets ---

MAX_PROCESSES = 2_000
MAX_ID = 10**9
MAX_PARTICIPANTS = 40
"""Of one process. Together with MAX_STEPS this bounds the time that scoring a process can take."""


@dataclass(frozen=True)
class Answers:
    """`notices`: what is unusual, but accepted."""

    text: str
    sentences_text: str
    grids: Grids
    notices: tuple[str, ...]

    @property
    def n_participants(self) -> int:
        return sum(len(grid.locations) for grid in self.grids.values())

    @property
    def n_steps(self) -> int:
        return sum(grid.steps for grid in self.grids.values())

    @property
    def events(self) -> dict[str, int]:
        found = Counter(
            action for grid in self.grids.values() for row in grid.actions.values() for action in row
        )
        return {action: found[action] for action in ACTIONS}


def read_answers(answers: bytes, sentences: bytes = b"") -> Answers:
    """Raises ProParaError with all problems of both files."""
    problems: list[Problem] = []
    grids: Grids = {}
    text, sentences_text = _decoded(answers, "answers", problems), _decoded(sentences, "sentences", problems)
    if grid_table := grid_table_problem(text, "answers"):
        problems.append(grid_table)
    if not problems:
        problems += read_rows(text, "answers")[1] or _oversized(text)
    texts = _sentences(sentences_text, problems)
    if not problems:
        try:
            grids = read_grids(text, "answers")
        except ProParaError as error:
            raise refused("answers", "unreadable", str(error)) from error
        problems += _beyond_limits(grids) + (_unmatched(grids, texts) if sentences_text.strip() else [])
    if problems:
        raise ProParaError(f"The files have {count(len(problems), 'problem')}.", problems)
    return Answers(text, sentences_text, grids, tuple(_notices(text, grids, texts)))


def _decoded(data: bytes, file: str, problems: list[Problem]) -> str:
    if len(data) > MAX_BYTES:
        message = f"The file has {len(data):,} bytes; at most {MAX_BYTES:,} are read."
        problems.append(Problem(file, 0, 0, "too-large", message))
        return ""
    try:
        text, changed = decode(data, file)
    except ProParaError as error:
        problems += error.problems
        return ""
    if changed or text.startswith("\ufeff"):
        hint = "Save it as UTF-8 without a byte order mark."
        problems.append(Problem(file, 1, 1, "encoding", "The file has a byte order mark.", hint))
    if "\0" in text:
        problems.append(Problem(file, 0, 0, "binary", "The file holds NUL characters: it is no text."))
    return text


def _oversized(text: str) -> list[Problem]:
    """Before anything of the size of steps times participants is made."""
    for number, line in enumerate(lines_of(text), 1):
        step = int(line.split("\t", 2)[1])
        if step > MAX_STEPS:
            message = f"Step {step:,}: this site keeps at most {MAX_STEPS} steps."
            return [Problem("answers", number, 2, "step", message)]
    return []


def _sentences(text: str, problems: list[Problem]) -> Sentences:
    wrong = sentence_problems(text, "sentences")
    problems += wrong
    return {} if wrong or not text.strip() else read_sentences(text, "sentences")


def _beyond_limits(grids: Grids) -> list[Problem]:
    found: list[Problem] = []
    if len(grids) > MAX_PROCESSES:
        message = f"{len(grids):,} processes; reference answers hold at most {MAX_PROCESSES:,}."
        found.append(Problem("answers", 0, 0, "too-large", message))
    for pid, grid in grids.items():
        if not 0 <= pid < MAX_ID:
            found.append(
                Problem("answers", 0, 0, "integer", f"Process {pid}: numbers from 0 to {MAX_ID - 1:,}.")
            )
        if len(grid.locations) > MAX_PARTICIPANTS:
            message = f"Process {pid} has {len(grid.locations)} participants; at most {MAX_PARTICIPANTS}."
            found.append(Problem("answers", 0, 0, "too-large", message))
    return found


def _unmatched(grids: Grids, texts: Sentences) -> list[Problem]:
    found = []
    for pid, grid in grids.items():
        if pid not in texts:
            found.append(Problem("sentences", 0, 0, "missing", f"There are no sentences for process {pid}."))
        elif len(texts[pid]) != grid.steps:
            message = f"Process {pid} has {grid.steps} steps in the answers, but {len(texts[pid])} sentences."
            found.append(Problem("sentences", 0, 0, "steps", message))
    return found


def _notices(text: str, grids: Grids, texts: Sentences) -> list[str]:
    found = []
    report = evaluate(text, text)
    if report.f1 != 1.0:
        shown = "no score" if report.f1 is None else f"F1 {report.f1:.3f}"
        found.append(f"Scored against themselves, the answers have {shown}, not 1.")
    counts = Counter(flag.code for flag in report.warnings if flag.code != "all-none")
    found += [f"{code.replace('-', ' ')}: {n}" for code, n in sorted(counts.items())]
    if extra := sorted(set(texts) - set(grids)):
        found.append(f"Sentences of processes that have no answers: {', '.join(map(str, extra[:20]))}.")
    return found
