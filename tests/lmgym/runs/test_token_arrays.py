"""Array arithmetic over all sentences equals that of single sentences."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores, share_prefix_scores
from lmgym.runs.compute import evaluate_document, joined_sentences
from lmgym.runs.token_arrays import align_all, columns_of, grouped_sums, share_prefixes, values_of
from lmgym.suites.formats import PredictionDoc, SentenceDoc, SuiteDocument
from lmgym.suites.regions import JOIN_POLICIES, METRICS, AlignmentError, align, join, region_values

CELLS = st.text(alphabet="ab .\u00a0é🙂\u3000", max_size=6)
SINGLES = st.floats(2**-40, 64, allow_nan=False, width=32)  # models compute in float32
BITS = st.one_of(st.none(), SINGLES, st.integers(0, 3).map(float), st.just(math.inf))


@st.composite
def scored(draw, text: str) -> TokenScores:
    """Draw scores with any tokens that a tokenizer might return: with gaps, separate spaces, empty ranges,
    start and end tokens."""
    n = len(text)
    cuts = sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=6))})
    offsets = [span for span in pairwise(cuts) if draw(st.booleans()) or draw(st.booleans())]
    for place in draw(st.lists(st.integers(0, n), max_size=2)):
        offsets.append((place, place))
    offsets.sort()
    special = [False] * len(offsets)
    if draw(st.booleans()):
        offsets, special = [(0, 0), *offsets], [True, *special]
    if draw(st.booleans()):
        offsets, special = [*offsets, (n, n)], [*special, True]
    count = len(offsets)
    ids = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    bits = draw(st.lists(BITS, min_size=count, max_size=count))
    waits = draw(st.lists(st.booleans(), min_size=count, max_size=count)) if draw(st.booleans()) else []
    skipped = [wait and bit is None for wait, bit in zip(waits, bits, strict=True)] if waits else []
    return TokenScores([str(k) for k in ids], ids, offsets, bits, special, skipped)


@st.composite
def cases(draw):
    width = draw(st.integers(1, 4))
    policy = draw(st.sampled_from(JOIN_POLICIES))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=5))
    joined = [join(row, policy) for row in rows]
    scores = [
        ScoringFailure("no") if draw(st.integers(0, 6)) == 0 else draw(scored(row.text)) for row in joined
    ]
    return width, joined, scores


@given(cases(), st.sampled_from(METRICS))
def test_all_sentences_at_once_equal_one_by_one(case, metric):
    width, joined, scores = case
    columns = columns_of(scores)
    share_prefixes(columns)
    aligned = align_all(joined, columns, width)
    values = values_of(columns, aligned, width, metric)
    shared = share_prefix_scores(scores)
    for at, (row, score) in enumerate(zip(joined, shared, strict=True)):
        if isinstance(score, ScoringFailure):
            assert columns.starts[at] == columns.starts[at + 1]
            continue
        own = slice(columns.starts[at], columns.starts[at + 1])
        expected = align(row, score.offsets, score.special)
        assert aligned.region[own].tolist() == expected.region
        assert aligned.straddles[own].tolist() == expected.straddles
        assert tuple(np.flatnonzero(aligned.swallowed[at])) == expected.swallowed
        np.testing.assert_array_equal(
            columns.bits[own], np.array([math.nan if bit is None else bit for bit in score.bits])
        )
        found = region_values(expected, score.bits, width, metric)
        np.testing.assert_array_equal(values.regions[at], found.values)
        assert values.special[at] == found.special
        known = [bit for bit in score.bits if bit is not None]
        if known and score.complete:
            assert values.total[at] == math.fsum(known)
        else:
            assert math.isnan(values.total[at])
        assert values.tokens[at].tolist() == [expected.region.count(k) for k in range(width)]


@given(st.lists(st.lists(st.floats(0, 1e6, allow_nan=False), max_size=40), min_size=1, max_size=6))
def test_sums_are_rounded_once(groups):
    bits = np.array([bit for group in groups for bit in group], dtype=np.float64)
    keys = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    sums = np.array([math.fsum(group) for group in groups])
    np.testing.assert_array_max_ulp(grouped_sums(bits, keys, len(groups)), sums, maxulp=1)
    single = bits.astype(np.float32).astype(np.float64)
    single[single < 2**-40] = 0
    found = grouped_sums(single, keys, len(groups)).tolist()
    assert found == [math.fsum(single[keys == key]) for key in range(len(groups))]


def test_a_range_outside_the_text_is_refused():
    joined = [join(["ab"])]
    columns = columns_of([TokenScores(["ab"], [1], [(0, 3)], [1.0], [False])])
    with pytest.raises(AlignmentError, match="0 to 3"):
        align_all(joined, columns, 1)


def document(n_items: int) -> SuiteDocument:
    return SuiteDocument(
        name="x",
        metric="sum",
        meta={},
        region_names=("Subject", "Verb"),
        conditions=("a", "b"),
        sentences=tuple(
            SentenceDoc(item, condition, (f"w{item}", verb))
            for item in range(1, n_items + 1)
            for condition, verb in (("a", "runs"), ("b", "run"))
        ),
        predictions=(PredictionDoc("(2;%b%) > (2;%a%)"), PredictionDoc("(*;%b%) > (*;%a%)")),
    )


def word_score(text: str, number: int, bits: tuple[float, float]) -> TokenScores:
    first = text.index(" ")
    return TokenScores(
        text.split(), [number, 9_999], [(0, first), (first, len(text))], list(bits), [False, False]
    )


def test_a_failure_has_no_values_whatever_its_neighbours_have():
    doc, policy = document(1), ScoringPolicy()
    joined = joined_sentences(doc, policy)
    scores = [word_score(joined[0].text, 1, (1.0, 2.0)), ScoringFailure("no")]
    result = evaluate_document(doc, scores, policy, left_to_right=True)
    assert result.sentences[1].regions == [None, None]
    assert [row.outcomes for row in result.predictions] == [[3], [3]]


def test_what_was_not_computed_makes_no_mean_and_no_total():
    doc, policy = document(1), ScoringPolicy()
    joined = joined_sentences(doc, policy)
    scores = [word_score(row.text, k, (1.0, 2.0 + k)) for k, row in enumerate(joined)]
    open_scores = [
        TokenScores(s.tokens, s.ids, s.offsets, [None, s.bits[1]], s.special, [True, False]) for s in scores
    ]
    result = evaluate_document(doc, open_scores, policy, left_to_right=True)
    assert not result.complete
    assert [[cell["n"] for cell in row["regions"]] for row in result.region_summary] == [[0, 1], [0, 1]]
    assert [[cell["not_computed"] for cell in row["regions"]] for row in result.region_summary] == [
        [True, False]
    ] * 2
    assert result.predictions[0].outcomes == [1]
    assert [row.surprisal for row in result.sentences] == [None, None]
    assert [row.not_computed for row in result.sentences] == [[0], [0]]
