"""People as a participant of the suite page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lmgym.people.observations import Measure
from lmgym.people.predictions import BETWEEN, WITHIN, people_result, people_summary
from lmgym.people.region_means import region_means
from lmgym.runs.rules import RULES, score
from lmgym.suites.formulas import NOT_EVALUABLE
from lmgym.text.problems import InvalidArgument
from tests.lmgym.people.worlds import observations, read, run, suite

RATING = Measure("acceptability", "rating", (1, 7))


def test_a_prediction_holds_for_people_where_their_means_differ_in_its_direction():
    document = suite(3)
    rows = [
        (p, item, c, 3, 0, 300 + 10 * p + 20 * c * sign)
        for p in (0, 1)
        for item, sign in ((1, 1), (2, 1), (3, -1))
        for c in (0, 1)
    ]
    outcome = people_result(observations(rows), document).predictions[0]
    assert (outcome.n, outcome.passed, outcome.not_evaluable) == (3, 2, 0)
    assert outcome.margins == pytest.approx([20, 20, -20])


def test_an_item_without_a_value_in_a_region_is_not_evaluable_and_does_not_pass():
    document = suite(2)
    rows = [(0, 1, 0, 3, 0, 300), (0, 1, 1, 3, 0, 330), (0, 2, 0, 3, 0, 300)]
    outcome = people_result(observations(rows), document).predictions[0]
    assert (outcome.n, outcome.passed, outcome.not_evaluable) == (2, 1, 1)
    assert outcome.outcomes[1] == NOT_EVALUABLE


def test_items_that_nobody_saw_are_not_counted():
    rows = [(p, 2, c, 3, 0, 300 + 30 * c + p) for p in (0, 1) for c in (0, 1)]
    result = people_result(observations(rows), suite(3))
    outcome = result.predictions[0]
    assert (outcome.n, outcome.passed, outcome.not_evaluable) == (1, 1, 0)
    assert result.items == (2,)
    assert result.summary == people_summary(observations(rows), suite(3))


def test_the_time_of_a_region_is_the_sum_of_its_words_of_participants_who_have_all():
    document = suite(1)  # region 4 has the words 4 and 5
    rows = [(0, 1, 0, 4, 4, 200), (0, 1, 0, 4, 5, 250), (1, 1, 0, 4, 4, 900)]
    means = region_means(observations(rows), document)
    assert means.cell_means()[4] == 450
    assert (means.row.tolist(), means.weight.tolist()) == ([0], [1])


def test_participants_without_a_value_are_not_counted():
    document = suite(1)
    rows = [(0, 1, 0, 3, 3, 200), (1, 1, 0, 4, 4, 900), (3, 1, 0, 3, 3, 300)]
    means = region_means(observations(rows, participants=("p0", "p1", "p2", "p3")), document)
    assert (means.n_rows, means.row.tolist()) == (2, [0, 1])


def test_the_sentence_is_the_sum_of_its_regions_and_empty_regions_take_no_time():
    document = suite(1)
    sentences = list(document.sentences)
    sentences[0] = replace(
        sentences[0], contents=(*sentences[0].contents[:1], "", *sentences[0].contents[2:])
    )
    document = replace(document, sentences=tuple(sentences))
    rows = [(0, 1, 0, region, 0, 100 * region) for region in (1, 3, 4)]
    values = region_means(observations(rows), document)
    by_reference = values.by_reference(values.cell_means())
    assert by_reference["a", "*"].tolist() == [800]
    assert by_reference["a", 2].tolist() == [0]
    assert np.isnan(by_reference["b", "*"]).all()


def test_judgments_are_negated_for_formulas_but_not_in_means():
    document = replace(suite(2), predictions=(replace(suite(1).predictions[0], formula="(*;%a%) < (*;%b%)"),))
    rows = [(p, item, c, 0, 0, 6 - 3 * c) for p in (0, 1) for item in (1, 2) for c in (0, 1)]
    result = people_result(observations(rows, RATING), document)
    assert result.predictions[0].passed == 2  # condition a is rated 6, b 3: b is worse
    assert result.predictions[0].margins == [3, 3]
    assert [row["sentence"]["mean"] for row in result.summary] == [6, 3]
    assert people_summary(observations(rows, RATING), document) == result.summary


def test_the_means_of_every_sentence_have_their_n_and_text():
    document = suite(1)
    rows = [(0, 1, 0, 3, 0, 300), (1, 1, 0, 3, 0, 340), (0, 1, 1, 3, 0, 360)]
    listed = list(region_means(observations(rows), document).rows())
    texts = [sentence.contents[2] for sentence in document.sentences]
    assert listed == [(1, "a", 3, texts[0], 2, 320.0), (1, "b", 3, texts[1], 1, 360.0)]


def test_means_over_participants_are_weighted_by_their_number():
    document = suite(2)
    rows = [(-1, 1, 0, 3, 0, 300), (-1, 1, 0, 3, 0, 360), (-1, 2, 0, 3, 0, 300)]
    people = observations(rows, participants=(), n_participants=np.array([10, 20, 30], np.int32))
    means = region_means(people, document)
    assert means.cell_means()[3] == 340
    assert people_result(people, document).n_participants == 0


def test_intervals_are_within_participants_if_they_read_all_conditions():
    document = suite(6)
    people = read(document, run(document), 8)
    result = people_result(people, document)
    assert result.interval == WITHIN
    cell = result.summary[0]["regions"][2]
    assert cell["n"] == 8
    assert cell["low"] < cell["mean"] < cell["high"]
    one_condition_each = people.take(people.participant % 2 == people.condition)
    assert people_result(one_condition_each, document).interval == BETWEEN


def test_the_interval_over_participants_and_items_contains_the_rate_and_is_not_narrower_than_over_items():
    document = suite(10)
    result = people_result(read(document, run(document), 6, noise=60), document)
    outcome, crossed = result.predictions[0], result.crossed[0]
    assert crossed.low <= outcome.low <= outcome.rate <= outcome.high <= crossed.high
    assert people_result(read(document, run(document), 6, noise=60), document).crossed == result.crossed


def test_pooled_rates_have_intervals_over_participants_and_items_too():
    document = suite(10)
    (prediction,) = document.predictions
    opposite = replace(prediction, name="opposite", formula="(3;%a%) > (3;%b%)")
    document = replace(document, predictions=(prediction, opposite))
    result = people_result(read(document, run(document), 6, noise=60), document)
    for rule in RULES.values():
        pooled, crossed = score(result.predictions, rule, 2), result.crossed_scores[rule.key]
        assert crossed.low <= pooled.low <= pooled.rate <= pooled.high <= crossed.high
    assert result.crossed_scores["first"] == result.crossed[0]


def with_predictions(document, *formulas):
    (prediction,) = document.predictions
    return replace(
        document, predictions=tuple(replace(prediction, name="", formula=formula) for formula in formulas)
    )


SENTENCE = "(*;%a%) < (*;%b%)"
CRITICAL = "(3;%a%) < (3;%b%)"
RATED = [(p, item, c, 0, 0, 6 - 3 * c) for p in (0, 1) for item in (1, 2) for c in (0, 1)]


@pytest.mark.parametrize("formula", [CRITICAL, f"{SENTENCE} & {CRITICAL}", f"{SENTENCE} | {CRITICAL}"])
def test_ratings_of_whole_sentences_give_no_rate_to_predictions_about_regions(formula):
    result = people_result(observations(RATED, RATING), with_predictions(suite(2), SENTENCE, formula))
    assert [(one.position, one.rate) for one in result.predictions] == [(0, 1.0)]
    (unevaluable,) = result.unevaluable
    assert unevaluable.words == (
        "Prediction 2 cannot be evaluated with these data: it compares region 3 (three), and the values are of whole "
        "sentences."
    )


def test_only_rules_without_the_prediction_that_cannot_be_evaluated_have_a_rate():
    result = people_result(observations(RATED, RATING), with_predictions(suite(2), SENTENCE, CRITICAL))
    assert list(result.crossed_scores) == ["first"]
    assert [score(result.predictions, rule, 2).rate for rule in RULES.values()] == [None, None, 1.0]
    result = people_result(observations(RATED, RATING), with_predictions(suite(2), CRITICAL, SENTENCE))
    assert result.crossed_scores == {}
    assert [score(result.predictions, rule, 2).rate for rule in RULES.values()] == [None, None, None]


def test_a_prediction_about_a_region_or_condition_without_any_data_has_no_rate():
    rows = [(p, item, c, 3, 0, 300 + c) for p in (0, 1) for item in (1, 2) for c in (0, 1)]
    document = with_predictions(suite(2), CRITICAL, "(1;%a%) < (3;%b%)", SENTENCE)
    result = people_result(observations(rows), document)
    assert [one.position for one in result.predictions] == [0]
    assert [one.reason for one in result.unevaluable] == [
        "there are no values of region 1 (one) in condition a",
        "there are no values of the whole sentence in condition a, the whole sentence in condition b",
    ]


def test_means_over_all_items_give_no_rate():
    rows = [(-1, -1, c, 0, 0, 3 + c) for c in (0, 1)]
    people = observations(rows, RATING, participants=(), n_participants=np.array([20, 20], np.int32))
    result = people_result(people, with_predictions(suite(2), SENTENCE))
    assert result.predictions == ()
    assert "no value is of a single item" in result.unevaluable[0].words


def test_words_and_regions_are_not_mixed():
    with pytest.raises(InvalidArgument, match="words and regions"):
        people_result(observations([(0, 1, 0, 3, 3, 300), (0, 1, 0, 3, 0, 300)]), suite(1))
