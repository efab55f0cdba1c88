"""Flat tables of text, as all readers of human data return them.

A column is stored as the distinct texts and an index for each row: parsing and matching then work on a few thousand
distinct texts instead of millions of cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmgym.people.observations import Measure
from lmgym.suites.intake.parsing import column_letter


@dataclass(frozen=True)
class TextColumn:
    """A column of text.

    Attributes:
        name: heading, trimmed; "" if there is none.
        codes: int32[n_rows], index into `texts`.
        texts: distinct cells, trimmed.
    """

    name: str
    codes: NDArray[np.int32]
    texts: tuple[str, ...]

    def cell(self, row: int) -> str:
        """Return the text of a row, counted from 0."""
        return self.texts[int(self.codes[row])]


@dataclass(frozen=True)
class PeopleTable:
    """Rows of one kind from a file: all rows of a CSV file, or all ratings of a PCIbex results file.

    Attributes:
        name: identifies the table in its file; the value of the answer "table".
        label: describes the table: "reading times of DashedSentence (16 rows)".
        reader: name of the format: "PCIbex results", "jsPsych JSON", "table".
        columns: columns of equal length.
        lines: int64[n_rows], line in the file, or entry of a list, from 1.
        place: what `lines` counts: "line", "row" or "entry".
        roles: column letter to the role that the format determines; other columns are proposed by their headings.
        header_line: line of the header; 0 if the format names the columns.
        measure: what the values are, if the format states it; otherwise it is taken from the headings.
    """

    name: str
    label: str
    reader: str
    columns: tuple[TextColumn, ...]
    lines: NDArray[np.int64]
    place: str = "line"
    roles: tuple[tuple[str, str], ...] = ()
    header_line: int = 0
    measure: Measure | None = None

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def letters(self) -> tuple[str, ...]:
        """Spreadsheet names of the columns: A, B, …"""
        return tuple(map(column_letter, range(len(self.columns))))

    def column(self, letter: str) -> TextColumn:
        """Return a column by its letter. Raises KeyError."""
        return dict(zip(self.letters, self.columns, strict=True))[letter]

    def preview(self, n_rows: int = 6) -> list[list[str]]:
        """Return the first rows, each cell cut to 60 characters."""
        return [[column.cell(row)[:60] for column in self.columns] for row in range(min(n_rows, len(self)))]
