"""What a reading asks about a file, as questions with choices; and their answers, one round after the other.

Questions are called "encoding", "sheet", "header", "columns.B", "conditions.NAME" and "regions.NAME".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from lmgym.suites.formats.documents import MAX_BYTES, SuiteDocument
from lmgym.suites.intake import ENCODINGS
from lmgym.suites.intake.parsing import NOTHING, ROLES, ParseOptions, ParseResult
from lmgym.suites.intake.sheets import read_part
from lmgym.text.near_names import nearest_name

ADD, LEAVE_OUT = "+", "-"
"""Answers about a name that the suite lacks; "=NAME" is one that it has."""
HEADER_CHOICES = {
    "yes": "The first row names the columns",
    "no": "There is no such row: every row is data",
}
MAX_COLUMNS = 220
MAX_ROUNDS = 3
"""Of a pasted sheet: columns, then names, and one more for what the columns have changed."""

Known = Mapping[str, Sequence[str]]
"""Names of the suite that the file is for, under "conditions" and "regions"."""


@dataclass(frozen=True, slots=True)
class Question:
    """`choices`: value -> words; `proposed` is one of them. Questions about a column have its `header` in the sheet,
    and perhaps a `doubt`: why it may be no region."""

    name: str
    label: str
    choices: Mapping[str, str]
    proposed: str
    header: str = ""
    doubt: str = ""

    @property
    def is_about_column(self) -> bool:
        return self.name.startswith("columns.")

    @property
    def is_about_name(self) -> bool:
        return self.name.startswith(("conditions.", "regions."))


def questions(reading: ParseResult, before: ParseOptions, known: Known) -> list[Question]:
    """What the reading asks, and what was answered before (`before`), so that it can be changed."""
    return list(_questions(reading, before, known))


def _questions(reading: ParseResult, before: ParseOptions, known: Known) -> Iterator[Question]:
    asked = {*reading.asks, *(name for name, value in asdict(before).items() if value)}
    if "encoding" in asked and reading.encodings:
        encodings = {key: ENCODINGS[key] for key in reading.encodings}
        yield Question("encoding", "Encoding", encodings, before.encoding or next(iter(encodings)))
    if "sheet" in asked and reading.sheets:
        sheets = {name: name for name in reading.sheets}
        yield Question("sheet", "Sheet with the suite", sheets, before.sheet or reading.sheets[0])
    if asked & {"columns", "header"} and reading.columns:
        has = before.header or ("yes" if reading.has_header else "no")
        yield Question("header", "Header", HEADER_CHOICES, has)
        for column in reading.columns[:MAX_COLUMNS]:
            usual = before.columns.get(column.letter, column.role)
            label = f"Column {column.letter}"
            yield Question(f"columns.{column.letter}", label, ROLES, usual, column.header, column.doubt)
    for what in ("conditions", "regions"):
        for name in reading.unknown.get(what, ()):
            yield _about_name(what, name, known.get(what, ()))


def _about_name(what: str, name: str, names: Sequence[str]) -> Question:
    near = nearest_name(name, list(names))
    noun = what.removesuffix("s")
    choices = {
        **{f"={one}": f"is {one}" for one in names},
        ADD: f"is a new {noun}: add it",
        LEAVE_OUT: "leave it out",
    }
    return Question(f"{what}.{name}", f"{noun.capitalize()} “{name}”", choices, f"={near}" if near else ADD)


def answers_to(given: Mapping[str, str], before: ParseOptions) -> ParseOptions:
    """Options from values by the names of their questions; names of conditions and regions are added to those
    answered before."""
    return ParseOptions(
        encoding=given.get("encoding", ""),
        sheet=given.get("sheet", ""),
        header=given.get("header", ""),
        columns=_under("columns", given),
        conditions={**before.conditions, **_names("conditions", given)},
        regions={**before.regions, **_names("regions", given)},
    )


def _under(what: str, given: Mapping[str, str]) -> dict[str, str]:
    start = f"{what}."
    return {name.removeprefix(start): value for name, value in given.items() if name.startswith(start)}


def _names(what: str, given: Mapping[str, str]) -> dict[str, str]:
    return {
        name: name if value == ADD else "" if value == LEAVE_OUT else value[1:]
        for name, value in _under(what, given).items()
    }


@dataclass(frozen=True, slots=True)
class Round:
    """Questions that one reading of a pasted sheet asks. `is_answered`: a value was given for each of them, which need
    not fit."""

    reading: ParseResult
    before: ParseOptions
    is_answered: bool


def read_pasted(text: str, known: Known, given: Mapping[str, str]) -> tuple[ParseResult, Round | None]:
    """A sheet with headings that is pasted into a suite of which only names matter; without regions the suite is empty
    and takes over the sheet's names.

    Args:
        text: the sheet; more than MAX_BYTES are refused.
        known: names of the suite.
        given: values by the names of questions, all that were given so far. Each is taken where the sheet, read with
            those before it, asks for it.

    Returns:
        The reading with these answers, and the last round of questions; None where nothing is open.
    """
    text = text[: MAX_BYTES + 1].replace("\r\n", "\n")
    suite = _named(known)
    answers, last = NOTHING, None
    reading = read_part(text, answers, suite)
    for _ in range(MAX_ROUNDS):
        if not reading.asks:
            break
        asked = questions(reading, answers, known)
        last = Round(reading, answers, all(one.name in given for one in asked))
        if not last.is_answered or not all(given[one.name] in one.choices for one in asked):
            break
        found = answers_to({one.name: given[one.name] for one in asked}, answers)
        if found == answers:
            break
        answers = found
        reading = read_part(text, answers, suite)
    return reading, last


def _named(known: Known) -> SuiteDocument | None:
    """A suite of which only names matter."""
    if not known["regions"]:
        return None
    return SuiteDocument("", "sum", {}, tuple(known["regions"]), tuple(known["conditions"]), ())
