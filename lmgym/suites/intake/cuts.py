"""Cut a single column of text into regions: at slashes or bars between them, or into words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from lmgym.suites.formats.documents import MAX_REGIONS
from lmgym.suites.formats.tables import Table
from lmgym.suites.intake.critical import cut_at_critical_word
from lmgym.suites.intake.parsing import CRITICAL, Choice
from lmgym.suites.intake.reading import Reading, text_places
from lmgym.text import count, tidy, unguard

SIGNS = ("/", "|")
_NAMES = {"words": "Word"}


def cut_text(table: Table, reading: Reading) -> None:
    """Cut the text of a wide table with one region, as the user chose; ask if most of its cells contain a separator."""
    places = text_places(table)
    chosen = reading.options.cut
    if CRITICAL in table.roles:
        cut_at_critical_word(table, reading)
        return
    if len(places) != 1:
        if chosen not in ("", "none"):
            message = f"{count(len(places), 'column')} of text, but only one column can be cut into regions"
            reading.report.problem("sheet", message, "Choose one column of text, or do not cut.")
        return
    (place,) = places
    texts = [unguard(row.cells[place]) for row in table.rows]
    items = [row.cells[table.roles["item"]] for row in table.rows]
    plain = [
        "" if "</" in text or "/>" in text else text for text in texts
    ]  # a slash of HTML is no separator
    sign = next((sign for sign in SIGNS if separates(sign, plain, items)), "")
    if chosen in ("", "none") and not sign:
        return
    choice = _choice(sign or (chosen if chosen in SIGNS else SIGNS[0]), texts)
    message = f"most texts contain “{sign}”, which may separate regions"
    hint = f"Cut the texts at “{sign}”, or leave them as they are; models would read the sign."
    answer = reading.choose(choice, "sheet", message, hint)
    if answer in SIGNS or answer == "words":
        _cut(table, place, texts, answer, reading)


def separates(sign: str, texts: Sequence[str], items: Sequence[str]) -> bool:
    """Return whether most texts contain the sign, and in at least three quarters of the items every text contains it
    equally often."""
    numbers = defaultdict(set)
    for item, text in zip(items, texts, strict=True):
        numbers[item].add(text.count(sign))
    regular = sum(len(counts) == 1 and counts != {0} for counts in numbers.values())
    return 2 * sum(sign in text for text in texts) > len(texts) and 4 * regular >= 3 * len(numbers)


def _choice(sign: str, texts: Sequence[str]) -> Choice:
    regions = Counter(len(parts(text, sign)) for text in texts).most_common(1)[0][0] if texts else 0
    answers = [
        (sign, f"Cut at “{sign}” into {count(regions, 'region')}"),
        ("words", "Make each word a region"),
        ("none", "Leave the text as it is"),
    ]
    return Choice("cut", "Regions", answers, sign)


def parts(text: str, sign: str) -> list[str]:
    """Split a text at a sign or, for "words", at blanks."""
    return text.split() if sign == "words" else [tidy(part) for part in text.split(sign)]


def _cut(table: Table, place: int, texts: Sequence[str], sign: str, reading: Reading) -> None:
    split = [parts(text, sign) for text in texts]
    most = max(map(len, split), default=0)
    if most > MAX_REGIONS:
        reading.report.problem("sheet", f"{most} regions; at most {MAX_REGIONS} are allowed")
        return
    for row, pieces in zip(table.rows, split, strict=True):
        row.cells[place : place + 1] = pieces + [""] * (most - len(pieces))
    noun = _NAMES.get(sign, "Region")
    table.header[place : place + 1] = [f"{noun} {number}" for number in range(1, most + 1)]
    table.roles = {role: k if k < place else k + most - 1 for role, k in table.roles.items()}
    table.data = tuple(k if k < place else k + most - 1 for k in table.data)
    how = "Each word is a region" if sign == "words" else f"Cut at “{sign}”"
    shorter = sum(len(pieces) < most for pieces in split)
    ends = f"; the last ones are empty in {count(shorter, 'sentence')} with fewer" if shorter else ""
    reading.say(f"{how}: {count(most, 'region')}{ends}.")
