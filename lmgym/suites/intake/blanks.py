"""Cells of a table without text: signs for an empty region (∅), and missing sentences."""

from __future__ import annotations

from collections.abc import Sequence

from lmgym.suites.columns import SIGNS
from lmgym.suites.formats.tables import Table
from lmgym.suites.intake.pairs import NO_SENTENCE
from lmgym.suites.intake.parsing import Choice
from lmgym.suites.intake.reading import Reading, at
from lmgym.text import BLANKS, count, listing


def ask_about_blanks(table: Table, places: Sequence[int], reading: Reading) -> None:
    """Ask what cells without text mean, and apply the answer. In several regions, this is about signs such as ∅; in
    whole sentences, also about empty cells. `places`: the columns of text."""
    is_sentence = len(places) == 1 and not table.is_long and not reading.is_part
    signs = NO_SENTENCE if is_sentence else SIGNS
    blank = [(row, k) for row in table.rows for k in places if row.cells[k].strip(BLANKS) in signs]
    if not blank:
        return
    row, place = blank[0]
    cells = count(len(blank), "cell")
    shown = row.cells[place].strip()
    which = f"{cells} without text" + (f", such as “{shown}”" if shown else "")
    answers = [("text", "Take them as empty texts")]
    if is_sentence:
        answers.insert(0, ("out", "Leave their items out"))
    elif any(choice.option == "empty" for choice in reading.result.choices):  # regions without a row
        answers.append(("out", "Leave their items out"))
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
        reading.say(f"{noun} left out because a text is missing: {listing(sorted(left_out), 8)}.")
