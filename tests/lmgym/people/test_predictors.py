"""Surprisal, length and frequency of words and regions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wordfreq import zipf_frequency

from lmgym.people.predictors import unit_of, unit_surprisals, units_for, units_of
from lmgym.people.region_means import region_means
from lmgym.runs.compute import SentenceResult
from lmgym.suites.formats import read_json
from lmgym.text.problems import InvalidArgument
from tests.lmgym.people.worlds import observations, read, run, suite


def document(*contents: str, language: str = ""):
    regions = [{"region_number": k, "content": text} for k, text in enumerate(contents, start=1)]
    item = {"item_number": 1, "conditions": [{"condition_name": "a", "regions": regions}]}
    names = {str(k): f"r{k}" for k in range(1, len(contents) + 1)}
    meta = {"name": "one", "metric": "sum", "language": language}
    data = {"meta": meta, "region_meta": names, "predictions": [], "items": [item]}
    import json

    return read_json(json.dumps(data).encode())


def scored(text: str, tokens: list[tuple[str, float | None]]) -> SentenceResult:
    """A scored sentence with tokens that follow each other; a leading space is part of a token."""
    rows, at = [], 0
    for token, bits in tokens:
        rows.append([token, 0, at, at + len(token), bits, 0, False])
        at += len(token)
    return SentenceResult(0, 1, "a", text, [None], 0.0, None, rows)


def test_tokens_are_summed_to_the_words_of_their_first_characters():
    suite = document("The keys,", "", "untied.")
    row = scored(
        "The keys, untied.",
        [("The", 1.0), (" key", 2.0), ("s", 4.0), (",", 8.0), (" un", 16.0), ("tied.", 32.0)],
    )
    assert unit_surprisals(suite, units_of(suite, "word"), [row]).tolist() == [1.0, 14.0, 48.0]
    assert unit_surprisals(suite, units_of(suite, "region"), [row]).tolist() == [15.0, 48.0]
    row = replace(row, regions=[15.0, None, 48.0], tokens=[])
    assert unit_surprisals(suite, units_of(suite, "region"), [row]).tolist() == [15.0, 48.0]


def test_a_word_with_an_unscored_token_is_missing():
    suite = document("The keys")
    row = scored("The keys", [("The", None), (" key", 2.0), ("s", 4.0)])
    assert unit_surprisals(suite, units_of(suite, "word"), [row]) == pytest.approx([np.nan, 6.0], nan_ok=True)


def test_words_are_those_of_the_suite_if_punctuation_was_joined_without_a_space():
    suite = document("left", ", and", "went")
    row = scored("left, and went", [("left", 1.0), (",", 2.0), (" and", 4.0), (" went", 8.0)])
    assert unit_surprisals(suite, units_of(suite, "word"), [row]).tolist() == [1.0, 2.0, 4.0, 8.0]


def test_a_run_on_another_text_is_refused():
    with pytest.raises(InvalidArgument, match="item 1, condition a"):
        unit_surprisals(
            document("Other"), units_of(document("Other"), "word"), [scored("The", [("The", 1.0)])]
        )


def test_predictors_of_a_region_are_sums_over_its_words():
    units = units_of(document("the old man", "", "sat", language="English"), "region")
    assert units.length.tolist() == [9, 3]
    assert units.words.tolist() == [3, 1]
    assert (units.region.tolist(), units.word.tolist()) == ([1, 3], [1, 4])
    assert units.log_frequency[0] == pytest.approx(
        sum(zipf_frequency(w, "en") for w in ("the", "old", "man"))
    )
    assert (units.is_first.tolist(), units.is_last.tolist()) == ([True, False], [False, True])


@pytest.mark.parametrize("language", ["", "tlh", "ang"])
def test_without_frequencies_of_the_language_there_is_no_frequency(language):
    assert units_of(document("a b"), "word", language).log_frequency is None


def test_the_word_before_is_of_the_same_sentence():
    suite_ = suite(2)
    units = units_of(suite_, "word")
    values = np.arange(len(units), dtype=float)
    assert np.isnan(units.before(values, 1)[units.is_first]).all()
    assert units.before(values, 2)[4] == 2.0


def test_observations_find_their_unit_in_any_order_of_conditions():
    document_ = suite(3)
    people = read(document_, run(document_), 2)
    units = units_of(document_, "word")
    turned = replace(
        people, conditions=("b", "a", "other"), condition=(1 - people.condition).astype(np.int16)
    )
    assert (unit_of(turned, document_, units) == unit_of(people, document_, units)).all()
    unknown = replace(people, conditions=("x", "b"))
    assert set(unit_of(unknown, document_, units)[people.condition == 0]) == {-1}


def test_punctuation_that_nobody_has_a_time_of_was_read_with_the_word_before():
    document_ = document("The boat left", ",", "and sank", ".")
    rows = [(0, 1, 0, 1, word, 300) for word in (1, 2, 3)] + [(0, 1, 0, 3, word, 300) for word in (5, 6)]
    people = observations(rows, conditions=("a",))
    units = units_for(people, document_, "")
    assert units.texts == ("The", "boat", "left ,", "and", "sank .")
    assert (units.word.tolist(), units.words.tolist()) == ([1, 2, 3, 5, 6], [1] * 5)
    tokens = [
        ("The", 1.0),
        (" boat", 2.0),
        (" left", 4.0),
        (" ,", 8.0),
        (" and", 16.0),
        (" sank", 32.0),
        (" .", 64.0),
    ]
    row = scored("The boat left , and sank .", tokens)
    assert unit_surprisals(document_, units, [row]).tolist() == [1.0, 2.0, 12.0, 16.0, 96.0]
    means = region_means(people, document_)
    values = means.by_reference(means.cell_means())
    assert values["a", "*"].tolist() == [1500]
    assert np.isnan(values["a", 2]).all()
    regions = observations([(0, 1, 0, 1, 0, 300), (0, 1, 0, 3, 0, 300)], conditions=("a",))
    units = units_for(regions, document_, "")
    assert units.texts == ("The boat left ,", "and sank .")
    for stored, expected in (([7.0, 8.0, 48.0, 64.0], [15, 112]), ([7.0, None, 48.0, 64.0], [np.nan, 112])):
        without_tokens = replace(row, regions=stored, tokens=[])
        bits = unit_surprisals(document_, units, [without_tokens])
        assert bits == pytest.approx(expected, nan_ok=True)
    shown = observations([*rows, (0, 1, 0, 2, 4, 100), (0, 1, 0, 4, 7, 100)], conditions=("a",))
    assert len(units_for(shown, document_, "")) == 7
