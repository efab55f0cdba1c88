"""share_prefix_scores: the same token after the same prefix has one value."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine import ScoringFailure, TokenScores, share_prefix_scores


def scored(ids: list[int], bits: list[float | None]) -> TokenScores:
    width = len(ids)
    return TokenScores([str(i) for i in ids], ids, [(k, k + 1) for k in range(width)], bits, [False] * width)


def test_the_first_value_wins_as_long_as_the_prefix_is_the_same() -> None:
    a, b = share_prefix_scores(
        [scored([1, 5, 6], [None, 2.0, 3.0]), scored([1, 5, 7, 6], [None, 2.1, 4.0, 3.2])]
    )
    assert a.bits == [None, 2.0, 3.0]
    assert b.bits == [None, 2.0, 4.0, 3.2]


def test_identical_texts_become_exact_ties() -> None:
    a, b = share_prefix_scores([scored([1, 2], [0.5, 1.0]), scored([1, 2], [0.5000001, 0.9999999])])
    assert a.bits == b.bits


def test_the_same_token_at_the_start_is_shared_too() -> None:
    results = share_prefix_scores([scored([4], [1.0]), scored([4, 4], [1.5, 1.5])])
    assert [result.bits for result in results] == [[1.0], [1.0, 1.5]]


def test_unscored_stays_unscored_and_hides_nothing() -> None:
    results = share_prefix_scores(
        [scored([4, 5], [None, 2.0]), scored([4, 5], [1.0, 2.5]), scored([4], [None])]
    )
    assert [result.bits for result in results] == [[None, 2.0], [1.0, 2.0], [None]]


def test_zero_is_a_value() -> None:
    results = share_prefix_scores([scored([4], [0.0]), scored([4], [1.0])])
    assert results[1].bits == [0.0]


def test_failures_pass_through() -> None:
    failure = ScoringFailure("too long")
    results = share_prefix_scores([failure, scored([4], [1.0])])
    assert results[0] is failure


rows = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.floats(0, 9))), max_size=5).map(
        lambda pairs: scored([i for i, _ in pairs], [b for _, b in pairs])
    ),
    max_size=12,
)


@given(rows)
def test_pure_idempotent_and_a_function_of_the_prefix(scores: list[TokenScores]) -> None:
    before = deepcopy(scores)
    shared = share_prefix_scores(scores)
    assert scores == before
    assert share_prefix_scores(shared) == shared
    values: dict[tuple[int, ...], float] = {}
    for old, new in zip(scores, shared, strict=True):
        assert (old.ids, old.tokens, old.offsets, old.special) == (
            new.ids,
            new.tokens,
            new.offsets,
            new.special,
        )
        for at, (was, now) in enumerate(zip(old.bits, new.bits, strict=True)):
            assert (was is None) == (now is None)
            if now is not None:
                assert values.setdefault(tuple(old.ids[: at + 1]), now) == now
