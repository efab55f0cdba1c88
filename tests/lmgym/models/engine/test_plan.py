"""Plans: nothing is lost or computed twice, budgets are respected, equal inputs have equal plans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine import chunks, unique_texts


def test_unique_texts_keeps_the_order_of_first_appearance() -> None:
    assert unique_texts(["b", "a", "b", "", ""]) == (["b", "a", ""], [0, 1, 0, 2, 2])


@given(st.lists(st.text(max_size=3)))
def test_unique_texts_leads_back(texts: list[str]) -> None:
    values, places = unique_texts(texts)
    assert [values[place] for place in places] == texts
    assert len(set(values)) == len(values)


@given(st.lists(st.integers(0, 40)), st.integers(1, 100))
def test_chunks_hold_everything_once_within_the_budget(lengths: list[int], budget: int) -> None:
    groups = chunks(lengths, budget)
    flat = [number for group in groups for number in group]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[number] for number in flat] == sorted(lengths)
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[number] for number in group) <= budget
    assert groups == chunks(lengths, budget)


def test_chunks_of_texts_count_characters() -> None:
    assert chunks(["aaaa", "b", "cc", "dd"], 6) == [[1, 2, 3], [0]]


def test_an_item_over_the_budget_is_alone() -> None:
    assert chunks([50, 2, 50], 10) == [[1], [0], [2]]


def test_a_budget_must_hold_something() -> None:
    with pytest.raises(ValueError, match="budget must be at least 1"):
        chunks([1], 0)
