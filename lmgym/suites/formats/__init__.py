"""Read and write test suites. docs/suite-format.md lists the supported formats."""

from __future__ import annotations

from lmgym.suites.formats.documents import (
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_CONDITIONS,
    MAX_NAME_CHARACTERS,
    MAX_PREDICTIONS,
    MAX_REGIONS,
    MAX_SENTENCES,
    METRICS,
    PredictionDoc,
    SentenceDoc,
    SuiteDocument,
)
from lmgym.suites.formats.json_reader import read_json, schema
from lmgym.suites.formats.next_version import next_version
from lmgym.suites.formats.tables import (
    name_from,
    parse_table,
    read_long_csv,
    read_long_table,
    read_wide,
    read_wide_table,
)
from lmgym.suites.formats.write import write_json, write_long_csv, write_wide_tsv
from lmgym.text import decode
from lmgym.text.problems import Report

__all__ = [
    "MAX_BYTES",
    "MAX_CELLS",
    "MAX_CELL_CHARACTERS",
    "MAX_CONDITIONS",
    "MAX_NAME_CHARACTERS",
    "MAX_PREDICTIONS",
    "MAX_REGIONS",
    "MAX_SENTENCES",
    "METRICS",
    "PredictionDoc",
    "SentenceDoc",
    "SuiteDocument",
    "next_version",
    "read_json",
    "read_long_csv",
    "read_suite",
    "read_wide_table",
    "schema",
    "write_json",
    "write_long_csv",
    "write_wide_tsv",
]


def read_suite(data: bytes, filename: str = "") -> SuiteDocument:
    """Read a suite from JSON, a long or a wide table.

    JSON is recognised by the content or the ending of the file name, tables by their columns. Other layouts are read by
    `lmgym.suites.intake`.

    Args:
        filename: also names the suite if the format has no name for it.

    Raises:
        FormatError: the file cannot be read. No other exception is raised, whatever the bytes.
    """
    report = Report()
    text = decode(data, report, MAX_BYTES)
    looks_like_json = text.lstrip()[:1] in ("{", "[")
    if looks_like_json or filename.lower().endswith(".json"):
        return read_json(data)
    table = parse_table(text, report)
    read = read_long_table if table.is_long else read_wide
    return read(table, name_from(filename), report)
