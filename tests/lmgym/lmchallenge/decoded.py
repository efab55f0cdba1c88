"""Helpers that decode rows of logs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from lmgym.lmchallenge.logs.decoder import LogLine, read_lines
from lmgym.lmchallenge.logs.table import Table, read_table


def lines_of(rows: Iterable[Any]) -> list[tuple[int, LogLine]]:
    """Decode rows into lines numbered from 1."""
    return list(read_lines([json.dumps(row).encode() for row in rows]))


def table_of(*rows: Any, keep: str = "all", mixes: Any = ()) -> Table:
    """Decode the rows of one game into a table."""
    return read_table(lines_of(rows), filters=[keep], mixes=mixes)
