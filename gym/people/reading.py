"""How an uploaded file is read: questions, problems and counts of `import_people` as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from gym.people.models import HumanDataImport
from gym.people.storage import read_pieces
from lmgym.people.intake import Imported, import_people
from lmgym.suites.intake.questions import Question
from lmgym.text import count
from lmgym.text.problems import Notice
from suites.selectors import document_of

SHOWN = 8
"""Rows of the preview, and words that differ."""


def parse(row: HumanDataImport, answers: Mapping[str, str]) -> Imported:
    """Read an uploaded file with these answers."""
    document = document_of(row.revision)
    return import_people(read_pieces(row.pieces), row.filename, document, answers, salt=bytes(row.salt))


def reading_of(imported: Imported) -> dict[str, Any]:
    """Describe how a file is read, for pages and the API."""
    matched, table = imported.matched, imported.table
    return {
        "reader": table.reader if table else "",
        "table": table.label if table else "",
        "headings": [column.name for column in table.columns] if table else [],
        "preview": table.preview(SHOWN) if table else [],
        "questions": [asdict(question) for question in imported.questions],
        "asks": list(imported.asks),
        "problems": [asdict(problem) for problem in imported.problems],
        "notices": [in_words(notice) for notice in imported.notices],
        "summary": summary(imported),
        "left_out": dict(matched.left_out) if matched else {},
        "n_mismatches": matched.n_mismatches if matched else 0,
        "mismatches": [asdict(one) for one in matched.mismatches[:SHOWN]] if matched else [],
        "small_groups": _small_groups(imported),
    }


def in_words(notice: Notice) -> str:
    """Return a notice as a sentence; the place is left out if it is the whole file."""
    return str(replace(notice, where="")) if notice.where == "file" else str(notice)


def summary(imported: Imported) -> str:
    """Say what the file holds, in one line; "" if it cannot be imported yet."""
    observations = imported.matched.observations if imported.matched else None
    if observations is None:
        return ""
    values = "value" if len(observations) == 1 else "values"
    parts = [f"{len(observations):,} {values} of {observations.measure.name}"]
    if observations.are_means:
        parts.append("means over participants")
    else:
        parts.append(f"from {count(len(observations.participants), 'participant')}")
    n_items = len(set(observations.item.tolist()))
    return f"{' '.join(parts)}, {count(n_items, 'item')}, {count(len(observations.conditions), 'condition')}"


def _small_groups(imported: Imported) -> list[list[Any]]:
    demographics = imported.matched.demographics if imported.matched else None
    return [list(group) for group in demographics.small_groups] if demographics else []


def questions_in(reading: Mapping[str, Any]) -> list[Question]:
    return [Question(**question) for question in reading.get("questions", ())]
