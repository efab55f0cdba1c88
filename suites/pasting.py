"""A sheet with headings that is pasted into the grid: read beside the suite as the page has it, and asked about."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict

from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.documents import MAX_BYTES
from lmgym.suites.intake.readings import NOTHING, Reading
from lmgym.suites.intake.sheets import read_part
from suites.answer_forms import AnswersForm

MOST_ROUNDS = 3
"""Columns, then names, and one more for what the columns have changed."""


def read_pasted(data: QueryDict) -> tuple[Reading, AnswersForm | None]:
    """What `text` puts into a suite with these names (`condition`, `region`; none: an empty suite, which takes over the
    sheet's), and what it leaves open. The answers given so far come with every request: each is taken where the sheet,
    read with those before it, asks for it."""
    known: dict[str, Sequence[str]] = {
        "conditions": data.getlist("condition"),
        "regions": data.getlist("region"),
    }
    suite = _named(known)
    text = data.get("text", "")[: MAX_BYTES + 1].replace("\r\n", "\n")
    answers, form = NOTHING, None
    reading = read_part(text, answers, suite)
    for _ in range(MOST_ROUNDS):
        if not reading.asks:
            break
        form = AnswersForm(None, reading=reading, before=answers, known=known)
        if not form.fields.keys() <= data.keys():
            break
        form = AnswersForm(data, reading=reading, before=answers, known=known)
        if not form.is_valid() or form.answers() == answers:
            break
        answers = form.answers()
        reading = read_part(text, answers, suite)
    return reading, form


def _named(known: dict[str, Sequence[str]]) -> SuiteDocument | None:
    """Of the suite a sheet is put into, only names matter."""
    if not known["regions"]:
        return None
    return SuiteDocument("", "sum", {}, tuple(known["regions"]), tuple(known["conditions"]), ())
