"""Marks of judgements before a sentence (*, ?, #), which a model would read as text."""

from __future__ import annotations

import re

from lmgym.suites.formats.tables import Table
from lmgym.suites.intake.parsing import Choice
from lmgym.suites.intake.reading import Reading
from lmgym.text import BLANKS, count, quoted, unguard

_MARK = re.compile(rf"[{BLANKS}]*(?P<mark>[*?#✗⁇％%]{{1,3}})[{BLANKS}]*(?=[^\W\d_])")


def remove_marks(table: Table, reading: Reading) -> None:
    """Ask about marks at the beginning of sentences of a wide table, and remove them if the user says so."""
    fixed = {table.roles["item"], table.roles["condition"], *table.data}
    places = [k for k in range(len(table.header)) if k not in fixed]
    marked = []
    for row in table.rows:
        first = next((k for k in places if row.cells[k].strip(BLANKS)), None)
        if first is not None and (match := _MARK.match(unguard(row.cells[first]))):
            marked.append((row, first, match))
    if not marked:
        return
    sentences = count(len(marked), "sentence")
    example = quoted(unguard(marked[0][0].cells[marked[0][1]])[:40])
    choice = Choice(
        "marks",
        f"Marks before {sentences}, such as {example}",
        [("remove", "Remove them: they are judgements"), ("keep", "Keep them: they are part of the text")],
        "remove",
    )
    message = f"{sentences} {'begins' if len(marked) == 1 else 'begin'} with a mark, such as {example}"
    answer = reading.choose(
        choice, f"row {marked[0][0].line}", message, "Models would read it: remove or keep it."
    )
    if answer != "remove":
        return
    for row, place, match in marked:
        row.cells[place] = unguard(row.cells[place])[match.end() :]
    reading.say(
        f"The marks before {sentences} ({', '.join(sorted({m['mark'] for *_, m in marked}))}) were removed."
    )
