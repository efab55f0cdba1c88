"""Results and options of parsing a sheet or file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from lmgym.text.problems import Problem

SAMPLE = 6
ROLES = {
    "item": "item number",
    "condition": "condition",
    "text": "region",
    "condition_text": "text of one condition",
    "context_text": "context, combined with each target",
    "target_text": "target, combined with each context",
    "opening": "region at the beginning of the sentence",
    "answer": "which text is right (1 is the first)",
    "answer_from_0": "which text is right (0 is the first)",
    "critical": "critical word, or its number (1 is the first)",
    "critical_from_0": "number of the critical word (0 is the first)",
    "item_condition": "item number and condition (12b)",
    "region": "region number",
    "name": "region name",
    "content": "text of the region",
    "data": "item data",
    "skip": "not read",
}
"""Roles of a column, with labels. Sheets with one row per region use region, name and content; those with one row per
item use condition_text, once for each condition, or context_text and target_text, whose combinations are the
conditions; others use text. With an answer column, the conditions are good and bad instead of the columns. Item data is
stored with the suite but never scored.
"""
ROLE_GROUPS = {
    "Items and conditions": ("item", "condition", "item_condition"),
    "Text": ("text", "condition_text", "context_text", "target_text", "opening"),
    "Which text is right": ("answer", "answer_from_0"),
    "Critical word": ("critical", "critical_from_0"),
    "One row per region": ("region", "name", "content"),
    "Not scored": ("data", "skip"),
}
"""ROLES in the groups of the menu of a column."""
SKIP, DATA, TEXT, CONDITION_TEXT = "skip", "data", "text", "condition_text"
CONTEXT_TEXT, TARGET_TEXT, OPENING = "context_text", "target_text", "opening"
ANSWER, CRITICAL = "answer", "critical"
FROM_0 = "_from_0"
"""Ending of the roles whose numbers count from 0."""
SINGLE = "single"
"""The layout of a sheet with one condition."""
NO_PREDICTION = "-"
MATCHED = "matched"
"""The answer that the first context belongs to the first target, the second to the second, and so on."""
REMOVE_OR_KEEP = ("remove", "keep")
CHOICES = {
    "layout": ("good_bad", "bad_good", "groups", "single"),
    "cut": ("none", "/", "|", "words"),
    "fillers": ("out", "keep", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
    "empty": ("text", "out", "keep"),
    "incomplete": ("fill", "out"),
    "marks": (*REMOVE_OR_KEEP, "cut"),
    "markup": REMOVE_OR_KEEP,
}
"""Values of the options that answer questions about the whole sheet; those of `prediction` are conditions."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The user's choices for reading a file; values left empty are detected from the file.

    Attributes:
        encoding: Python's name for the text encoding.
        sheet: name of a sheet of a workbook.
        header: "yes", "no" (no row names the columns) or the number of the row that names them.
        columns: column letter to one of ROLES.
        layout: "good_bad" or "bad_good": every two rows of a list of sentences are a pair, in this order; "groups":
            without an item column, an item begins when a condition is repeated; "single": without a condition
            column, every row is an item in the only condition.
        prediction: condition that should have the lower total surprisal, MATCHED (contexts and targets) or
            NO_PREDICTION.
        cut: sign that separates regions in a single column of text, "words", or "none".
        fillers: "out" or "keep": items that have different conditions from most; the number of an experiment if the
            items are of several.
        empty: "text", "out" or "keep": cells without text (empty or ∅) are empty texts, their items are left out, or
            the signs are text.
        incomplete: "fill" or "out": rows without a condition have the one above (merged cells), or are left out
            (remarks).
        marks: "remove" or "keep": marks of judgements (*) and of words (*word*, _word_, [word]); "cut": remove them,
            and cut sentences at the marked words.
        markup: "remove" or "keep": HTML in texts.
        conditions, regions: name in the sheet to name in the suite; "" leaves it out.
    """

    encoding: str = ""
    sheet: str = ""
    header: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    layout: str = ""
    prediction: str = ""
    cut: str = ""
    fillers: str = ""
    empty: str = ""
    incomplete: str = ""
    marks: str = ""
    markup: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)

    @property
    def about_cells(self) -> bool:
        """Whether an option affects how a table is read as a suite."""
        return any(value for name, value in asdict(self).items() if name not in ("encoding", "sheet"))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the sheet.

    Attributes:
        meaning: its role in words.
        role: one of ROLES.
        doubt: why it may not be a region, or "".
    """

    letter: str
    header: str
    meaning: str
    role: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A question about the whole sheet.

    Attributes:
        option: the field of `ParseOptions` that answers it.
        answers: (value, label) of each answer.
        proposed: default value; "" if the user has to decide.
    """

    option: str
    label: str
    answers: Sequence[tuple[str, str]]
    proposed: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Texts of a sheet to insert into a suite; sentences and regions may be missing.

    Attributes:
        regions: names of regions; "" for one without a name.
        texts: (item, condition, index in `regions`, text).
    """

    regions: tuple[str, ...]
    texts: tuple[tuple[int, str, int, str], ...]


@dataclass(slots=True)
class ParseResult:
    """Result of parsing a sheet or file.

    Attributes:
        kind: "file", "JSON", "sheet", "wide", "long" or "pairs".
        document: the suite; None if there are problems.
        part: the texts, if a part of a suite was requested instead of a document.
        understood: how the sheet was interpreted, as sentences.
        asks: names of `ParseOptions` that would resolve the problems.
        header_row: number of the row that names the columns, if `has_header`; 0 if the names are not in a row.
        preview, preview_rows: first rows, and their numbers.
        choices: questions about the whole sheet, whether or not they are answered.
        names: names in the table before any is replaced, by "conditions" or "regions".
        unknown: those of them that the known suite lacks.
        sheets: names of the sheets of a workbook.
        encodings: sample lines decoded with each encoding.
    """

    kind: str = ""
    document: SuiteDocument | None = None
    part: Part | None = None
    columns: list[Column] = field(default_factory=list)
    understood: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    asks: tuple[str, ...] = ()
    has_header: bool = True
    header_row: int = 0
    preview: list[list[str]] = field(default_factory=list)
    preview_rows: list[int] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    sheets: list[str] = field(default_factory=list)
    encodings: dict[str, list[str]] = field(default_factory=dict)

    @property
    def proposed_columns(self) -> dict[str, str]:
        """Role of each column that is read, by letter, for the user to confirm."""
        return {
            column.letter: column.role for column in self.columns if column.role and column.role != "skip"
        }

    @property
    def sample(self) -> Sequence[SentenceDoc]:
        """The first sentences, for display."""
        return self.document.sentences[:SAMPLE] if self.document else ()


NOTHING = ParseOptions()


def column_letter(index: int) -> str:
    """Return the spreadsheet name of a column index from 0: A, B, … Z, AA."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
