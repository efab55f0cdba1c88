"""Sentence files: process, number, text. Pure."""

from __future__ import annotations

from gym.propara.core.check import MAX_PROBLEMS, too_many
from gym.propara.core.errors import Corrupted, Crash, Problem
from gym.propara.core.grid import lines_of

Sentences = dict[int, tuple[str, ...]]


def read_sentences(text: str, file: str) -> Sentences:
    """Sorted by number and counted anew from 1; of two rows with one number the later wins; an empty file is fine."""
    found: dict[tuple[int, int], str] = {}
    for number, line in enumerate(lines_of(text), 1):
        fields = line.strip().split("\t", 3)[:3]
        if len(fields) < 3:
            raise Crash(
                f"{file}, line {number}: expected process, number and sentence, got {len(fields)} column(s)."
            )
        try:
            key = (int(fields[0]), int(fields[1]))
        except ValueError:
            raise Crash(f"{file}, line {number}: process and number must be whole numbers.") from None
        found[key] = fields[2]
    sentences: dict[int, list[str]] = {}
    for process_id, index in sorted(found):
        sentences.setdefault(process_id, []).append(found[process_id, index])
    return {process_id: tuple(texts) for process_id, texts in sentences.items()}


def sentence_problems(text: str, file: str) -> list[Problem]:
    """All malformed rows, not only the first as `read_sentences` has it."""
    found: list[Problem] = []
    for number, line in enumerate(lines_of(text), 1):
        if len(found) >= MAX_PROBLEMS:
            found.append(too_many(file))
            break
        fields = line.strip().split("\t", 3)
        if len(fields) < 3:
            hint = "Three: process, number, sentence; separated by tabs."
            message = f"The line has {len(fields) if line.strip() else 0} of 3 columns."
            found.append(Problem(file, number, len(fields), "columns", message, hint))
            continue
        for column, field in enumerate(fields[:2], 1):
            try:
                int(field)
            except ValueError:
                message = f"{field[:40]!r} is not a whole number."
                found.append(Problem(file, number, column, "integer", message))
    return found


def sentences_missing(file: str, process_id: int) -> Corrupted:
    return Corrupted(
        f"Corrupted or empty sentences file {file} (Sentences for process {process_id} not found.)"
    )
