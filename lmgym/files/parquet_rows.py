"""Program that writes the rows of a Parquet file on standard input as JSON Lines, with limited memory and time.

It runs as a process of its own (`lmgym.files.parquet`) and imports nothing of this package.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

MAX_MEMORY = 2_000_000_000
"""Limit on the address space, in bytes; pyarrow itself maps most of a gigabyte. Only where Python has `resource`."""
MAX_OUTPUT = 30_000_000
"""Limit on the rows as JSON, in characters."""
SECONDS = 30
REFUSED = 3
"""Exit status if the last line on standard error is a reason and a hint, separated by a tab."""
_BATCH = 100
"""Number of rows unpacked at a time."""


def _main(lines: int, columns: int, cells: int) -> int:
    """Write the rows, or return REFUSED."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        return _refuse("Parquet files need the package pyarrow", 'pip install "lm-gym[parquet]"')
    _limit_memory()
    file = pq.ParquetFile(pa.BufferReader(sys.stdin.buffer.read()), memory_map=False)
    n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
    bounds = ((n_rows, lines, "rows"), (n_columns, columns, "columns"), (n_rows * n_columns, cells, "cells"))
    for number, most, what in bounds:
        if number > most:
            return _refuse(f"more than {most:,} {what}", "Split the file.")
    written = 0
    for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
        for row in batch.to_pylist():
            line = json.dumps(_plain(row), ensure_ascii=True, default=str)
            written += len(line)
            if written > MAX_OUTPUT:
                return _refuse(f"more than {MAX_OUTPUT:,} characters", "Split the file.")
            sys.stdout.write(f"{line}\n")
    return 0


def _plain(value: Any) -> Any:
    """Replace NaN and infinities, which JSON lacks, with null; keys become text."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _limit_memory() -> None:
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def _refuse(message: str, hint: str) -> int:
    sys.stderr.write(f"{message}\t{hint}\n")
    return REFUSED


if __name__ == "__main__":
    sys.exit(_main(*map(int, sys.argv[1:])))
