"""Sentence files: process, number, text. Pure."""

from __future__ import annotations

from gym.propara.errors import Corrupted, Crash
from gym.propara.grid import lines_of

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


def sentences_missing(file: str, process_id: int) -> Corrupted:
    return Corrupted(
        f"Corrupted or empty sentences file {file} (Sentences for process {process_id} not found.)"
    )
