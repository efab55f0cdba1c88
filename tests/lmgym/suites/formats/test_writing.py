"""Written files are read back as the same document."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lmgym.suites.formats import (
    PredictionDoc,
    read_json,
    read_suite,
    write_json,
    write_long_csv,
    write_wide_tsv,
)
from lmgym.suites.intake import read_any

from .samples import GOLDEN, condition, golden, read, suite

ALL = sorted(GOLDEN.glob("*.*"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_json_round_trip_keeps_everything(path):
    doc = golden(path.name)
    assert read_json(write_json(doc).encode()) == doc


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_the_early_dialect_keeps_all_but_what_it_cannot_say(path):
    doc = golden(path.name)
    back = read_json(write_json(doc, dialect="early").encode())
    assert back == replace(doc, predictions=tuple(PredictionDoc(p.formula) for p in doc.predictions))
    assert back.sha256() == doc.sha256()


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_trimmed_json_is_what_is_scored(path):
    doc = golden(path.name)
    back = read_json(write_json(doc, whitespace="trimmed").encode())
    assert [s.contents for s in back.sentences] == [s.contents for s in doc.sentences]
    assert all(s.raw is None for s in back.sentences)
    assert back.sha256() == doc.sha256()


def test_the_current_dialect_looks_like_the_documentation():
    written = json.loads(write_json(golden("named.json")))
    assert list(written) == ["meta", "region_meta", "predictions", "items"]
    assert written["predictions"][0] == {
        "type": "formula",
        "formula": "(3;%sing_match%) < (3;%sing_mismatch%)",
        "name": "Singular",
        "description": "A singular subject wants a singular verb.",
    }
    assert written["predictions"][1]["weight"] == 2
    assert written["meta"] == {"name": "agreement_named", "metric": ["sum", "mean"]}
    assert list(written["items"][0]["conditions"][0]["regions"][0]) == ["region_number", "content"]


def test_the_early_dialect_has_strings():
    written = json.loads(write_json(golden("named.json"), dialect="early"))
    assert written["predictions"] == [
        "(3;%sing_match%) < (3;%sing_mismatch%)",
        "[ (3;%plur_match%)<(3;%plur_mismatch%) ] ",
    ]


def test_unknown_keys_come_back_where_they_stood():
    written = json.loads(write_json(golden("untidy.json")))
    given = json.loads((GOLDEN / "untidy.json").read_text(encoding="utf-8"))
    assert written["notes"] == given["notes"]
    assert written["items"][0]["source"] == {"page": 12}
    assert written["items"][0]["conditions"][0] == given["items"][0]["conditions"][0]
    assert written["items"][1] == given["items"][1]


def test_text_is_not_escaped_and_the_file_ends_with_a_line_break():
    document = suite()
    document["items"][0]["conditions"][0]["regions"][0]["content"] = "Der Kühlschrank"
    text = write_json(read(document))
    assert "Der Kühlschrank" in text
    assert text.endswith("}\n")


def test_formulas_of_an_old_dialect_do_not_come_back_after_they_were_deleted():
    doc = read(suite(meta={"name": "s", "metric": "sum", "string_predictions": ["(1;%match%) > 0"]}))
    assert read_json(write_json(replace(doc, predictions=())).encode()).predictions == ()


@pytest.mark.parametrize("write", [write_json, write_long_csv, write_wide_tsv])
@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000"])
def test_spaces_that_do_not_break_are_text_in_every_format(write, space):
    texts = (f"oui{space}; non{space}!", space, f"{space}fin{space}")
    document = suite()
    document["items"][0]["conditions"][0] = condition("match", *texts)
    back = read_suite(write(read(document)).encode(), "sample")
    assert back.table()[1, "match"].contents == texts
    assert back.table()[1, "match"].raw is None


def test_spaces_that_do_not_break_are_text_in_minimal_pairs():
    line = json.dumps({"sentence_good": "\u00a0Oui\u00a0!", "sentence_bad": "\u00a0"})
    doc = read_any(line.encode(), "pairs.jsonl")
    assert [sentence.contents for sentence in doc.sentences] == [("\u00a0Oui\u00a0!",), ("\u00a0",)]
