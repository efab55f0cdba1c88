"""A prompt pack for language models, and reading the JSON that comes back. Pure.

A pack has one prompt for each process: the sentences, the participants and a JSON schema of the answer. An answer is
`{"process_id": 1, "participants": {"water": ["sea", "sea", null]}}`: the location before the first sentence and after
each sentence, "?" where it exists at an unknown place, null where it does not exist. Actions are derived.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from gym.propara.core.convert import grids_to_actions, load_json
from gym.propara.core.errors import ProParaError
from gym.propara.core.grid import Grid, Grids
from gym.propara.core.sentences import Sentences

INSTRUCTION = (
    "Read the paragraph. For each participant, say where it is before the first sentence and after each sentence. "
    'Use words of the paragraph for a place. Use "?" if it exists at a place the paragraph does not tell, and null '
    "while it does not exist. Answer with one JSON object that fits the schema, and nothing else."
)


def schema(grid: Grid) -> dict[str, Any]:
    """JSON Schema (2020-12) of the answer about one process."""
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


def pack(answers: Grids, sentences: Sentences) -> list[dict[str, Any]]:
    """One object for each process, ready for JSON Lines. Only names and numbers of steps come from the answers."""
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


def read_answer(text: str, grid: Grid) -> str:
    """One returned text as rows of an action file; raises ProParaError when it does not fit the schema."""
    if not text.strip():
        raise ProParaError("There is no answer.")
    fenced = re.search(r"```(?:json)?\s*(.*?)```", text, re.DOTALL)
    try:
        data = load_json(fenced.group(1) if fenced else text)
    except ValueError as error:
        raise ProParaError(f"Not JSON: {error}") from error
    from jsonschema import Draft202012Validator

    wrong = sorted(
        Draft202012Validator(schema(grid)).iter_errors(data), key=lambda one: list(map(str, one.path))
    )
    if wrong:
        place = "/".join(map(str, wrong[0].path)) or "the answer"
        raise ProParaError(f"{place}: {wrong[0].message[:200]}")
    return grids_to_actions([data])
