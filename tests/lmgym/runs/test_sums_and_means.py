"""How many items pass with sums of bits and with means per token, where compared regions differ in length."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

from lmgym.cli.rates import table
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.compute import result_of_rows
from lmgym.runs.outcomes import LENGTH_ADVICE
from lmgym.runs.report import as_text
from lmgym.suites.formats import read_suite
from tests.lmgym.runs.test_compute import run

REGION = "(2;%pronoun%) < (2;%noun%)"
SENTENCE = "(*;%pronoun%) < (*;%noun%)"
BITS = {"she": 6.0, "the": 4.0, "young": 9.0, "woman": 2.0, "it": 3.0, "a": 8.0, "dog": 1.0}


def document(*formulas: str, nouns: tuple[str, ...] = ("the young woman", "a dog"), metric: str = "sum"):
    items = []
    for number, (pronoun, noun) in enumerate(zip(("she", "it"), nouns, strict=True), start=1):
        conditions = [
            {
                "condition_name": name,
                "regions": [
                    {"region_number": k, "content": text}
                    for k, text in enumerate(("Vera left because", word, "needed milk."), start=1)
                ],
            }
            for name, word in (("pronoun", pronoun), ("noun", noun))
        ]
        items.append({"item_number": number, "conditions": conditions})
    data = {
        "meta": {"name": "length", "metric": metric},
        "region_meta": {"1": "Context", "2": "Referent", "3": "Rest"},
        "predictions": [{"type": "formula", "formula": formula} for formula in formulas],
        "items": items,
    }
    return read_suite(json.dumps(data).encode())


def counts(prediction):
    return prediction.passed_with_sums, prediction.passed_with_means, prediction.changed_by_length


@pytest.mark.parametrize(("metric", "passed"), [("sum", 2), ("mean", 1)])
def test_sums_and_means_are_counted_whatever_the_metric_of_the_run(metric, passed):
    # 6 < 15 and 3 < 9 as sums; 6 > 5 and 3 < 4.5 as means per token
    [region] = run(document(REGION), BITS, ScoringPolicy(metric=metric)).predictions
    assert region.passed == passed
    assert counts(region) == (2, 1, 1)
    assert region.length_words == (
        "Compared regions differ in their number of tokens: 2 items pass with sums of bits, 1 item passes with "
        f"means per token; outcomes that differ: 1 of 2. {LENGTH_ADVICE}"
    )


def test_a_sentence_is_a_sum_under_every_metric_and_a_mean_among_the_means():
    # 11 < 20 and 8 < 14 as sums; 11/6 < 20/8 and 8/6 < 14/7 as means
    for metric in ("sum", "mean", "max"):
        [sentence] = run(document(SENTENCE), BITS, ScoringPolicy(metric=metric)).predictions
        assert sentence.margins == [9.0, 6.0]
        assert counts(sentence) == ((2, 2, 0) if metric != "max" else (None, None, None))
    [sentence] = run(document(SENTENCE), {**BITS, "the": 0.0, "young": 0.0, "woman": 6.5}).predictions
    assert counts(sentence) == (2, 1, 1)  # 11 < 11.5, but 11/6 > 11.5/8


def test_regions_of_equal_length_have_nothing_to_compare():
    [region] = run(document(REGION, nouns=("Ann", "Bob")), BITS).predictions
    assert counts(region) == (None, None, None)
    assert region.length_words == ""


def test_an_empty_region_has_a_sum_and_no_mean():
    formula = "(2;%noun%) < (2;%pronoun%)"
    for metric in ("sum", "mean"):
        [region] = run(document(formula, nouns=("", "dog")), BITS, ScoringPolicy(metric=metric)).predictions
        assert counts(region) == (2, 1, 1)


def test_an_upload_has_the_numbers_if_it_has_tokens():
    doc = document(REGION)
    rows = run(doc, BITS).sentences
    assert counts(result_of_rows(doc, rows, metric="sum").predictions[0]) == (2, 1, 1)
    without = [replace(row, tokens=[]) for row in rows]
    assert counts(result_of_rows(doc, without, metric="sum").predictions[0]) == (None, None, None)
    assert counts(result_of_rows(doc, rows, metric="median").predictions[0]) == (None, None, None)


def test_the_report_for_a_terminal_says_so():
    doc = document(REGION)
    head = {
        "model": {"name": "tiny"},
        "policy": {"metric": "sum"},
        "coverage": {"n_words": None, "n_unknown_words": None},
        "provenance": {},
    }
    assert "1 item passes with means per token; outcomes that differ: 1 of 2." in as_text(
        doc, run(doc, BITS), head
    )


def test_the_table_of_the_command_ends_with_what_to_do() -> None:
    row = {"suite": "s", "model": "m", "prediction": "p", "passed": 1, "n": 2, "against_chance": ""}
    row |= dict.fromkeys(("rate", "low", "high", "chance"), 0.5)
    changed = {"passed_with_sums": 2, "passed_with_means": 1, "changed_by_length": 1}
    frame = pd.DataFrame([row | changed, row | changed, row | dict.fromkeys(changed)])
    assert table(frame).splitlines()[-1] == LENGTH_ADVICE
    assert table(frame).count(LENGTH_ADVICE) == 1
    assert LENGTH_ADVICE not in table(frame.tail(1))
