"""Limits of files with human data. They hold a few million reading times."""

from __future__ import annotations

from lmgym.files.bounded import Limits

MAX_BYTES = 400_000_000
MAX_ROWS = 3_000_000
LIMITS = Limits(
    bytes=MAX_BYTES, lines=MAX_ROWS + 200_000, cells=60_000_000, columns=500, values=20_000_000, seconds=120
)
"""Limits of a file after decompression. PCIbex files have header lines besides the rows."""
WORKBOOK_LIMITS = Limits(lines=1_048_576, cells=2_000_000, columns=500, seconds=60)
