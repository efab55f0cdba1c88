"""Limits of files with human data. They hold a few million reading times."""

from __future__ import annotations

from lmgym.files.bounded import Limits

MAX_BYTES = 400_000_000
MAX_ROWS = 3_000_000
MAX_COLUMNS = 500
MAX_CELLS = 60_000_000
"""Limit on cells of a table, with those that are missing at the ends of rows."""
MAX_KINDS = 100
"""Limit on kinds of rows or trials in a file, each a table."""
MAX_HEADER_LINES = 300_000
"""Limit on header lines of a PCIbex file, which repeats about 20 for each participant."""
LIMITS = Limits(
    bytes=MAX_BYTES,
    lines=MAX_ROWS + MAX_HEADER_LINES,
    cells=MAX_CELLS,
    columns=MAX_COLUMNS,
    values=6_000_000,
    seconds=120,
)
"""Limits of a file after decompression."""
WORKBOOK_LIMITS = Limits(lines=1_048_576, cells=2_000_000, columns=MAX_COLUMNS, seconds=60)
