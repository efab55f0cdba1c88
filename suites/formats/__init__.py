"""Reading and writing test suites. Pure: no Django, no network, no model.

`read_suite` takes the bytes of any supported file; see docs/suite-format.md for what is supported.
"""

from __future__ import annotations

from .blimp import read_jsonl
from .documents import (
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_CONDITIONS,
    MAX_NAME_CHARACTERS,
    MAX_PREDICTIONS,
    MAX_REGIONS,
    MAX_SENTENCES,
    METRICS,
    Notice,
    PredictionDoc,
    Problem,
    SentenceDoc,
    SuiteDocument,
    SuiteFormatError,
)
from .json_reader import read_json
from .predictions import inherit
from .reader import read_suite
from .structure import schema
from .tables import read_long_csv, read_wide_table
from .text import guard, tidy, unguard
from .write import write_json, write_long_csv, write_wide_tsv

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
    "Notice",
    "PredictionDoc",
    "Problem",
    "SentenceDoc",
    "SuiteDocument",
    "SuiteFormatError",
    "guard",
    "inherit",
    "read_json",
    "read_jsonl",
    "read_long_csv",
    "read_suite",
    "read_wide_table",
    "schema",
    "tidy",
    "unguard",
    "write_json",
    "write_long_csv",
    "write_wide_tsv",
]
