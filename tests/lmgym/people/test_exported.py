"""Observations exported as CSV, Parquet and JSON are read back as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lmgym.people.intake import import_people
from lmgym.people.observations import COLUMNS, Measure
from lmgym.people.tables import HumanValue
from lmgym.people.value_rows import value_rows
from lmgym.suites.formats.documents import SentenceDoc
from lmgym.text.columns import header
from lmgym.text.csv_writer import csv_text
from tests.lmgym.people.data import SALT
from tests.lmgym.people.worlds import averaged, observations, read, run, suite

DOCUMENT = suite(2)
ALL = [(p, item, c) for p in (0, 1) for item in (1, 2) for c in (0, 1)]
RATING = Measure("naturalness", "rating", (1, 7))
DATA = {
    "words": read(DOCUMENT, run(DOCUMENT), 2),
    "words, means": averaged(read(DOCUMENT, run(DOCUMENT), 2)),
    "a few words": observations([(*row, 3, 3, 300 + row[0] / 3) for row in ALL]),
    "regions": observations([(*row, 3, 0, 300.125 + row[0]) for row in ALL], Measure("go-past time", "reading time")),
    "times of unknown kind": observations([(*row, 4, 0, 300) for row in ALL], Measure("reading time", "reading time")),
    "ratings": observations([(*row, 0, 0, 2 + row[2]) for row in ALL], RATING),
    "z scores": observations([(*row, 0, 0, -0.5 + row[2] / 7) for row in ALL], Measure("z", "rating")),
    "judgments": observations([(*row, 0, 0, row[2]) for row in ALL], Measure("accepted", "binary")),
    "choices": observations([(*row, 0, 0, row[2]) for row in ALL], Measure("chosen", "forced choice")),
    "means over items": observations(
        [(-1, -1, c, 0, 0, 0.25 + c / 2) for c in (0, 1)],
        Measure("chosen", "forced choice"),
        participants=(),
        n_participants=np.array([20, 21], np.int32),
    ),
}  # fmt: skip


def as_csv(rows):
    return csv_text(header(HumanValue), rows).encode()


def as_parquet(rows, path):
    pd.DataFrame(rows, columns=header(HumanValue)).to_parquet(path)
    return path.read_bytes()


def as_json(rows):
    return json.dumps([dict(zip(header(HumanValue), row, strict=True)) for row in rows]).encode()


def read_back(data, document=DOCUMENT, answers=None):
    result = import_people(data, "observations", document, answers or {}, salt=SALT)
    assert not result.problems, list(map(str, result.problems))
    return result.matched.observations


def assert_same(new, old):
    """Compare all columns and the measure; participants have other keys, but are the same."""
    assert (new.measure, new.conditions) == (old.measure, old.conditions)
    assert len(new.participants) == len(old.participants)
    for name in COLUMNS:
        assert getattr(new, name).tolist() == getattr(old, name).tolist(), name


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
@pytest.mark.parametrize("name", DATA)
def test_exported_observations_are_read_back_without_a_question(name, form, tmp_path):
    old = DATA[name]
    rows = list(value_rows(old, DOCUMENT, np.ones(len(old), bool)))
    files = {
        "csv": lambda: as_csv(rows),
        "parquet": lambda: as_parquet(rows, tmp_path / "f"),
        "json": lambda: as_json(rows),
    }
    assert_same(read_back(files[form]()), old)


def test_values_that_exclusions_drop_are_read_back_too():
    old = DATA["ratings"]
    rows = list(value_rows(old, DOCUMENT, np.arange(len(old)) > 2))
    assert [row[header(HumanValue).index("used")] for row in rows] == [False] * 3 + [True] * 5
    assert_same(read_back(as_csv(rows)), old)


def test_words_are_read_back_where_punctuation_has_a_number_of_its_own():
    contents = ("Well", ", she said", '. "')
    document = replace(
        DOCUMENT,
        region_names=("one", "two", "three"),
        predictions=(),
        sentences=tuple(SentenceDoc(s.item, s.condition, contents) for s in DOCUMENT.sentences),
    )
    old = observations(
        [(*row, region, word, 300) for row in ALL for region, word in ((1, 1), (2, 3), (2, 4))]
    )
    rows = list(value_rows(old, document, np.ones(len(old), bool)))
    assert [row[header(HumanValue).index("text")] for row in rows[:3]] == ["Well", "she", "said"]
    assert_same(read_back(as_csv(rows), document), old)


def test_an_export_of_another_text_is_not_read_silently():
    old = DATA["words"]
    rows = list(value_rows(old, DOCUMENT, np.ones(len(old), bool)))
    result = import_people(as_csv(rows), "observations", suite(2, seed=4), {}, salt=SALT)
    assert "differ from the suite" in str(result.problems[0])
