"""The next version of a suite from a file keeps what the file does not mention."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lmgym.suites.formats import PredictionDoc, next_version, read_suite, write_json, write_long_csv
from tests.lmgym.suites.documents import suite_json

FACTORS = [
    {"name": "verb", "levels": ["good", "bad"], "conditions": {"match": "good", "mismatch": "bad"}},
]


def older():
    given = suite_json()
    given["meta"] |= {"factors": FACTORS, "author": "Ada"}
    given["predictions"][0] |= {"name": "agreement", "description": "The verb agrees."}
    for item in given["items"]:
        item["verb"] = "play"
        for condition in item["conditions"]:
            condition["data"] = {"list": "A"}
    given["items"][0]["conditions"][0]["regions"][0]["oovs"] = ["woman"]
    return read_suite(json.dumps(given).encode())


def table(document):
    return read_suite(write_long_csv(document).encode(), "new.csv")


def plain(**changes):
    """The same suite in JSON from a program that knows only the basic format."""
    return read_suite(json.dumps(suite_json(**changes)).encode())


@pytest.mark.parametrize("new", [table(older()), plain()], ids=["table", "JSON"])
def test_factors_descriptions_and_data_are_kept(new):
    before = older()
    after = next_version(new, before)
    assert after.meta["factors"] == FACTORS
    assert after.predictions == before.predictions
    assert [row.extra for row in after.sentences] == [row.extra for row in before.sentences]
    assert after.extra["items"] == {"1": {"verb": "play"}, "2": {"verb": "play"}, "3": {"verb": "play"}}
    assert "the data of items 1-3 was kept from the previous version" in [n.message for n in after.notices]


def test_a_table_also_keeps_name_metric_and_meta_block():
    before = replace(older(), metric="mean")
    after = next_version(table(before), before)
    assert (after.name, after.metric, after.meta) == (before.name, "mean", before.meta)


def test_a_suite_as_it_was_is_the_same_and_says_nothing():
    before = older()
    after = next_version(read_suite(write_json(before).encode()), before)
    assert after == before
    assert after.notices == ()


def test_a_corrected_sentence_keeps_its_data_and_another_one_does_not():
    new = plain()
    rows = list(new.sentences)
    rows[0] = replace(rows[0], contents=("The womam", "plays", "all day."))
    rows[1] = replace(rows[1], contents=("Nobody", "is", "here."))
    after = next_version(replace(new, sentences=tuple(rows)), older())
    assert after.sentences[0].extra == {"data": {"list": "A"}}  # its region changed: no oovs
    assert after.sentences[1].extra == {}
    assert [n.message for n in after.notices][-1] == (
        "the data of item 1 was dropped, because the text changed"
    )


def test_what_the_file_says_wins_and_empty_values_remove():
    given = suite_json()
    given["meta"]["factors"] = []
    given["items"][0] |= {"verb": "see"}
    for item in given["items"]:
        for condition in item["conditions"]:
            condition["data"] = {}
    given["predictions"][0]["name"] = "other"
    after = next_version(read_suite(json.dumps(given).encode()), older())
    assert after.meta["factors"] == []
    assert after.extra["items"]["1"] == {"verb": "see"}
    assert {json.dumps(row.extra.get("data")) for row in after.sentences} == {"{}"}
    assert [(row.name, row.description) for row in after.predictions] == [("other", "")]


def test_another_formula_has_no_description():
    new = replace(plain(), predictions=(PredictionDoc("(2;%mismatch%) < (2;%match%)"),))
    assert next_version(new, older()).predictions == new.predictions


def test_factors_of_conditions_that_are_gone_are_not_kept():
    new = plain()
    sentences = tuple(replace(row, condition=f"new {row.condition}") for row in new.sentences)
    other = replace(new, conditions=("new match", "new mismatch"), sentences=sentences, predictions=())
    assert "factors" not in next_version(other, older()).meta
