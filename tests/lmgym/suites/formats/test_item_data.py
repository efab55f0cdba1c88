"""Item data: read from tables and JSON, written back, and the classes of items that it makes."""

from __future__ import annotations

import json

import pytest

from lmgym.suites.formats import read_suite
from lmgym.suites.formats.item_data import item_data
from lmgym.suites.formats.write import WRITERS
from lmgym.suites.intake import read_any
from tests.lmgym.suites.documents import suite_json

TABLE = """item\tcondition\tSubject\tVerb\tdata_frequency\tdata_class
1\tmatch\tThe cat\tsleeps\t3.5\tintransitive
1\tmismatch\tThe cat\tsleep\t2.25\tintransitive
2\tmatch\tThe dog\tsees it\t=1+1\ttransitive
2\tmismatch\tThe dog\tsee it\t\ttransitive
"""


def of_table():
    return read_suite(TABLE.replace("=1", "'=1").encode(), "ours.tsv")


def test_columns_of_tables_with_the_prefix_are_data_and_no_regions():
    document = of_table()
    assert document.region_names == ("Subject", "Verb")
    data = item_data(document)
    assert data.names == ("class", "frequency")
    assert data.by_item == {"class": {1: "intransitive", 2: "transitive"}}
    assert data.values["frequency"] == {(1, "match"): "3.5", (1, "mismatch"): "2.25", (2, "match"): "=1+1"}


def test_keys_of_json_are_data_if_they_are_plain():
    suite = suite_json(items=2)
    suite["items"][0] |= {"material": "cats", "list": 1, "nested": {"a": 1}, "data": {"plausible": True}}
    suite["items"][1] |= {"list": 2}
    suite["items"][1]["conditions"][0]["source"] = "corpus"
    data = item_data(read_suite(json.dumps(suite).encode()))
    assert data.by_item == {
        "material": {1: "cats"},
        "list": {1: "1", 2: "2"},
        "plausible": {1: "true"},
        "source": {2: "corpus"},
    }
    assert data.values["source"] == {(2, "match"): "corpus"}
    assert data.classes == {"list": ["1", "2"]}


@pytest.mark.parametrize("form", ["json", "csv", "tsv", "csv-excel", "xlsx"])
def test_every_file_keeps_item_data(form):
    document = of_table()
    written = WRITERS[form](document)
    written = written.encode() if isinstance(written, str) else written
    name = "ours." + {"csv-excel": "csv"}.get(form, form)
    read = read_any(written, name)
    assert item_data(read).values == item_data(document).values
    assert [row.contents for row in read.sentences] == [row.contents for row in document.sentences]
    if form == "json":
        assert [row.extra for row in read.sentences] == [row.extra for row in document.sentences]


def test_data_does_not_change_the_digest():
    assert of_table().sha256() == read_suite(TABLE.replace("transitive", "other").encode(), "x.tsv").sha256()


def test_too_many_or_equal_values_make_no_classes():
    suite = suite_json(items=25)
    for number, item in enumerate(suite["items"]):
        item |= {"number": number, "study": "ours", "half": "ab"[number % 2]}
    assert item_data(read_suite(json.dumps(suite).encode())).classes == {"half": ["a", "b"]}
