"""Read Parquet files as rows of named values.

Compressed and dictionary-encoded pages can unpack to any size, whatever a file declares. So pyarrow runs in a process
of its own with limited memory and time (`parquet_rows`), which hands back JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from lmgym.files.bounded import Limits, Refused
from lmgym.files.parquet_rows import MAX_OUTPUT, REFUSED, SECONDS

MAGIC = b"PAR1"
_PROGRAM = Path(__file__).with_name("parquet_rows.py")


def is_parquet(data: bytes) -> bool:
    """Recognise a Parquet file by its first and last bytes."""
    return data.startswith(MAGIC) and data.endswith(MAGIC)


def read_parquet(data: bytes, limits: Limits) -> list[dict[str, Any]]:
    """Read the rows of a Parquet file. Values are those of JSON; dates, bytes and the like are text.

    Args:
        limits: `lines`, `columns` and `cells`; other limits are ignored.

    Raises:
        Refused: the file is damaged or exceeds a limit, or pyarrow is missing.
    """
    bounds = [str(bound or sys.maxsize) for bound in (limits.lines, limits.columns, limits.cells)]
    command = [sys.executable, "-I", str(_PROGRAM), *bounds]
    try:
        done = subprocess.run(  # noqa: S603  a program of this package
            command, input=data, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"reading it takes more than {SECONDS} seconds", "Save it as CSV.") from None
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if done.returncode == REFUSED:
        message, _, hint = last.partition("\t")
        raise Refused(message, hint)
    if done.returncode or len(done.stdout) > 4 * MAX_OUTPUT:
        raise Refused("the Parquet file is damaged or too large", "Save it as CSV or JSON Lines.")
    return [json.loads(line) for line in done.stdout.splitlines()]
