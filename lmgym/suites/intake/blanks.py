"""Cells of a wide table without text: signs for an empty region (∅), and missing sentences."""

from __future__ import annotations

from lmgym.suites.formats.tables import Table
from lmgym.suites.intake.pairs import NO_SENTENCE
from lmgym.suites.intake.parsing import Choice
from lmgym.suites.intake.reading import Reading, at, text_places
from lmgym.text import BLANKS, count, listing

_NO_REGION = frozenset({"∅", "Ø", "ø", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "_"})
"""Cells that mean that a region is empty. Words such as “None” are text."""


def ask_about_blanks(table: Table, reading: Reading) -> None:
    """Ask what cells without text mean, and apply the answer. With several regions, this is about signs such as ∅; with
    a single one, also about empty cells."""
    places = text_places(table)
    signs = NO_SENTENCE if len(places) == 1 else _NO_REGION
    blank = [(row, k) for row in table.rows for k in places if row.cells[k].strip(BLANKS) in signs]
    if not blank or reading.is_part:
        return
    row, place = blank[0]
    cells = count(len(blank), "cell")
    shown = row.cells[place].strip()
    which = f"{cells} without text" + (f", such as “{shown}”" if shown else "")
    answers = [("text", "Take them as empty texts")]
    if len(places) == 1:
        answers.insert(0, ("out", "Leave their items out"))
    else:
        answers.append(("keep", "Keep the signs as text"))
    choice = Choice("empty", which, answers, answers[0][0])
    answer = reading.choose(
        choice,
        at(row, place, table.header),
        which,
        "Choose what these cells mean. Models would read a sign such as NA as text.",
    )
    if answer == "text":
        for row, place in blank:
            row.cells[place] = ""
        reading.say(f"{cells} without text: taken as empty.")
    elif answer == "out":
        item = table.roles["item"]
        left_out = {row.cells[item] for row, _ in blank}
        table.rows = [row for row in table.rows if row.cells[item] not in left_out]
        noun = "Item" if len(left_out) == 1 else "Items"
        reading.say(f"{noun} left out because a sentence is missing: {listing(sorted(left_out), 8)}.")
