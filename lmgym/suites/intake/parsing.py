"""What was understood of a sheet, what a person may say about it, and what it is asked. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from lmgym.text.problems import Problem

SAMPLE = 6
ROLES = {
    "item": "item number",
    "condition": "condition",
    "text": "region",
    "region": "region number",
    "name": "region name",
    "content": "text of the region",
    "data": "item data",
    "skip": "not read",
}
"""What a column can be, in words. Sheets of one row per region have region, name and content; others have text. Item
data is kept with the suite and never scored."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What a person said about a sheet that the sheet does not say. Empty: nothing, the reader finds out.

    `encoding` is a name of Python's; `sheet` one of a workbook's; `header` "yes" or "no"; `columns` letter -> one of
    ROLES; `conditions` and `regions` name in the sheet -> name in the suite, "" to leave it out.
    """

    encoding: str = ""
    sheet: str = ""
    header: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)

    @property
    def about_cells(self) -> bool:
        """Whether they change how a text is cut into a suite."""
        return bool(self.header or self.columns or self.conditions or self.regions)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the sheet and what it was taken for; `role` is one of ROLES. `doubt`: why it may be no region."""

    letter: str
    header: str
    meaning: str
    role: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Texts of a sheet that are put into a suite: neither every sentence nor every region need be there. `texts` are
    (item, condition, place of the region in `regions`, text); a region without a name is called ""."""

    regions: tuple[str, ...]
    texts: tuple[tuple[int, str, int, str], ...]


@dataclass(slots=True)
class ParseResult:
    """Result of parsing a sheet or file. `document` (`part`, if a part was requested) is None when there are problems.
    `asks` names the `ParseOptions` that would resolve them; `preview` (first rows), `unknown` (field -> names),
    `sheets` and `encodings` (name -> decoded lines) help to choose."""

    kind: str = ""
    document: SuiteDocument | None = None
    part: Part | None = None
    columns: list[Column] = field(default_factory=list)
    understood: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    asks: tuple[str, ...] = ()
    has_header: bool = True
    preview: list[list[str]] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    sheets: list[str] = field(default_factory=list)
    encodings: dict[str, list[str]] = field(default_factory=dict)

    @property
    def proposed_columns(self) -> dict[str, str]:
        """Letter -> role, for each column that is read: what a person is asked to confirm."""
        return {
            column.letter: column.role for column in self.columns if column.role and column.role != "skip"
        }

    @property
    def sample(self) -> Sequence[SentenceDoc]:
        """The first sentences, for showing."""
        return self.document.sentences[:SAMPLE] if self.document else ()


NOTHING = ParseOptions()


def column_letter(index: int) -> str:
    """Spreadsheet name of a column counted from 0: A, B, … Z, AA."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
