"""Uploads are measured before they are read, and downloads cannot be executed by the browser."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from hypothesis import given
from hypothesis import strategies as st

from gym.downloads import csv_download, json_download
from gym.uploads import read_upload
from lmgym.suites.formats import read_suite, write_long_csv, write_wide_tsv

RISKY = tuple("=+-@\t\r\0＝＋－＠")
CELL = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("'=+-@＝＋－＠\t\r\n,;\""), max_size=10
)


class Unread(io.BytesIO):
    """A file that must not be read."""

    def read(self, *args):
        raise AssertionError("it was read")


def test_a_file_of_the_limit_is_read_and_one_byte_more_is_not():
    assert read_upload(SimpleUploadedFile("a", b"12345"), 5) == b"12345"
    with pytest.raises(ValidationError, match=r"big\.json is larger than 5e-06 MB"):
        read_upload(UploadedFile(Unread(), "big.json", size=6), 5)


def test_a_file_that_lies_about_its_size_is_refused():
    with pytest.raises(ValidationError, match="larger than its announced size"):
        read_upload(UploadedFile(io.BytesIO(b"123456789"), "liar", size=3), 5)


def test_a_file_without_a_size_is_refused():
    upload = SimpleUploadedFile("a", b"1")
    upload.size = None
    with pytest.raises(ValidationError):
        read_upload(upload, 5)


@given(st.lists(CELL, min_size=3, max_size=3), st.lists(CELL, min_size=3, max_size=3))
def test_importing_an_exported_table_gives_the_same_contents(first, second):
    suite = {
        "meta": {"name": "s", "metric": "sum"},
        "region_meta": {"1": "=Subject", "2": "-Verb", "3": "'@Rest"},
        "predictions": [],
        "items": [
            {
                "item_number": 1,
                "conditions": [
                    {
                        "condition_name": name,
                        "regions": [
                            {"region_number": k, "content": cell} for k, cell in enumerate(cells, start=1)
                        ],
                    }
                    for name, cells in (("+a", first), ("b", second))
                ],
            }
        ],
    }
    document = read_suite(json.dumps(suite).encode())
    for text, delimiter in ((write_long_csv(document), ","), (write_wide_tsv(document), "\t")):
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            assert not any(cell.startswith(RISKY) for cell in row), row
        again = read_suite(text.encode(), "s.csv")
        assert again.region_names == document.region_names
        assert [(row.item, row.condition, row.contents, row.raw) for row in again.sentences] == [
            (row.item, row.condition, row.contents, row.raw) for row in document.sentences
        ]


def test_downloads_are_attachments_in_utf8():
    table = csv_download("t.csv", ("a",), [("ä",)])
    assert table["Content-Type"] == "text/csv; charset=utf-8"
    assert table["Content-Disposition"] == 'attachment; filename="t.csv"'
    assert table.content.decode() == "a\r\nä\r\n"


def test_json_downloads_lose_nothing_and_know_no_nan():
    data = {"text": "=1 \t ＝ 🙂", "value": 0.1 + 0.2, "none": None}
    assert json.loads(json_download("d.json", data).content) == data
    with pytest.raises(ValueError, match="JSON compliant"):
        json_download("d.json", {"value": float("nan")})
