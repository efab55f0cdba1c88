"""Item data: what a suite's file says about items or sentences in addition to their text, such as a verb's class.

Values are the cells of data columns of tables (`SentenceDoc.extra["data"]`), and unknown keys of items or conditions in
JSON files whose values are strings, numbers or booleans. They are never scored and are not part of a suite's sha256.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.formats.tables import DATA, DATA_PREFIX

MAX_CLASSES = 20
"""Maximum number of different values of item data by which results are grouped."""


@dataclass(frozen=True)
class ItemData:
    """Item data of a suite.

    Attributes:
        values: name -> (item number, condition) -> text, without empty ones; names in alphabetical order, since
            PostgreSQL does not keep that of JSON keys.
        by_item: name -> item number -> text, for names with one value per item (a value that only some conditions of an
            item have counts for the item).
    """

    values: Mapping[str, Mapping[tuple[int, str], str]]
    by_item: Mapping[str, Mapping[int, str]]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def classes(self) -> dict[str, list[str]]:
        """Names that divide the items into 2 to MAX_CLASSES classes, with their values in order of first
        occurrence. Items without a value are a class of their own, which is not listed."""
        found = {name: list(dict.fromkeys(of_items.values())) for name, of_items in self.by_item.items()}
        return {name: values for name, values in found.items() if 2 <= len(values) <= MAX_CLASSES}


def column_of(name: str) -> str:
    """Return the column of item data in tables of results: "verb class" -> "data_verb_class"."""
    plain = re.sub(r"\W+", "_", name).strip("_")
    return f"{DATA_PREFIX}{plain or 'unnamed'}"


def item_data(document: SuiteDocument) -> ItemData:
    """Collect the item data of a suite."""
    rows = ((row.item, row.condition, row.extra) for row in document.sentences)
    return data_of_rows(rows, document.extra)


def data_of_rows(
    rows: Iterable[tuple[int, str, Mapping[str, Any]]], document_extra: Mapping[str, Any]
) -> ItemData:
    """Collect item data.

    Args:
        rows: item, condition and `SentenceDoc.extra` of each sentence.
        document_extra: `SuiteDocument.extra`.
    """
    of_items = document_extra.get("items", {})
    values: dict[str, dict[tuple[int, str], str]] = {}
    for item, condition, extra in rows:
        for keys in (of_items.get(str(item), {}), extra):
            data = keys.get(DATA)
            for name, value in {**keys, **(data if isinstance(data, dict) else {})}.items():
                if text := _text(value):
                    values.setdefault(name, {})[item, condition] = text
    by_item: dict[str, dict[int, str]] = {}
    for name, found in sorted(values.items()):
        of_name = by_item[name] = {item: text for (item, _), text in found.items()}
        if any(text != of_name[item] for (item, _), text in found.items()):
            del by_item[name]
    return ItemData(dict(sorted(values.items())), by_item)


def beyond_item(extra: Mapping[str, Any], of_item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extra keys of a table's sentence without the data that its item has anyway, since tables repeat the
    data of an item in each of its rows."""
    data = {name: value for name, value in extra.get(DATA, {}).items() if value != _text(of_item.get(name))}
    return {key: value for key, value in extra.items() if key != DATA} | ({DATA: data} if data else {})


def _text(value: Any) -> str:
    """Return the value of a key as text; "" for nested and missing values."""
    if isinstance(value, str):
        return value.strip()
    return json.dumps(value) if isinstance(value, bool | int | float) else ""
