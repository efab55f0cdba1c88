"""Read the items of Linger, a program for self-paced reading.

An item is a line `# experiment item condition`, its sentence on the next lines, and questions in lines that begin with
`?` and end with the answer: `? Did the owl hoot? Y`. Fillers have the condition `-`; they are called after their
experiment here.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from itertools import islice

from lmgym.suites.formats.tables import Row, check_table
from lmgym.suites.intake.containers import Grid
from lmgym.suites.intake.reading import first_places
from lmgym.text import CONTROL, count
from lmgym.text.problems import Report

_HEADER = re.compile(r"#\s+(?P<experiment>\S+)\s+(?P<item>\d{1,9})\s+(?P<condition>\S+).*")
_LONGEST_ANSWER = 20
_SAMPLED = 200
"""Number of lines searched for the first sentence and the second header."""
_COLUMNS = ("experiment", "item", "condition", "Sentence", "question", "answer")


@dataclass(slots=True)
class _Item:
    line: int
    experiment: str
    number: str
    condition: str
    text: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def holds_linger(text: str) -> bool:
    """Return whether the first line that is not blank is the header of an item, with a sentence below it and another
    header later. A single header may be a comment above a table: # Experiment 1 stimuli."""
    filled = [line for source in islice(io.StringIO(text), _SAMPLED) if (line := source.strip())]
    return (
        len(filled) > 2
        and bool(_HEADER.fullmatch(filled[0]))
        and filled[1][0] not in "#?"
        and any(line.startswith("# ") for line in filled[2:])
    )


def split_linger(text: str, report: Report) -> Grid:
    """Split the items into rows, one per sentence. Raises FormatError."""
    if bad := CONTROL.search(text):
        line = text.count("\n", 0, bad.start()) + 1
        report.problem(f"row {line}", f"control character U+{ord(bad[0]):04X}", "Remove it.")
        report.raise_problems()
    check_table(text, report)
    items = _items(text, report)
    empty = [item.line for item in items if not item.text]
    for line in empty[:50]:
        hint = "Write the sentence in the line below the header."
        report.problem(f"row {line}", "this item has no sentence", hint)
    report.raise_problems()
    experiments = dict.fromkeys(item.experiment for item in items)
    rows = [Row(1, list(_COLUMNS))]
    for item in items:
        cells = [item.experiment, item.number, item.condition, " ".join(item.text)]
        rows.append(Row(item.line, [*cells, "; ".join(item.questions), "; ".join(item.answers)]))
    several = [item.line for item in items if len(item.text) > 1]
    understood = [f"Items of Linger: {count(len(items), 'sentence')}, experiments {', '.join(experiments)}."]
    if several:
        understood.append(
            f"{count(len(several), 'sentence')} of several lines ({first_places('row', several)}): joined with blanks."
        )
    experiment = "data" if len(experiments) == 1 else "item"
    roles = [experiment, "item", "condition", "text", "data", "data"]
    return Grid(rows, is_named=True, understood=understood, roles=roles)


def _items(text: str, report: Report) -> list[_Item]:
    items: list[_Item] = []
    for number, source in enumerate(text.splitlines(), start=1):
        line = source.strip()
        if not line:
            continue
        header = _HEADER.fullmatch(line)
        if header:
            condition = header["experiment"] if header["condition"] == "-" else header["condition"]
            items.append(_Item(number, header["experiment"], header["item"], condition))
        elif line.startswith("#"):
            hint = "Write # experiment item condition."
            report.problem(f"row {number}", f"“{line[:40]}” is not the header of an item", hint)
        elif line.startswith("?"):
            _add_question(items[-1], line)
        else:
            items[-1].text.append(line)
    return items


def _add_question(item: _Item, line: str) -> None:
    words = line.removeprefix("?").split()
    has_answer = len(words) > 1 and len(words[-1]) <= _LONGEST_ANSWER and not words[-1].endswith("?")
    item.answers.append(words.pop() if has_answer else "")
    item.questions.append(" ".join(words))
