"""Models against people: known slopes are recovered, and odd data get an answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lmgym.people import fit_data
from lmgym.people.against import against
from lmgym.people.fit_data import Options
from lmgym.people.observations import Measure
from lmgym.people.predictors import unit_surprisals, units_of
from lmgym.text.problems import InvalidArgument
from tests.lmgym.people.worlds import averaged, observations, read, run, suite

FEW_FOLDS = Options(folds=3, language="")


@pytest.fixture(scope="module")
def document():
    return suite(10)


@pytest.fixture(scope="module")
def result(document):
    return run(document)


@pytest.fixture(scope="module")
def compared(document, result):
    models = {"other": run(document, 9).sentences, "own": result.sentences}
    return against(read(document, result), document, models, FEW_FOLDS)


def slope(compared, model="own", term="surprisal"):
    return next(row for row in compared.coefficient_rows if (row.model, row.term) == (model, term))


def test_known_slopes_are_inside_their_intervals(compared):
    assert slope(compared).low < 5 < slope(compared).high
    assert slope(compared, term="surprisal_1").low < 2 < slope(compared, term="surprisal_1").high
    assert slope(compared).term_unit == "bits"


def test_the_model_that_made_the_times_is_ranked_first(compared):
    assert [(row.model, row.rank) for row in compared.gain_rows] == [("own", 1), ("other", 2)]
    assert compared.gain_rows[0].low > 0
    (difference,) = compared.difference_rows
    assert (difference.first, difference.second) == ("own", "other")
    assert difference.high < 0


def test_all_models_are_fitted_to_the_same_observations(document, result):
    lame = [replace(row, tokens=[]) if row.item == 1 else row for row in run(document, 9).sentences]
    compared = against(
        read(document, result, 4), document, {"own": result.sentences, "lame": lame}, FEW_FOLDS
    )
    assert {row.n for row in compared.fit_rows} == {4 * 2 * 9 * 4}  # no item 1, no first word
    assert compared.left_out == {
        "of the first word of the sentence": 80,
        "without a surprisal, or without one before it": 32,
    }


def test_the_effect_in_bits_and_ms_is_compared_by_item(compared):
    own = next(row for row in compared.effect_rows if row.model == "own")
    assert own.contrast == "(3;%b%) − (3;%a%)"
    assert own.pearson > 0.8
    assert own.pearson_low < own.pearson < own.pearson_high
    assert own.people_low < own.people < own.people_high
    assert own.predicted == pytest.approx(own.people, abs=12)
    assert 0.5 < own.ceiling <= 1
    assert own.same_direction == sum(
        np.sign(row.bits) == np.sign(row.people) for row in compared.item_effect_rows if row.model == "own"
    )


def test_the_effect_in_people_is_over_the_items_that_the_model_has_a_value_of(document, result):
    lame = [replace(row, regions=[None] * 4) if row.item <= 5 else row for row in result.sentences]
    people = read(document, result, 4)
    models = {"lame": lame, "own": result.sentences}
    compared = against(people, document, models, FEW_FOLDS)
    rest = against(people.take(people.item > 5), document, models, FEW_FOLDS)
    first, all_items = compared.effect_rows
    assert (first.n, all_items.n) == (5, 10)
    assert first.people == rest.effect_rows[0].people != all_items.people
    assert first.reliability == rest.effect_rows[0].reliability
    assert first.people_low < first.people < first.people_high
    assert (first.people_low, first.people_high) != (all_items.people_low, all_items.people_high)


def test_the_formula_is_that_of_lme4(compared):
    assert compared.fit_rows[0].fixed_formula == (
        "time ~ length + position + trial + surprisal + surprisal_1 + (1 | participant) + (1 | item)"
    )
    assert compared.notices == (
        "log_frequency is not a predictor: wordfreq has no frequencies of the suite's language, or the suite does not "
        "state it.",
    )


def test_log_times_have_slopes_of_logarithms(document, result):
    people = read(document, result, 4)
    compared = against(
        people, document, {"own": result.sentences}, Options(transform="log", language="", folds=2)
    )
    assert 0.005 < slope(compared).estimate < 0.03
    assert compared.effect_rows[0].predicted is None


def test_means_over_participants_are_weighted_and_have_no_intercepts_of_participants(document, result):
    means = averaged(read(document, result))
    compared = against(means, document, {"own": result.sentences}, FEW_FOLDS)
    assert compared.fit_rows[0].participant_sd is None
    assert compared.fit_rows[0].fixed_formula.endswith("surprisal_1 + (1 | item)")
    assert slope(compared).low < 5 < slope(compared).high
    assert compared.effect_rows[0].ceiling is None


def test_too_many_observations_are_averaged_and_the_result_says_so(document, result, monkeypatch):
    monkeypatch.setattr(fit_data, "MAX_CROSSED", 500)
    compared = against(read(document, result), document, {"own": result.sentences}, FEW_FOLDS)
    assert compared.fit_rows[0].n == 10 * 2 * 4
    assert compared.notices[0].startswith(
        "Means by item and word are fitted, weighted by participants, because"
    )
    assert "960 observations, more than 500" in compared.notices[0]
    assert slope(compared).low < 5 < slope(compared).high


def test_one_participant_or_item_has_no_intercept_and_is_warned_of(document, result):
    people = read(document, result, 1)
    compared = against(people, document, {"own": result.sentences}, FEW_FOLDS)
    assert "(1 | participant)" not in compared.fit_rows[0].fixed_formula
    assert compared.notices[-1] == "Intervals are unreliable with 1 participant."
    one_item = against(
        read(document, result).take(people_of_item(document, result, 1)),
        document,
        {"own": result.sentences},
        FEW_FOLDS,
    )
    assert one_item.gain_rows == ()
    assert "No gains: Cross-validation needs at least two items." in one_item.notices


def people_of_item(document, result, item):
    return read(document, result).item == item


def test_a_model_with_constant_surprisals_is_left_out_and_the_others_are_compared(document, result):
    n_words = sum(len(sentence.text.split()) for sentence in document.sentences)
    uniform = run(document, bits=np.full(n_words, 15.0)).sentences
    uploaded = [replace(row, tokens=[]) for row in result.sentences]
    models = {"uniform": uniform, "uploaded": uploaded, "own": result.sentences}
    compared = against(read(document, result, 4), document, models, FEW_FOLDS)
    assert compared.models_left_out == {
        "uploaded": "No word of its run has a surprisal.",
        "uniform": "Its surprisals do not vary, or other predictors determine them.",
    }
    assert [row.model for row in compared.gain_rows] == ["own"]
    assert {row.model for row in compared.effect_rows} == {"uniform", "uploaded", "own"}


def test_times_without_noise_are_not_fitted(document, result):
    people = read(document, result, 4, noise=0.0)
    exact = replace(people, value=300 + people.word.astype(float))
    compared = against(exact, document, {"own": result.sentences}, FEW_FOLDS)
    assert compared.models_left_out["own"].startswith("The model fits without a residual")


def test_judgments_have_agreement_and_correlations_but_no_fits(document, result):
    units = units_of(document, "sentence", "")
    totals = unit_surprisals(document, units, result.sentences)
    people = read(document, result, 6).take(read(document, result, 6).word == 1)
    sentence = (people.item - 1) * 2 + people.condition
    noise = np.random.default_rng(1).normal(0, 0.2, len(people))
    ratings = replace(
        people,
        measure=Measure("acceptability", "rating", (1, 7)),
        region=np.zeros(len(people), np.int16),
        word=np.zeros(len(people), np.int16),
        value=7 - totals[sentence] / 12 + noise,
    )
    compared = against(
        ratings, with_formula(document, "(*;%b%) > (*;%a%)"), {"own": result.sentences}, FEW_FOLDS
    )
    assert compared.fit_rows == ()
    assert compared.gain_rows == ()
    assert compared.effect_rows[0].spearman > 0.8
    assert compared.effect_rows[0].agreement >= 0.8
    (cells,) = compared.cell_rows
    assert cells.region_number is None
    assert cells.spearman > 0.8
    with pytest.raises(InvalidArgument, match="no fits"):
        compared.table()


def with_formula(document, formula):
    return replace(document, predictions=(replace(document.predictions[0], formula=formula),))


@pytest.mark.parametrize(
    "options", [{"spill_over": 3}, {"transform": "sqrt"}, {"controls": ("size",)}, {"folds": 1}]
)
def test_unknown_options_are_refused(options):
    with pytest.raises(InvalidArgument):
        Options(**options)


def test_data_of_another_suite_are_refused(document, result):
    people = read(document, result, 2)
    with pytest.raises(InvalidArgument, match="None of the observations"):
        against(replace(people, item=people.item + 100), document, {"own": result.sentences})


def test_progress_ends_at_the_last_step(document, result):
    calls = []
    models = {"own": result.sentences, "other": run(document, 9).sentences}
    against(read(document, result, 3), document, models, FEW_FOLDS, progress=lambda *step: calls.append(step))
    assert calls == sorted(calls)
    assert calls[-1] == (6, 6)


def test_a_prediction_that_judgments_of_sentences_cannot_evaluate_is_named_and_counts_no_items(
    document, result
):
    rows = [(p, item, c, 0, 0, 6 - 3 * c) for p in (0, 1) for item in document.items for c in (0, 1)]
    ratings = observations(rows, Measure("acceptability", "rating", (1, 7)))
    compared = against(ratings, document, {"own": result.sentences}, FEW_FOLDS)
    assert any("cannot be evaluated with these data" in notice for notice in compared.notices)
    assert [(row.n, row.agreement) for row in compared.effect_rows] == [(0, None)]
