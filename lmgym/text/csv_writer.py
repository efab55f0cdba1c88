"""Tables as CSV: RFC 4180, with cells guarded against spreadsheets that would execute them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from lmgym.text import guard

PIECE_CHARACTERS = 64 * 1024
"""Characters of a streamed table that are sent at once: a piece per row would cost more than making it."""


def safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would execute gets an apostrophe in front; numbers stay numbers."""
    if isinstance(value, str):
        return _safe_word(value) if len(value) < 100 else _safe_text(value)
    return "" if value is None else value


def _safe_text(text: str) -> str:
    return guard(text.replace("\0", "\ufffd"))


_safe_word = lru_cache(maxsize=8192)(_safe_text)  # the words of long tables recur


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A whole table. With CRLF as line end, a cell that holds either character is quoted and cannot begin a row."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")  # noqa: TID251  every cell passes `safe_cell`
    writer.writerow(header)
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def csv_pieces(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A table as text in pieces: the header at once, so that a download begins at once; then about PIECE_CHARACTERS
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
