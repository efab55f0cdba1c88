"""Turn the open options of a `ParseResult` into questions with choices, and answers back into options, in rounds.

Names of questions are those of options ("encoding", "sheet", "header", "cut", …), "columns.B", "conditions.NAME" and
"regions.NAME".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from lmgym.suites.formats.documents import MAX_BYTES, SuiteDocument
from lmgym.suites.headings import condition_name
from lmgym.suites.intake import ENCODINGS
from lmgym.suites.intake.parsing import CHOICES, CONDITION_TEXT, NOTHING, ROLES, ParseOptions, ParseResult
from lmgym.suites.intake.sheets import read_part
from lmgym.text.near_names import nearest_name

ADD, LEAVE_OUT = "+", "-"
"""Answers about a name that the suite lacks; "=NAME" means an existing one."""
_SINGLE = ("encoding", "sheet", "header", "prediction", *CHOICES)
"""Options with a single answer."""
MAX_COLUMNS = 220
MAX_ROUNDS = 3
"""Maximum rounds for a pasted sheet: columns, names, and one more because the choice of columns can change names."""

Known = Mapping[str, Sequence[str]]
"""Names of the target suite, under "conditions" and "regions"."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the user.

    Attributes:
        choices: value to label.
        proposed: default value; "" if there is none.
        header: heading of the column, if the question is about one.
        doubt: why the column may not be a region, or "".
    """

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
    def is_about_sheet(self) -> bool:
        return self.name in ("prediction", *CHOICES)

    @property
    def is_about_name(self) -> bool:
        return self.name.startswith(("conditions.", "regions."))


def questions(result: ParseResult, before: ParseOptions, known: Known) -> list[Question]:
    """List open questions, and those answered by `before`, so that their answers can be changed."""
    return list(_questions(result, before, known))


def _questions(result: ParseResult, before: ParseOptions, known: Known) -> Iterator[Question]:
    fields = {*result.asks, *(name for name, value in asdict(before).items() if value)}
    if "encoding" in fields and result.encodings:
        encodings = {key: ENCODINGS[key] for key in result.encodings}
        yield Question("encoding", "Encoding", encodings, before.encoding or next(iter(encodings)))
    if "sheet" in fields and result.sheets:
        sheets = {name: name for name in result.sheets}
        yield Question("sheet", "Sheet with the suite", sheets, before.sheet or result.sheets[0])
    if fields & {"columns", "header"} and result.columns:
        if result.header_row or not result.has_header:
            header = before.header or ("yes" if result.has_header else "no")
            yield Question("header", "Headings of the columns", _header_choices(result), header)
        for column in result.columns[:MAX_COLUMNS]:
            role = before.columns.get(column.letter, column.role)
            roles = {
                **ROLES,
                CONDITION_TEXT: f"text in condition “{condition_name(column.header, column.letter)}”",
            }
            label = f"Column {column.letter}"
            yield Question(f"columns.{column.letter}", label, roles, role, column.header, column.doubt)
    for choice in result.choices:
        if choice.option in fields:
            proposed = getattr(before, choice.option) or choice.proposed
            yield Question(choice.option, choice.label, dict(choice.answers), proposed)
    for kind in ("conditions", "regions"):
        for name in result.unknown.get(kind, ()):
            yield _about_name(kind, name, known.get(kind, ()))


def _header_choices(result: ParseResult) -> dict[str, str]:
    """Offer the header that was found, no header, and each of the first rows."""
    names = f"Row {result.header_row} names" if result.header_row else "The first row names"
    choices = {"yes": f"{names} the columns", "no": "No row does: every row is data"}
    for number, cells in zip(result.preview_rows, result.preview, strict=False):
        if number != result.header_row:
            choices[str(number)] = f"Row {number}: {', '.join(filter(None, cells))[:60]}"
    return choices


def _about_name(kind: str, name: str, names: Sequence[str]) -> Question:
    near = nearest_name(name, list(names))
    noun = kind.removesuffix("s")
    choices = {
        **{f"={existing}": f"is {existing}" for existing in names},
        ADD: f"is a new {noun}: add it",
        LEAVE_OUT: "leave it out",
    }
    return Question(f"{kind}.{name}", f"{noun.capitalize()} “{name}”", choices, f"={near}" if near else ADD)


def answers_to(values: Mapping[str, str], before: ParseOptions) -> ParseOptions:
    """Convert answers to options.

    Args:
        values: answers by name of the question.
        before: options of earlier rounds, whose names of conditions and regions are kept.
    """
    return ParseOptions(
        **{name: values.get(name, "") for name in _SINGLE},
        columns=_under("columns", values),
        conditions={**before.conditions, **_names("conditions", values)},
        regions={**before.regions, **_names("regions", values)},
    )


def _under(kind: str, values: Mapping[str, str]) -> dict[str, str]:
    start = f"{kind}."
    return {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}


def _names(kind: str, values: Mapping[str, str]) -> dict[str, str]:
    return {
        name: name if value == ADD else "" if value == LEAVE_OUT else value[1:]
        for name, value in _under(kind, values).items()
    }


@dataclass(frozen=True, slots=True)
class Round:
    """Questions of one round. `is_answered`: each has an answer, which may be invalid."""

    result: ParseResult
    before: ParseOptions
    is_answered: bool


def read_pasted(text: str, known: Known, values: Mapping[str, str]) -> tuple[ParseResult, Round | None]:
    """Parse a sheet with headings that is pasted into a suite.

    Args:
        text: the sheet; more than MAX_BYTES are refused.
        known: names of the suite; without regions, the sheet's names are used.
        values: all answers so far, by name of the question. Each round uses the answers to its questions.

    Returns:
        The result with these answers, and the last round of questions, or None if there was none.
    """
    text = text[: MAX_BYTES + 1].replace("\r\n", "\n")
    suite = _named(known)
    options, last = NOTHING, None
    result = read_part(text, options, suite)
    for _ in range(MAX_ROUNDS):
        if not result.asks:
            break
        open_questions = questions(result, options, known)
        last = Round(result, options, all(question.name in values for question in open_questions))
        if not last.is_answered:
            break
        if not all(values[question.name] in question.choices for question in open_questions):
            break
        answered = answers_to({question.name: values[question.name] for question in open_questions}, options)
        if answered == options:
            break
        options = answered
        result = read_part(text, options, suite)
    return result, last


def _named(known: Known) -> SuiteDocument | None:
    """Build a suite that has only names."""
    if not known["regions"]:
        return None
    return SuiteDocument("", "sum", {}, tuple(known["regions"]), tuple(known["conditions"]), ())
