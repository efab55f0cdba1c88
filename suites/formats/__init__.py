"""Reading and writing test suites. Pure: no Django, no network, no model.

`read_suite` takes the bytes of any supported file; see docs/suite-format.md for what is supported.
"""

from __future__ import annotations

from suites.formats.blimp import read_jsonl
from suites.formats.documents import (
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
from suites.formats.json_reader import read_json
from suites.formats.predictions import inherit
from suites.formats.reader import read_suite
from suites.formats.structure import schema
from suites.formats.tables import read_long_csv, read_wide_table
from suites.formats.write import write_json, write_long_csv, write_wide_tsv

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
    "inherit",
    "read_json",
    "read_jsonl",
    "read_long_csv",
    "read_suite",
    "read_wide_table",
    "schema",
    "write_json",
    "write_long_csv",
    "write_wide_tsv",
]
