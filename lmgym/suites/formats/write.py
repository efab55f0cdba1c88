"""Write suites: JSON in two dialects, long CSV, wide TSV, Excel.

JSON is lossless: `read_json(write_json(doc).encode()) == doc`. Tables contain sentences and region names, and guard
cells that a spreadsheet would execute; the readers remove the guard.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from lmgym.files.workbooks import write_xlsx
from lmgym.suites.columns import doubts
from lmgym.suites.formats.documents import PredictionDoc, SentenceDoc, SuiteDocument
from lmgym.suites.formats.item_data import item_data
from lmgym.suites.formats.tables import DATA_PREFIX, REGION_PREFIX
from lmgym.suites.headings import is_opening, named_roles, pair_of
from lmgym.text import guard

Dialect: TypeAlias = Literal["current", "early"]
Whitespace: TypeAlias = Literal["as-imported", "trimmed"]


def write_json(
    doc: SuiteDocument, dialect: Dialect = "current", whitespace: Whitespace = "as-imported"
) -> str:
    """Write a suite as indented JSON, not escaped to ASCII and ending with a line break.

    Args:
        dialect: "current" writes predictions as `{"type": "formula", "formula": …}` with name, description and unknown
            keys; "early" writes plain strings, without these.
        whitespace: "as-imported" restores the whitespace of the imported file; "trimmed" writes the text that is
            scored.
    """
    meta = {key: value for key, value in doc.meta.items() if key not in ("name", "metric")}
    if not doc.predictions:  # otherwise readers would restore deleted formulas of an old import
        meta.pop("string_predictions", None)
    metric = list(doc.metric) if isinstance(doc.metric, tuple) else doc.metric
    extra = dict(doc.extra)
    unknown_items: dict[str, dict[str, Any]] = extra.pop("items", {})
    items: dict[int, dict[str, Any]] = {}
    for sentence in doc.sentences:
        empty = {"item_number": sentence.item, "conditions": [], **unknown_items.get(str(sentence.item), {})}
        items.setdefault(sentence.item, empty)["conditions"].append(_condition(sentence, whitespace))
    suite = {
        "meta": {"name": doc.name, "metric": metric, **meta},
        "region_meta": {str(number): name for number, name in doc.regions.items()},
        "predictions": [_prediction(p) if dialect == "current" else p.formula for p in doc.predictions],
        "items": list(items.values()),
        **extra,
    }
    return json.dumps(suite, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _prediction(prediction: PredictionDoc) -> dict[str, Any]:
    labels = {"name": prediction.name, "description": prediction.description}
    filled = {key: value for key, value in labels.items() if value}
    return {"type": "formula", "formula": prediction.formula, **filled, **prediction.extra}


def _condition(sentence: SentenceDoc, whitespace: Whitespace) -> dict[str, Any]:
    extra = dict(sentence.extra)
    unknown: dict[str, dict[str, Any]] = extra.pop("regions", {})
    regions = [
        {"region_number": number, "content": content, **unknown.get(str(number), {})}
        for number, content in enumerate(_cells(sentence, whitespace), start=1)
    ]
    return {"condition_name": sentence.condition, "regions": regions, **extra}


def _cells(sentence: SentenceDoc, whitespace: Whitespace) -> tuple[str, ...]:
    return sentence.raw if sentence.raw is not None and whitespace == "as-imported" else sentence.contents


def write_long_csv(doc: SuiteDocument, whitespace: Whitespace = "as-imported") -> str:
    """Write the long CSV of the SyntaxGym site, with CRLF line endings (RFC 4180)."""
    data = item_data(doc).values
    rows: list[list[str]] = [
        ["item_number", "condition_name", "region_number", "region_name", "content", *_data_headings(data)]
    ]
    for sentence in doc.sentences:
        kept = [guard(cell) for cell in _data_cells(data, sentence)]
        for number, content in enumerate(_cells(sentence, whitespace), start=1):
            name = doc.region_names[number - 1]
            rows.append(
                [
                    str(sentence.item),
                    guard(sentence.condition),
                    str(number),
                    guard(name),
                    guard(content),
                    *kept,
                ]
            )
    return _table(rows, ",")


def write_wide_tsv(doc: SuiteDocument, whitespace: Whitespace = "as-imported") -> str:
    """Write a tab-separated table with item, condition and one column per region, for pasting into a sheet."""
    return _table(_wide(doc, whitespace, guard), "\t")


def _wide(doc: SuiteDocument, whitespace: Whitespace, text: Callable[[str], str]) -> list[list[str]]:
    data = item_data(doc).values
    headings = (
        REGION_PREFIX + text(name) if is_doubtful else text(name)
        for name, is_doubtful in zip(doc.region_names, _doubtful_regions(doc), strict=True)
    )
    rows = [["item", "condition", *headings, *_data_headings(data)]]
    for sentence in doc.sentences:
        cells = (*_cells(sentence, whitespace), *_data_cells(data, sentence))
        rows.append([str(sentence.item), text(sentence.condition), *map(text, cells)])
    return rows


def _doubtful_regions(doc: SuiteDocument) -> list[bool]:
    """Return for each region whether readers of tables would take its column for something else, or ask about it."""
    names = doc.region_names
    pair = pair_of(names) or ()
    sure = {
        name
        for k, (name, role) in enumerate(zip(names, named_roles(names), strict=True))
        if role
        or k in pair
        or names.count(name) > 1
        or name.startswith((DATA_PREFIX, REGION_PREFIX))
        or (k and is_opening(name))
    }
    items, conditions = ([str(row.item) for row in doc.sentences], [row.condition for row in doc.sentences])
    columns = [[row.contents[k] for row in doc.sentences] for k in range(len(names))]
    while doubted := doubts(names, columns, items, conditions, sure):
        sure |= {names[k] for k in doubted}
    return [name in sure for name in names]


def _data_headings(names: Iterable[str]) -> list[str]:
    return [f"{DATA_PREFIX}{name}" for name in names]


def _data_cells(data: Mapping[str, Mapping[tuple[int, str], str]], sentence: SentenceDoc) -> list[str]:
    return [of_name.get((sentence.item, sentence.condition), "") for of_name in data.values()]


def write_excel_csv(doc: SuiteDocument, whitespace: Whitespace = "as-imported") -> str:
    """Write the wide table with commas and a byte order mark, without which Excel reads UTF-8 as Windows-1252."""
    return "\ufeff" + _table(_wide(doc, whitespace, guard), ",")


def write_workbook(doc: SuiteDocument, whitespace: Whitespace = "as-imported") -> bytes:
    """Write the wide table as an .xlsx workbook in which every cell but the item number is text."""
    rows = _wide(doc, whitespace, str)
    return write_xlsx([("Sentences", [rows[0], *([int(row[0]), *row[1:]] for row in rows[1:])])]).read()


def _table(rows: list[list[str]], delimiter: str) -> str:
    buffer = io.StringIO(newline="")
    # All suite tables are written here; every text cell has passed `guard`.
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")  # noqa: TID251
    writer.writerows(rows)
    return buffer.getvalue()


WRITERS: dict[str, Callable[[SuiteDocument], str | bytes]] = {
    "json": write_json,
    "json-trimmed": partial(write_json, whitespace="trimmed"),
    "json-early": partial(write_json, dialect="early"),
    "csv": write_long_csv,
    "tsv": write_wide_tsv,
    "csv-excel": write_excel_csv,
    "xlsx": write_workbook,
}
"""Writer of each format, by key."""
