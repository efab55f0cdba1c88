"""Metrics that the reference lacks, checked by hand on short logs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.compare import TextFingerprint, _bootstrap, compare
from lmgym.lmchallenge.logs.extra_metrics import (
    bits_per_character,
    cross_validated,
    keystroke_savings,
    learning_curve,
)
from lmgym.lmchallenge.logs.interpolation import Mix, grid
from lmgym.lmchallenge.logs.pretty import spans
from lmgym.lmchallenge.logs.stats import statistics
from tests.lmgym.lmchallenge.decoded import lines_of
from tests.lmgym.lmchallenge.decoded import table_of as table


def fingerprint(rows):
    text = TextFingerprint()
    assert len(list(text.hash_stream(lines_of(rows)))) == len(rows)
    return text.hexdigest


def outcomes(row, *given, **options):
    ((_, line),) = lines_of([row])
    return [span.outcome for span in spans(line, *given, **options)]


def wp(*ranks, **keys):
    entries = [
        {"target": f"w{at}"} | ({} if rank is None else {"rank": rank, "score": -1.0})
        for at, rank in enumerate(ranks)
    ]
    return {"wordPredictions": entries, **keys}


def test_a_line_of_typed_text_that_is_hidden_in_part_has_a_name_of_its_own():
    def named(*entries):
        return fingerprint([{"textCompletions": list(entries)}])

    assert named({"target": "ab"}, {"targetChars": 3}) == named({"targetChars": 5})
    assert named({"target": "ab"}, {"target": "c"}) == named({"target": "abc"}) != named({"targetChars": 3})


def test_words_that_are_null_are_told_apart_by_their_lengths():
    about = {"target": None, "verbatimMatch": True, "score": [0, 0], "candidates": []}
    one, other = ({"inputCorrections": [{**about, "targetChars": size}]} for size in (3, 4))
    assert fingerprint([one]) != fingerprint([other])


def test_bits_per_character_state_what_unknown_words_cost():
    found = bits_per_character(table(wp(1, None), wp(1)))
    assert found.characters == 6
    assert found.value == pytest.approx((2 / math.log(2) + 2 * 8) / 6)
    assert found.scored_only == pytest.approx(2 / math.log(2) / 4)
    positive = {"wordPredictions": [{"target": "a", "rank": 1, "score": 2.0}]}
    assert "above 0" in bits_per_character(table(positive)).reason


def test_keystrokes_are_saved_by_accepting_and_by_automatic_blanks():
    row = {"textCompletions": [{"target": "t"}, {"target": "he", "rank": 0, "score": 1}, {"target": " c"}]}
    plain = keystroke_savings(table(row))
    assert plain.value == pytest.approx((5 - 4) / 5)
    assert keystroke_savings(table(row), auto_space=True).value == pytest.approx((5 - 3) / 5)
    assert keystroke_savings(table(row), literal=True).value == pytest.approx((5 - 6) / 5)
    assert keystroke_savings(table(row), selection_cost=2).value == pytest.approx(0)


def test_a_learning_curve_goes_by_what_was_learnt_before():
    rows = [wp(None, None, trainingChars=0), wp(None, 1, trainingChars=50), wp(1, 1, trainingChars=100)]
    found = learning_curve(table(*rows))
    assert [point["value"] for point in found["points"]] == [0.0, 0.5, 1.0]
    assert all(point["low"] is not None for point in found["points"])
    assert learning_curve(table(wp(1, 2))) is None


def ic(right_model: float, wrong_model: float):
    candidates = [["cat", -2.0, right_model], ["cut", -1.0, wrong_model]]
    entry = {"target": "cat", "verbatim": "cut", "score": [-2.0, right_model], "candidates": candidates}
    return {"inputCorrections": [entry]}


def test_cross_validation_judges_on_other_lines_than_it_chooses_on():
    found = cross_validated(table(*[ic(-1.0, -9.0)] * 12, mixes=grid()))
    assert found["accuracy"] == 1.0
    assert found["n"] == 12
    assert found["cluster"] == "line"
    assert len(found["folds"]) == 10


def test_two_runs_on_one_text_are_compared():
    better = [wp(1, 1, 4, None)] * 12
    worse = [wp(1, None, None, None)] * 12
    found = compare(table(*worse), table(*better))
    assert (found.first_value, found.second_value) == (0.25, 0.5)
    assert found.difference == 0.25
    assert (found.low, found.high) == (0.25, 0.25)
    assert (found.only_first, found.only_second) == (0, 12)
    assert found.p_mcnemar == pytest.approx(2 * 0.5**12)
    same = compare(table(*better), table(*better))
    assert same.difference == 0
    assert same.p_mcnemar == 1
    assert same.p == 1


def test_runs_on_different_texts_are_not_compared():
    with pytest.raises(LogError, match="different texts"):
        compare(table(wp(1, 2)), table(wp(1)))
    assert fingerprint([wp(1, 2)]) == fingerprint([wp(3, None)])
    assert fingerprint([wp(1, 2)]) != fingerprint([wp(1)])
    assert fingerprint([{"textCompletions": [{"target": "ab"}, {"target": "c"}]}]) == fingerprint(
        [{"textCompletions": [{"target": "a"}, {"target": "bc"}]}]
    )


def test_outcomes_of_tokens_and_characters():
    assert outcomes(wp(1, 3, 4, None), "all") == ["near", "far", "far", "missed"]
    assert outcomes(wp(1, 3, 4, None), "all", readings="corrected") == ["first", "near", "far", "missed"]
    row = {"textCompletions": [{"target": "a "}, {"target": "cd", "rank": 0, "score": 1}]}
    assert outcomes(row) == ["typed", "skipped", "accepted", "saved"]
    assert outcomes(ic(-1.0, -9.0), mix=Mix(0.5, -1)) == ["corrected"]
    assert outcomes(ic(-9.0, -1.0), mix=Mix(0.5, -1)) == ["still-wrong"]


def test_drawing_equal_lines_together_gives_the_interval_of_single_draws():
    rand = np.random.default_rng(3)
    below = rand.integers(1, 10, 300).astype(float)
    a = np.floor(below * rand.random(300))
    b = np.floor(below * np.minimum(1, rand.random(300) * 1.3))
    low, high, p = _bootstrap([a, b, below, below], 0)
    singly = []
    for _ in range(5_000):
        drawn = rand.integers(0, 300, 300)
        singly.append((b[drawn].sum() - a[drawn].sum()) / below[drawn].sum())
    assert (low, high) == pytest.approx(tuple(np.quantile(singly, [0.025, 0.975])), abs=0.01)
    assert p < 0.05


def test_an_accepted_text_of_which_no_character_counts_costs_no_keystroke():
    row = {"textCompletions": [{"target": "ab"}, {"target": "!", "rank": 0}, {"target": "cat", "rank": 1}]}
    (found,) = statistics(table(row, keep="alphaemoji"))
    assert (found["chars"], found["kpc"]) == (5, 3 / 5)


def test_two_lines_do_not_show_that_a_log_is_better():
    found = compare(table(*[wp(None)] * 2), table(*[wp(1)] * 2))
    assert (found.difference, found.p, found.verdict) == (1.0, 0.5, "no significant difference")
