"""Quota for suites.

A revision stores its size, because summing its sentences each time is too slow: it is measured when the
revision is written, and every edit adds its difference. The log of edits is counted, too, since repeated undo
can fill it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import F

from gym.accounts.quotas import ROW, Part, register, stored
from lmgym.suites.formats import SuiteDocument
from suites.models import DraftEdit, ImportedFile, LintIgnore, Suite, SuiteRevision

CARD = ("author", "reference", "bibtex", "description", "comment")

SUITES = register(
    "suites",
    "suite",
    "suites",
    Part(Suite, size=stored(*CARD)),
    Part(SuiteRevision, "suite__owner", stored("notices", "findings", "note", "errata") + F("size")),
    Part(DraftEdit, "suite__owner", F("size")),
    Part(LintIgnore, "suite__owner", stored("where", "reason")),
    Part(ImportedFile, "batch__owner", stored("data", "report")),
    setting="GYM_QUOTA_SUITES",
)


def bytes_of(document: SuiteDocument) -> int:
    """Return the size in bytes of a document's rows, meta block and extra keys."""
    size = _json(document.meta) + _json(document.extra)
    for row in document.sentences:
        cells = len(row.contents)
        size += ROW + 4 * cells + _texts((row.condition, *row.contents)) + _json(row.extra)
        if row.raw is not None:
            size += 4 * cells + _texts(row.raw)
    for prediction in document.predictions:
        texts = (prediction.name, prediction.description, prediction.formula)
        size += ROW + _texts(texts) + _json(prediction.extra)
    return size


def bytes_of_edit(ops: Any, conflicts: Any) -> int:
    return _json(ops) + _json(conflicts)


def _texts(texts: Iterable[str]) -> int:
    return len("".join(texts).encode("utf-8", "surrogatepass"))


def _json(value: Any) -> int:
    return len(json.dumps(value)) if value else 0
