"""From token bits to outcomes, without database or model."""

from __future__ import annotations

import json

import pytest

from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.runs.chunks import plan_chunks
from lmgym.runs.compute import evaluate_document, joined_sentences, metric_of
from lmgym.stats.intervals import mean_interval, wilson
from lmgym.suites.formats import read_suite
from tests.lmgym.suites.documents import suite_json


def document(**options):
    return read_suite(json.dumps(suite_json(**options)).encode())


def word_scores(text: str, bits: dict[str, float], default: float = 1.0) -> TokenScores:
    """Return scores with one token per space-separated word."""
    tokens, offsets, at = [], [], 0
    for word in text.split(" "):
        tokens.append(word)
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    return TokenScores(
        tokens,
        list(range(len(tokens))),
        offsets,
        [bits.get(word, default) for word in tokens],
        [False] * len(tokens),
    )


def run(doc, bits, policy=None, default: float = 1.0):
    policy = policy or ScoringPolicy()
    # ids must differ for different words, since equal prefixes share their bits
    vocabulary: dict[str, int] = {}
    scores = []
    for joined in joined_sentences(doc, policy):
        score = word_scores(joined.text, bits, default)
        ids = [vocabulary.setdefault(token, len(vocabulary)) for token in score.tokens]
        scores.append(TokenScores(score.tokens, ids, score.offsets, score.bits, score.special))
    return evaluate_document(doc, scores, policy, left_to_right=True)


def test_an_item_holds_when_the_verb_that_does_not_agree_costs_more_bits():
    result = run(document(), {"play": 9.0, "runs": 0.25, "sing": 3.0, "sings": 2.0})
    [prediction] = result.predictions
    assert prediction.outcomes == [1, 0, 1]
    assert prediction.margins == [8.0, -0.75, 1.0]
    assert (prediction.passed, prediction.n) == (2, 3)
    assert prediction.chance == 0.5
    assert prediction.mean_margin == pytest.approx(2.75)


def test_equal_bits_are_a_tie_and_a_tie_is_no_pass():
    [prediction] = run(document(), {}).predictions
    assert prediction.outcomes == [2, 2, 2]
    assert (prediction.passed, prediction.ties) == (0, 3)


def test_a_margin_inside_the_error_bound_is_too_close_to_call_and_counts_by_its_sign():
    near, far = (run(document(items=1), {"play": 1.0 + size}).predictions[0] for size in (0.0004, 0.002))
    assert (near.passed, near.too_close, near.close) == (1, 1, [True])
    assert (far.passed, far.too_close, far.close) == (1, 0, [False])


def test_a_sentence_without_scores_makes_its_item_not_evaluable_and_the_rest_goes_on():
    doc = document()
    policy = ScoringPolicy()
    scores = [word_scores(joined.text, {"play": 9.0}) for joined in joined_sentences(doc, policy)]
    scores = [
        TokenScores(s.tokens, [hash(t) % 10**6 for t in s.tokens], s.offsets, s.bits, s.special)
        for s in scores
    ]
    scores[2] = ScoringFailure("too long")
    result = evaluate_document(doc, scores, policy, left_to_right=True)
    assert result.predictions[0].outcomes == [1, 3, 2]
    assert result.predictions[0].not_evaluable == 1
    assert result.sentences[2].failure == "too long"
    assert result.sentences[2].regions == [None, None, None]
    assert result.n_unscored == 1


def test_the_summary_has_mean_and_interval_by_condition_and_region():
    summary = run(document(), {"play": 9.0}).region_summary
    match, mismatch = summary
    assert match["condition"] == "match"
    assert mismatch["regions"][1] == {
        "n": 3,
        "mean": pytest.approx(11 / 3),
        "low": 0.0,  # 11/3 - 4.30 * 8/3 is negative, which a surprisal cannot be
        "high": pytest.approx(11 / 3 + 4.3026527 * 8 / 3, abs=1e-4),
        "not_computed": False,
    }


def test_the_star_is_the_whole_sentence():
    doc = document(formulas=("(*;%mismatch%) - (*;%match%) = 8",), items=1)
    assert run(doc, {"play": 9.0}).predictions[0].outcomes == [1]


def test_chunks_are_a_function_of_the_texts_and_hold_each_once():
    texts = ["a b", "a", "a b", "long one", "a"]
    assert plan_chunks(texts, 1000, sentences=2) == [[1, 0], [3]]
    assert plan_chunks(texts, 1000, sentences=2) == plan_chunks(list(texts), 1000, sentences=2)


def test_the_first_metric_of_a_list_is_the_one_that_counts():
    assert metric_of(document(meta={"name": "x", "metric": ["max", "sum"]})) == "max"
    assert metric_of(document(meta={"name": "x", "metric": "all"})) == "sum"


@pytest.mark.parametrize(("passed", "total", "low", "high"), [(8, 10, 0.4902, 0.9433), (0, 5, 0.0, 0.4345)])
def test_wilson_gives_the_textbook_interval(passed, total, low, high):
    interval = wilson(passed, total)
    assert interval.low == pytest.approx(low, abs=1e-4)
    assert interval.high == pytest.approx(high, abs=1e-4)


def test_nothing_has_no_interval():
    import numpy as np

    assert wilson(0, 0) is None
    assert mean_interval(np.array([np.nan])).mean is None
    assert mean_interval(np.array([2.0, np.nan])).low is None


def test_sides_that_differ_by_rounding_alone_are_a_tie():
    formula = "(1;%mismatch%) + (2;%mismatch%) > (1;%match%) + (2;%match%)"
    doc = document(items=1, formulas=(formula,))
    bits = {"The": 0.1, "woman": 0.2, "plays": 0.3, "play": 0.1 + 0.2}
    [prediction] = run(doc, bits).predictions
    assert (prediction.outcomes, prediction.ties) == ([2], 1)


def test_a_formula_without_regions_is_judged_for_every_item():
    doc = document(formulas=("1 < 2", "2 < 1"))
    first, second = run(doc, {}).predictions
    assert (first.outcomes, second.outcomes) == ([1, 1, 1], [0, 0, 0])
    assert first.margins == [None] * 3
