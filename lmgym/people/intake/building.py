"""Build tables from rows in blocks, so that a file of millions of rows is never held as millions of lists of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.files.bounded import Refused
from lmgym.people.intake.limits import MAX_CELLS, MAX_COLUMNS, MAX_ROWS
from lmgym.people.intake.table import PeopleTable, TextColumn
from lmgym.text import unguard

BLOCK_ROWS = 50_000
"""Number of rows that are converted at a time."""


class _Places(dict[str, int]):
    """Number of each distinct text, in the order of first occurrence."""

    def __missing__(self, text: str) -> int:
        self[text] = place = len(self)
        return place


class TableBuilder:
    """Rows of one kind, whose columns may change from block to block. Cells are matched to columns by name."""

    def __init__(self) -> None:
        self._places: dict[str, _Places] = {}
        self._blocks: dict[str, list[NDArray[np.int32]]] = {}
        self._lines: list[NDArray[np.int64]] = []
        self._n_rows = self._n_cells = 0

    def __len__(self) -> int:
        return self._n_rows

    def add(self, names: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
        """Add rows with a cell for each name. Raises Refused for too many columns or cells, empty ones included."""
        n = len(rows)
        columns = self._places.keys() | set(names)
        self._n_cells += n * len(columns)
        if len(columns) > MAX_COLUMNS:
            raise Refused(f"more than {MAX_COLUMNS:,} columns", "Leave out unused columns.")
        if self._n_cells > MAX_CELLS or self._n_rows + n > MAX_ROWS:
            raise Refused(f"more than {MAX_ROWS:,} rows or {MAX_CELLS:,} cells", "Split the file.")
        for name, cells in zip(names, zip(*rows, strict=True), strict=True):
            if name not in self._places:
                self._places[name] = _Places()
                self._blocks[name] = []
                self._fill(name, self._n_rows)
            self._blocks[name].append(np.fromiter(map(self._places[name].__getitem__, cells), np.int32, n))
        for name in self._places.keys() - set(names):
            self._fill(name, n)
        self._lines.append(np.asarray(lines, np.int64))
        self._n_rows += n

    def _fill(self, name: str, n: int) -> None:
        if n:
            self._blocks[name].append(np.full(n, self._places[name][""], np.int32))

    def table(self, decode: Callable[[str], str] = unguard, **facts: Any) -> PeopleTable:
        """Return the table, with the rows in the order of their lines: rows of one kind may have been added late.

        Args:
            decode: applied to each distinct text, which is then trimmed.
            facts: attributes of `PeopleTable`.
        """
        lines = np.concatenate(self._lines) if self._lines else np.empty(0, np.int64)
        order = np.argsort(lines, kind="stable")
        columns = tuple(self._column(name, decode, order) for name in self._places)
        return PeopleTable(columns=columns, lines=lines[order], **facts)

    def _column(self, name: str, decode: Callable[[str], str], order: NDArray[np.int64]) -> TextColumn:
        """Merge texts that are equal once decoded and trimmed."""
        codes = np.concatenate(self._blocks[name])
        distinct = _Places()
        merged = np.fromiter(
            (distinct[decode(text).strip()] for text in self._places[name]), np.int32, len(self._places[name])
        )
        return TextColumn(name, merged[codes[order]], tuple(distinct))


def rows_of(table: PeopleTable, mask: NDArray[np.bool_]) -> PeopleTable:
    """Select rows of a table; each column keeps only the texts that occur."""
    columns = []
    for column in table.columns:
        present, codes = np.unique(column.codes[mask], return_inverse=True)
        texts = tuple(column.texts[code] for code in present)
        columns.append(replace(column, codes=codes.astype(np.int32), texts=texts))
    return replace(table, columns=tuple(columns), lines=table.lines[mask])


def presentation_order(participants: NDArray[Any], trials: NDArray[Any]) -> NDArray[np.int32]:
    """Number each participant's trials from 1 in the order of the rows.

    Args:
        participants: int[n], participant of each row.
        trials: int[n], a key of the trial; equal keys in adjacent rows are one trial.
    """
    n = len(participants)
    if not n:
        return np.empty(0, np.int32)
    begins = np.ones(n, bool)
    begins[1:] = (participants[1:] != participants[:-1]) | (trials[1:] != trials[:-1])
    owners = participants[begins]
    order = np.argsort(owners, kind="stable")
    ranks = np.empty(len(owners), np.int32)
    firsts = np.searchsorted(owners[order], owners[order], side="left")
    ranks[order] = np.arange(len(owners)) - firsts + 1
    numbers: NDArray[np.int32] = ranks[np.cumsum(begins) - 1]
    return numbers


def number_column(name: str, numbers: NDArray[Any]) -> TextColumn:
    """Make a column of whole numbers."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    return TextColumn(name, codes.astype(np.int32), tuple(map(str, distinct.tolist())))


def crossed(columns: Sequence[TextColumn]) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
    """Combine columns: an index per row, and the combination of texts that each index stands for, in the order of first
    rows."""
    stacked = np.zeros(len(columns[0].codes), np.int64)
    for column in columns:
        _, stacked = np.unique(stacked * len(column.texts) + column.codes, return_inverse=True)
    _, firsts, codes = np.unique(stacked, return_index=True, return_inverse=True)
    order = np.argsort(firsts, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], [tuple(column.cell(row) for column in columns) for row in firsts[order].tolist()]
