"""Write tables as CSV (RFC 4180), with cells guarded against execution by spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from lmgym.text import guard

PIECE_CHARACTERS = 64 * 1024
"""Approximate characters per piece of a streamed table; sending single rows is slower than formatting them."""


def safe_cell(value: Any) -> Any:
    """Prefix an apostrophe to text that a spreadsheet would execute, and replace NUL by U+FFFD.

    None becomes an empty text; numbers are not changed.
    """
    if isinstance(value, str):
        return _safe_word(value) if len(value) < 100 else _safe_text(value)
    return "" if value is None else value


def _safe_text(text: str) -> str:
    return guard(text.replace("\0", "\ufffd"))


_safe_word = lru_cache(maxsize=8192)(_safe_text)  # long tables repeat the same words


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a whole table with CRLF line endings; a cell that contains CR or LF is quoted, so it cannot start
    a row."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")  # noqa: TID251  every cell passes `safe_cell`
    writer.writerow(header)
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def csv_pieces(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a table in pieces: first the header, so that a download starts at once, then about PIECE_CHARACTERS
    each."""
    yield csv_text(header, [])
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")  # noqa: TID251  every cell passes `safe_cell`
    for row in rows:
        writer.writerow([safe_cell(cell) for cell in row])
        if out.tell() >= PIECE_CHARACTERS:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()
