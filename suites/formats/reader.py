"""`read_suite`: whatever the file is."""

from __future__ import annotations

from gym.lib.problems import Report
from gym.lib.text import decode
from suites.formats.blimp import is_jsonl, read_jsonl
from suites.formats.documents import MAX_BYTES, SuiteDocument
from suites.formats.json_reader import read_json
from suites.formats.tables import name_from, parse_table, read_long_table, read_wide


def read_suite(data: bytes, filename: str = "") -> SuiteDocument:
    """Read a suite from JSON, JSONL pairs, a long or a wide table, told apart by content first, file name second.

    A table's suite is named after `filename`. Raises `FormatError` and nothing else, whatever the bytes.
    """
    report = Report()
    text = decode(data, report, MAX_BYTES)
    if filename.lower().endswith((".jsonl", ".ndjson")) or is_jsonl(text):
        return read_jsonl(data, name_from(filename))
    looks_like_json = text.lstrip()[:1] in ("{", "[")
    if looks_like_json or filename.lower().endswith(".json"):
        return read_json(data)
    table = parse_table(text, report)
    read = read_long_table if table.is_long else read_wide
    return read(table, name_from(filename), report)
