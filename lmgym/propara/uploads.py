"""Parse uploaded files: submissions, reference answers, sentences. Limits are checked first, and all problems are
reported at once.

Kinds of submissions: `actions` (six columns), `states` (five columns), `grids` (JSON grids), `answers` (a language
model's responses to the prompt pack as JSON or JSON Lines, with one or more samples per process).
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
    json_error,
    load_json,
    looks_like_states,
    read_response,
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
"""Maximum number of steps of a process. Published processes have at most 10 sentences."""
MAX_SAMPLES = 20
MAX_OBJECTS = 50_000
"""Maximum number of objects (processes or responses) in a JSON file."""
Lines = dict[int, int]
_RESPONSE_KEYS = ("answers", "answer", "responses", "response", "output", "completion")


@dataclass(frozen=True)
class Sample:
    """A sample as an action file. `failures`: (process, reason) for unusable responses, replaced by the template."""

    text: str
    failures: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class ParsedUpload:
    """A submission as action files. If there are repairs, the owner must agree to them before it is scored."""

    kind: str
    samples: tuple[Sample, ...]
    repairs: tuple[Repair, ...] = ()

    @property
    def text(self) -> str:
        return self.samples[0].text


def parse_upload(data: bytes, answers: str, file: str = "predictions") -> ParsedUpload:
    """Parse a submission of any kind, repairing it if the reference would reject it.

    Args:
        data: the uploaded file.
        answers: text of the reference answers, an action file.
        file: name for the upload in messages.

    Raises:
        ProParaError: the file cannot be scored even after repairs; `problems` lists all problems.
    """
    if len(data) > MAX_BYTES:
        message = f"The file is {len(data):,} bytes; at most {MAX_BYTES:,} are allowed."
        raise refused(file, "too-large", message, "Split the file by process.")
    grids = read_grids(answers, "answers")
    text, changed = decode(data, file)
    if not text.strip("\ufeff \t\r\n"):
        hint = "Write one row per step and participant."
        raise refused(file, "empty", "The file is empty.", hint)
    if "\0" in text:
        raise refused(
            file, "binary", "The file contains NUL characters, so it is not text.", "Save it as plain text."
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
    """Return a problem for ProPara's original annotation (grids.v1.*.tsv), with a column per participant and no
    actions, and None for other text."""
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
) -> ParsedUpload:
    """Keep the text unchanged if the reference accepts it; otherwise repair it or raise ProParaError.

    `lines` maps line numbers of the text to line numbers of the uploaded file, or 0 if there is no such line.
    """
    _bound(text, file)
    if not changed and _is_accepted(text, grids, file):
        return ParsedUpload(kind, (Sample(text),))
    repaired = repair(text, grids)
    if problems := check(grids, repaired.text, file):
        kept = _kept_lines(repaired.repairs, repaired.text.count("\n"))
        raise _located(problems, {line: _at(lines, old) for line, old in kept.items()}, file)
    try:
        read_grids(repaired.text, file)
    except ProParaError as error:
        raise refused(file, "unreadable", str(error)) from error
    repairs = tuple(row._replace(line=_at(lines, row.line)) for row in repaired.repairs)
    return ParsedUpload(kind, (Sample(repaired.text),), (*changed, *repairs))


def _at(lines: Lines | None, line: int) -> int:
    return line if lines is None else lines.get(line, 0)


def _located(problems: list[Problem], lines: Lines, file: str) -> ProParaError:
    """Build an error that lists the problems by line of the uploaded file. Problems without a line concern the whole
    file.
    """
    moved = [
        problem._replace(
            line=lines.get(problem.line, 0), column=problem.column if lines.get(problem.line) else 0
        )
        for problem in problems
    ]
    return ProParaError(f"{file} has {count(len(moved), 'problem')}.", moved)


def _is_accepted(text: str, grids: Grids, file: str) -> bool:
    """Return True if the reference accepts the file for these answers."""
    try:
        predictions = read_grids(text, file)
    except ProParaError:
        return False
    return all(
        pid in predictions and predictions[pid].participants == grid.participants
        for pid, grid in grids.items()
    )


def _kept_lines(repairs: tuple[Repair, ...], n: int) -> Lines:
    """Map line numbers of repaired text to line numbers of the uploaded file."""
    dropped = {repair.line for repair in repairs if repair.code in ("blank-line", "header")}
    kept = (line for line in range(1, n + len(dropped) + 1) if line not in dropped)
    return dict(enumerate(kept, 1))


def _bound(text: str, file: str) -> None:
    """Reject too many steps or cells before allocating memory for them."""
    last: Counter[int] = Counter()
    names: set[tuple[int, str]] = set()
    for number, line in enumerate(lines_of(text), 1):
        fields = line.split("\t", 3)
        if (
            len(fields) < 3
            or (step := _integer(fields[1])) is None
            or (process := _integer(fields[0])) is None
        ):
            continue
        if step > MAX_STEPS:
            message = f"Step {step:,}: at most {MAX_STEPS} steps are allowed."
            raise ProParaError(message, [Problem(file, number, 2, "step", message)])
        last[process] = max(last[process], step)
        names.add((process, fields[2]))
    if sum(last[process] + 1 for process, _ in names) > MAX_CELLS:
        raise refused(file, "too-large", f"The file has more than {MAX_CELLS:,} cells.")


def _integer(cell: str) -> int | None:
    """Parse a number as in the reference (`1_0` is 10) or in repairs (`1.0` is 1). Return None for anything else, or
    for 100 characters or more."""
    bare = re.sub(r"\.0*\s*$", "", cell)
    try:
        return int(bare) if len(bare) < 100 else None
    except ValueError:
        return None


def _states(text: str, grids: Grids, file: str, changed: list[Repair]) -> ParsedUpload:
    repaired = repair_states(text)
    lines = _kept_lines(repaired.repairs, repaired.text.count("\n"))
    _bound(repaired.text, file)
    try:
        actions = states_to_actions(repaired.text, file)
    except ProParaError as error:
        raise _located(error.problems, lines, file) from error
    return _actions("states", actions, grids, file, [*changed, *repaired.repairs], lines)


# --- JSON ---


def _json(text: str, grids: Grids, file: str, changed: list[Repair]) -> ParsedUpload:
    items, lines = _read_json(text, file)
    if isinstance(items, Mapping):
        items = [items] if "process_id" in items else items.get("processes")
    if not isinstance(items, list) or not items:
        hint = 'Expected {"processes": [...]}, or one object with process_id per line.'
        raise refused(file, "json", "The file has no list of processes.", hint)
    if len(items) > MAX_OBJECTS:
        raise refused(
            file,
            "too-large",
            f"The file has more than {MAX_OBJECTS:,} objects.",
            "Split the file by process.",
        )
    if any(isinstance(item, Mapping) and _response_key(item) for item in items) or lines or _repeats(items):
        return _responses(items, grids, file, changed, lines)
    _bound_json(items, file)
    actions = grids_to_actions(items, file)
    return _actions("grids", actions, grids, file, changed, {})


def _read_json(text: str, file: str) -> tuple[Any, list[int]]:
    """Decode JSON, or JSON Lines as a list with each item's line number. A file whose first line is valid JSON is read
    as JSON Lines, so that errors in later lines are reported with their line number."""
    try:
        return load_json(text, LIMITS), []
    except Refused as error:
        raise too_large(error, file) from error
    except ValueError as error:
        not_json = _not_json(error, file)
    items: list[Any] = []
    lines: list[int] = []
    for number, line in enumerate(lines_of(text), 1):
        if line.strip():
            try:
                items.append(load_json(line, LIMITS))
            except Refused as error:
                raise too_large(error, file, number) from error
            except ValueError as error:
                raise _not_json(error, file, number) if items else not_json from error
            lines.append(number)
            if len(items) > MAX_OBJECTS:
                break
    return items, lines


def _not_json(error: ValueError, file: str, line: int = 0) -> ProParaError:
    """Build the error for invalid JSON. `line`: number of the decoded line; 0 for the whole file."""
    where, column = line or getattr(error, "lineno", 0), getattr(error, "colno", 0)
    problem = Problem(
        file, where, column, "json", json_error(error), "Expected one object, or one object per line."
    )
    return ProParaError(str(problem), [problem])


def _response_key(item: Mapping[str, Any]) -> str:
    return next((key for key in _RESPONSE_KEYS if key in item), "")


def _repeats(items: list[Any]) -> bool:
    ids = [item.get("process_id") for item in items if isinstance(item, Mapping)]
    return len({repr(pid) for pid in ids}) < len(ids)


def _bound_json(items: list[Any], file: str) -> None:
    for item in items:
        tracks = item.get("participants") if isinstance(item, Mapping) else None
        for value in tracks.values() if isinstance(tracks, Mapping) else ():
            locations = value.get("locations") if isinstance(value, Mapping) else value
            if isinstance(locations, list) and len(locations) > MAX_STEPS + 1:
                message = f"A list has {len(locations):,} locations; at most {MAX_STEPS + 1} are allowed."
                raise refused(file, "step", message)


def _responses(
    items: list[Any], grids: Grids, file: str, changed: list[Repair], lines: list[int]
) -> ParsedUpload:
    returned = _returned(items, grids, file, lines)
    n = max(len(texts) for texts in returned.values())
    if n > MAX_SAMPLES:
        raise refused(file, "samples", f"A process has {n} samples; at most {MAX_SAMPLES} are allowed.")
    samples = tuple(_sample(returned, grids, k) for k in range(n))
    return ParsedUpload("answers", samples, tuple(changed))


def _returned(items: list[Any], grids: Grids, file: str, lines: list[int]) -> dict[int, list[str]]:
    """Group responses by process, in the order of the file. `lines`: lines of the items; empty unless JSON Lines."""
    returned: dict[int, list[str]] = {}
    problems: list[Problem] = []
    for number, item in enumerate(items, 1):
        if len(problems) >= MAX_PROBLEMS:
            problems.append(too_many(file))
            break
        line = lines[number - 1] if lines else 0
        pid = item.get("process_id") if isinstance(item, Mapping) else None
        if not isinstance(pid, int) or isinstance(pid, bool):
            problems.append(
                Problem(file, line, 0, "json", f"Object {number}: process_id must be a whole number.")
            )
        elif pid not in grids:
            hint = "Use the process ids of the reference answers."
            problems.append(
                Problem(
                    file,
                    line,
                    0,
                    "json",
                    f"Object {number}: process {pid} is not in the reference answers.",
                    hint,
                )
            )
        else:
            key = _response_key(item)
            response = item[key] if key else item
            samples = response if isinstance(response, list) else [response]
            returned.setdefault(pid, []).extend(
                sample if isinstance(sample, str) else json.dumps(sample, ensure_ascii=False)
                for sample in samples
            )
    if problems:
        raise ProParaError(f"{file} has {count(len(problems), 'problem')}.", problems)
    if not any(returned.values()):
        raise refused(file, "json", "The file contains no answers.")
    return returned


def _sample(returned: Mapping[int, list[str]], grids: Grids, k: int) -> Sample:
    parts: list[str] = []
    failures: list[tuple[int, str]] = []
    for pid, grid in grids.items():
        texts = returned.get(pid, [])
        try:
            parts.append(read_response(texts[k] if k < len(texts) else "", grid))
        except (ProParaError, RecursionError) as error:
            failures.append((pid, str(error)[:300]))
            parts.append(template({pid: grid}))
    return Sample("".join(parts), tuple(failures))


def samples_summary(scores: Sequence[float | None], n_failures: int, n_processes: int) -> dict[str, Any]:
    """Summarise samples: mean and standard deviation of F1 (None if a sample has no score), and the rate of unusable
    answers."""
    known = [score for score in scores if score is not None]
    all_scored = len(known) == len(scores)
    n_answers = len(scores) * n_processes
    return {
        "n_samples": len(scores),
        "f1_mean": fmean(known) if all_scored else None,
        "f1_deviation": stdev(known) if all_scored and len(known) > 1 else None,
        "n_answers": n_answers,
        "n_failures": n_failures,
        "failure_rate": n_failures / n_answers if n_answers else 0.0,
    }


# --- reference answers ---

MAX_PROCESSES = 2_000
MAX_ID = 10**9
MAX_PARTICIPANTS = 40
"""Maximum number of participants of a process. Together with MAX_STEPS, this bounds the scoring time."""


@dataclass(frozen=True)
class ReferenceAnswers:
    """Reference answers with their sentences. `notices`: oddities that were accepted."""

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
        counts = Counter(
            action for grid in self.grids.values() for row in grid.actions.values() for action in row
        )
        return {action: counts[action] for action in ACTIONS}


def read_answers(answers: bytes, sentences: bytes = b"") -> ReferenceAnswers:
    """Parse uploaded reference answers and sentences. Raises ProParaError with all problems of both files."""
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
    return ReferenceAnswers(text, sentences_text, grids, tuple(_notices(text, grids, texts)))


def _decoded(data: bytes, file: str, problems: list[Problem]) -> str:
    if len(data) > MAX_BYTES:
        message = f"The file is {len(data):,} bytes; at most {MAX_BYTES:,} are allowed."
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
        problems.append(Problem(file, 0, 0, "binary", "The file contains NUL characters, so it is not text."))
    return text


def _oversized(text: str) -> list[Problem]:
    """Report too many steps before allocating memory for them."""
    for number, line in enumerate(lines_of(text), 1):
        step = int(line.split("\t", 2)[1])
        if step > MAX_STEPS:
            message = f"Step {step:,}: at most {MAX_STEPS} steps are allowed."
            return [Problem("answers", number, 2, "step", message)]
    return []


def _sentences(text: str, problems: list[Problem]) -> Sentences:
    wrong = sentence_problems(text, "sentences")
    problems += wrong
    return {} if wrong or not text.strip() else read_sentences(text, "sentences")


def _beyond_limits(grids: Grids) -> list[Problem]:
    problems: list[Problem] = []
    if len(grids) > MAX_PROCESSES:
        message = f"There are {len(grids):,} processes; reference answers can have at most {MAX_PROCESSES:,}."
        problems.append(Problem("answers", 0, 0, "too-large", message))
    for pid, grid in grids.items():
        if not 0 <= pid < MAX_ID:
            problems.append(
                Problem(
                    "answers", 0, 0, "integer", f"Process {pid}: ids must be between 0 and {MAX_ID - 1:,}."
                )
            )
        if len(grid.locations) > MAX_PARTICIPANTS:
            message = f"Process {pid} has {len(grid.locations)} participants; at most {MAX_PARTICIPANTS} are allowed."
            problems.append(Problem("answers", 0, 0, "too-large", message))
    return problems


def _unmatched(grids: Grids, texts: Sentences) -> list[Problem]:
    problems = []
    for pid, grid in grids.items():
        if pid not in texts:
            problems.append(Problem("sentences", 0, 0, "missing", f"Process {pid} has no sentences."))
        elif len(texts[pid]) != grid.steps:
            sentences = count(len(texts[pid]), "sentence")
            message = f"Process {pid} has {count(grid.steps, 'step')} in the answers, but {sentences}."
            problems.append(Problem("sentences", 0, 0, "steps", message))
    return problems


def _notices(text: str, grids: Grids, texts: Sentences) -> list[str]:
    notices = []
    report = evaluate(text, text)
    if report.f1 != 1.0:
        shown = "no score" if report.f1 is None else f"F1 {report.f1:.3f}"
        notices.append(f"Scored against themselves, the answers have {shown}, not 1.")
    counts = Counter(warning.code for warning in report.warnings if warning.code != "all-none")
    notices += [f"{code.replace('-', ' ')}: {n}" for code, n in sorted(counts.items())]
    if extra := sorted(set(texts) - set(grids)):
        notices.append(f"Processes with sentences but without answers: {', '.join(map(str, extra[:20]))}.")
    return notices
