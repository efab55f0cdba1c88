"""Convert action files from and to other formats: state files, JSON grids, templates, prompt packs.

* State files, the format of older baselines, have five columns: process, step, participant, location before, location
  after, with `null` and `unk` (or `-` and `?`). Actions are derived from the states.
* A JSON grid is `{"processes": [{"process_id": 1, "participants": {"water": ["sea", "sea", "air"]}}]}`. It lists each
  participant's location before the first sentence and after each sentence. A list of locations can be replaced by
  `{"locations": [...], "actions": [...]}`; actions are then not derived. null, "-" and "null" mean that the participant
  does not exist.
* A prompt pack has one prompt per process: the sentences, the participants and a JSON schema for the response. A
  response is a process as in a grid: `{"process_id": 1, "participants": {"water": ["sea", "sea", null]}}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from lmgym.files.bounded import Limits, load
from lmgym.propara.check import MAX_PROBLEMS, too_many
from lmgym.propara.errors import Problem, ProParaError
from lmgym.propara.grid import (
    ABSENT,
    ACTIONS,
    MAX_STEP,
    UNKNOWN,
    Grid,
    Grids,
    Sentences,
    implied_action,
    lines_of,
    token,
)
from lmgym.text import count, quoted
from lmgym.text.json_text import SYNTAX_HINTS

Row = tuple[int, int, str, str, str, str]
_INVALID = re.compile("[\\t\\n\\r\\0\\ud800-\\udfff]")
_INVALID_IN_WORDS = "tabs, line breaks, NUL or an unpaired surrogate"
_SIGNS = {ABSENT: "-", UNKNOWN: "?"}


def sign(location: str) -> str:
    """Translate a location from summaries to action files: `-` for absent, `?` for unknown."""
    return _SIGNS.get(location, location)


def write_rows(rows: Sequence[Row]) -> str:
    """Return the text of an action file."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def looks_like_states(text: str) -> bool:
    """Return True if the first row has five columns, ignoring an extra tab at its end."""
    first = next((line for line in lines_of(text) if line.strip()), "").rstrip("\n").split("\t")
    return len(first) == 5 or (
        len(first) == 6 and not first[5].strip() and first[3].strip().upper() not in ACTIONS
    )


def states_to_actions(text: str, file: str = "predictions") -> str:
    """Convert a five-column state file to an action file. Raises ProParaError with all problems."""
    rows: list[Row] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines_of(text), 1):
        if len(problems) >= MAX_PROBLEMS:
            problems.append(too_many(file))
            break
        fields = line.strip("\n\r").split("\t")
        if len(fields) != 5:
            message = f"The line has {count(len(fields), 'column')}, not 5."
            hint = "Write process, step, participant, location before and location after."
            problems.append(Problem(file, number, len(fields), "columns", message, hint))
            continue
        try:
            process_id, step = int(fields[0]), int(fields[1])
        except ValueError:
            message = "Process and step must be whole numbers."
            problems.append(Problem(file, number, 1, "integer", message))
            continue
        before, after = token(fields[3]), token(fields[4])
        action = implied_action(before, after)
        rows.append((process_id, step, fields[2], action, sign(before), sign(after)))
    _raise_if_any(problems, file)
    return write_rows(rows)


def load_json(text: str, limits: Limits | None = None) -> Any:
    """Decode JSON. Raises ValueError, even for a repeated key in an object, where `json.loads` silently keeps the last
    value."""
    return load(text, limits or Limits(), object_pairs_hook=_unique_keys)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {quoted(key[:60])} is repeated in an object")
        values[key] = value
    return values


def json_error(error: ValueError) -> str:
    """Return a message that tells users why `load_json` failed."""
    if isinstance(error, json.JSONDecodeError):
        return f"The JSON cannot be read. {SYNTAX_HINTS.get(error.msg, f'{error.msg}.')}"
    return f"The JSON cannot be read: {error}."


def grids_to_actions(data: Any, file: str = "predictions") -> str:
    """Convert a decoded JSON grid to an action file. Raises ProParaError with all problems."""
    processes = data.get("processes") if isinstance(data, dict) else data
    if not isinstance(processes, list):
        problem = Problem(
            file, 0, 0, "json", "The file has no list of processes.", 'Expected {"processes": [...]}.'
        )
        raise ProParaError(str(problem), [problem])
    rows: list[Row] = []
    problems: list[Problem] = []
    for number, process in enumerate(processes, 1):
        process_rows, process_problems = _process_rows(process, number, file)
        rows += process_rows
        problems += process_problems
    _raise_if_any(problems, file)
    return write_rows(rows)


def _process_rows(process: Any, number: int, file: str) -> tuple[list[Row], list[Problem]]:
    def problem(at: str, message: str) -> Problem:
        return Problem(file, 0, 0, "json", f"{at}: {message}")

    if not isinstance(process, Mapping) or not isinstance(process.get("participants"), Mapping):
        return [], [problem(f"Object {number}", "expected an object with process_id and participants.")]
    process_id = process.get("process_id")
    if not isinstance(process_id, int) or isinstance(process_id, bool):
        return [], [problem(f"Object {number}", "process_id must be a whole number.")]
    rows: list[Row] = []
    problems: list[Problem] = []
    for name, value in process["participants"].items():
        at = f"Process {process_id}, participant {quoted(name)}"
        if not name.strip() or _INVALID.search(name):
            problems.append(problem(at, f"a name cannot be blank or contain {_INVALID_IN_WORDS}."))
            continue
        try:
            rows += _track_rows(process_id, name, value)
        except ValueError as error:
            problems.append(problem(at, str(error)))
    return rows, problems


def _track_rows(process_id: int, name: str, value: Any) -> list[Row]:
    track = value if isinstance(value, Mapping) else {"locations": value}
    locations = track.get("locations")
    if not isinstance(locations, list) or not 2 <= len(locations) <= MAX_STEP:
        raise ValueError("expected a list of locations: before the first sentence and after each sentence.")
    tokens = [_location(item) for item in locations]
    implied = [implied_action(*pair) for pair in pairwise(tokens)]
    actions = track.get("actions", implied)
    if not isinstance(actions, list) or len(actions) != len(implied):
        raise ValueError(f"expected {count(len(implied), 'action')}, one fewer than the locations.")
    rows: list[Row] = []
    for step, action in enumerate(actions, 1):
        if action not in ACTIONS:
            raise ValueError(f"{_shown(action)} is not one of {', '.join(ACTIONS)}.")
        rows.append((process_id, step, name, action, sign(tokens[step - 1]), sign(tokens[step])))
    return rows


def _location(value: Any) -> str:
    if value is None:
        return ABSENT
    if not isinstance(value, str) or _INVALID.search(value):
        raise ValueError(f"{_shown(value)} is not a location. Use null or text without {_INVALID_IN_WORDS}.")
    return token(value.strip()) if value.strip() else UNKNOWN


def _shown(value: Any) -> str:
    """Format a JSON value for a message."""
    return quoted(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:60]


def grids_to_json(grids: Grids) -> str:
    """Write grids as JSON. Lossless, except for cells that are not determined by locations."""
    processes = [
        {
            "process_id": grid.process_id,
            "participants": {
                name: {"locations": [sign(item) for item in where], "actions": grid.actions[name]}
                for name, where in grid.locations.items()
            },
        }
        for grid in grids.values()
    ]
    return json.dumps({"processes": processes}, ensure_ascii=False, indent=1) + "\n"


def template(answers: Grids) -> str:
    """Return an action file to fill in: the first three columns of the answers, with NONE and `?`. It can be scored
    as it is."""
    return write_rows(
        [
            (grid.process_id, step, participant, "NONE", "?", "?")
            for grid in answers.values()
            for step in range(1, grid.steps + 1)
            for participant in grid.participants
        ]
    )


def _raise_if_any(problems: list[Problem], file: str) -> None:
    if problems:
        raise ProParaError(f"{file} has {count(len(problems), 'problem')}.", problems)


# --- prompt pack and responses ---

INSTRUCTION = (
    "Read the paragraph. For each participant, say where it is before the first sentence and after each sentence. "
    'Use words of the paragraph for a place. Use "?" if it exists at a place the paragraph does not tell, and null '
    "while it does not exist. Answer with one JSON object that fits the schema, and nothing else."
)


def schema(grid: Grid) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) for a response about one process."""
    track = {
        "type": "array",
        "minItems": grid.steps + 1,
        "maxItems": grid.steps + 1,
        "items": {"type": ["string", "null"]},
    }
    names = list(grid.participants)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["process_id", "participants"],
        "properties": {
            "process_id": {"const": grid.process_id},
            "participants": {
                "type": "object",
                "additionalProperties": False,
                "required": names,
                "properties": dict.fromkeys(names, track),
            },
        },
    }


def prompt(grid: Grid, sentences: Sequence[str]) -> str:
    numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, 1))
    names = "\n".join(f"- {name}" for name in grid.participants)
    return (
        f"{INSTRUCTION}\n\nParagraph {grid.process_id}:\n{numbered}\n\nParticipants:\n{names}\n\n"
        f"JSON schema:\n{json.dumps(schema(grid), ensure_ascii=False)}\n"
    )


def prompt_pack(answers: Grids, sentences: Sentences) -> list[dict[str, Any]]:
    """Return one object per process. Only participants' names and numbers of steps are taken from the answers."""
    return [
        {
            "process_id": pid,
            "sentences": list(sentences.get(pid, ())),
            "participants": list(grid.participants),
            "schema": schema(grid),
            "prompt": prompt(grid, sentences.get(pid, ())),
        }
        for pid, grid in answers.items()
    ]


def prompt_lines(answers: Grids, sentences: Sentences) -> str:
    """Write the prompt pack as JSON Lines."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in prompt_pack(answers, sentences))


def read_response(text: str, grid: Grid) -> str:
    """Convert a model's response to rows of an action file. Raises ProParaError if it does not match the schema."""
    if not text.strip():
        raise ProParaError("The answer is empty.")
    fenced = re.search(r"```(?:json)?\s*(.*?)```", text, re.DOTALL)
    try:
        data = load_json(fenced.group(1) if fenced else text)
    except ValueError as error:
        if "{" not in text:
            raise ProParaError("The answer contains no JSON.") from error
        at = (
            f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        )
        raise ProParaError(f"{json_error(error)}{at}") from error
    from jsonschema import Draft202012Validator

    errors = sorted(
        Draft202012Validator(schema(grid)).iter_errors(data), key=lambda item: list(map(str, item.path))
    )
    if errors:
        raise ProParaError(_schema_error(errors[0], grid))
    return grids_to_actions([data])


def _schema_error(error: Any, grid: Grid) -> str:
    """Turn a jsonschema error into a message that tells users what is wrong in a response, and where."""
    keyword, value, path = error.validator, error.instance, [*error.path]
    if keyword == "required":
        names = quoted(next(name for name in error.validator_value if name not in value))
        return f"{'Participant ' if path else ''}{names} is missing."
    if keyword == "additionalProperties":
        name = quoted(next(name for name in value if name not in error.schema["properties"])[:60])
        return f"Process {grid.process_id} has no participant {name}." if path else f"{name} is not expected."
    if keyword == "const":
        return f"process_id is {_shown(value)}; the prompt is about process {grid.process_id}."
    at = f"Participant {quoted(path[1])}: " if len(path) > 1 else ""
    if len(path) == 3:
        return f"{at}location {path[2] + 1} is {_shown(value)}; expected text or null."
    if len(path) == 2:
        shown = count(len(value), "location") if isinstance(value, list) else _shown(value)
        return f"{at}{shown}; expected {grid.steps + 1} locations: before the first sentence and after each."
    return f"{'participants' if path else 'The answer'} is {_shown(value)}; expected an object."
