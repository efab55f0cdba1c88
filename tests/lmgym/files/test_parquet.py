"""Parquet files are read in a process of their own, within limits."""

from __future__ import annotations

import datetime
import io

import pytest

from lmgym.files.bounded import Limits, Refused
from lmgym.files.parquet import is_parquet, read_parquet
from lmgym.suites.intake import parse_upload

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
LIMITS = Limits(lines=1_000, columns=10, cells=5_000)


def parquet(columns: dict, **options) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


def test_values_become_those_of_json():
    data = parquet(
        {"a": ["x", None], "b": [1.5, float("nan")], "c": [[1, 2], []], "d": [datetime.date(2026, 1, 2)] * 2}
    )
    assert is_parquet(data)
    assert read_parquet(data, LIMITS) == [
        {"a": "x", "b": 1.5, "c": [1, 2], "d": "2026-01-02"},
        {"a": None, "b": None, "c": [], "d": "2026-01-02"},
    ]


def test_pairs_in_parquet_are_a_suite():
    data = parquet(
        {"sentence_good": ["The owl hoots."], "sentence_bad": ["The owl hoot."], "UID": ["agr"], "n": [3]}
    )
    document = parse_upload(data, "agr.parquet").document
    assert document.conditions == ("good", "bad")
    assert document.extra["items"] == {"1": {"UID": "agr", "n": 3}}


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"a": ["x"] * 1_001}, "more than 1,000 rows"),
        ({f"a{k}": ["x"] for k in range(11)}, "more than 10 columns"),
        ({f"a{k}": ["x"] * 600 for k in range(9)}, "more than 5,000 cells"),
    ],
)
def test_files_beyond_a_limit_are_refused(columns, says):
    with pytest.raises(Refused, match=f"(?i){says}"):
        read_parquet(parquet(columns), LIMITS)


def test_a_small_file_with_a_lot_of_text_is_refused():
    data = parquet({"a": ["x" * 1_000_000] * 60}, compression="zstd")
    assert len(data) < 100_000
    with pytest.raises(Refused):
        read_parquet(data, LIMITS)
    (problem,) = parse_upload(data, "a.parquet").problems
    assert problem.where == "file"


@pytest.mark.parametrize("cut", [slice(0, 40), slice(40, None)])
def test_a_damaged_file_is_refused(cut):
    data = parquet({"a": ["x"] * 100})
    bad = b"PAR1" + data[cut] + b"PAR1"
    with pytest.raises(Refused, match="damaged"):
        read_parquet(bad, LIMITS)
