"""A prompt pack for language models, and scoring of the JSON that comes back. Pure.

A pack has one prompt for each process: the sentences, the participants and a JSON schema of the answer. An answer is
`{"process_id": 1, "participants": {"water": ["sea", "sea", null]}}`: the location before the first sentence and after
each sentence, "?" where it exists at an unknown place, null where it does not exist. Actions are derived.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from gym.propara.convert import json_to_actions, template
from gym.propara.errors import ProParaError
from gym.propara.grid import Grid, Grids
from gym.propara.pairs import loads
from gym.propara.report import Report, evaluate
from gym.propara.sentences import Sentences
from gym.propara.stream import grids_of

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


@dataclass(frozen=True)
class Samples:
    """Reports of several samples, and how many answers could not be used; those count as the empty template."""

    reports: tuple[Report, ...]
    failures: tuple[tuple[int, int, str], ...]
    n_answers: int

    @property
    def failure_rate(self) -> float:
        return len(self.failures) / self.n_answers if self.n_answers else 0.0

    @property
    def f1(self) -> tuple[float, float | None] | None:
        """Mean and standard deviation over samples, where every sample has a score."""
        values = [report.f1 for report in self.reports if report.f1 is not None]
        if not values or len(values) < len(self.reports):
            return None
        return fmean(values), stdev(values) if len(values) > 1 else None


def score_answers(answers: str, returned: Mapping[int, Sequence[str]]) -> Samples:
    """Score what a model returned: for each process one text per sample, in a code fence or not."""
    grids = grids_of(answers, "answers")
    n_samples = max((len(texts) for texts in returned.values()), default=1)
    failures: list[tuple[int, int, str]] = []
    reports: list[Report] = []
    for sample in range(n_samples):
        parts: list[str] = []
        for pid, grid in grids.items():
            texts = returned.get(pid, ())
            try:
                parts.append(read_answer(texts[sample] if sample < len(texts) else "", grid))
            except ProParaError as error:
                failures.append((sample, pid, str(error)))
                parts.append(template({pid: grid}))
        reports.append(evaluate(answers, "".join(parts)))
    return Samples(tuple(reports), tuple(failures), n_samples * len(grids))


def read_answer(text: str, grid: Grid) -> str:
    """One returned text as rows of an action file; raises ProParaError when it does not fit the schema."""
    if not text.strip():
        raise ProParaError("There is no answer.")
    fenced = re.search(r"```(?:json)?\s*(.*?)```", text, re.DOTALL)
    try:
        data = loads(fenced.group(1) if fenced else text)
    except ValueError as error:
        raise ProParaError(f"Not JSON: {error}") from error
    from jsonschema import Draft202012Validator

    wrong = sorted(
        Draft202012Validator(schema(grid)).iter_errors(data), key=lambda one: list(map(str, one.path))
    )
    if wrong:
        place = "/".join(map(str, wrong[0].path)) or "the answer"
        raise ProParaError(f"{place}: {wrong[0].message[:200]}")
    return json_to_actions(json.dumps([data], ensure_ascii=False))
