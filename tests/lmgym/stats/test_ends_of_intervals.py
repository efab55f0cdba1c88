"""Wilson's interval at 0 and 1, and n recovered from its limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.stats import n_of_interval, score_interval


@given(st.floats(1, 10_000))
def test_ends_are_exact_at_rates_0_and_1(n):
    assert score_interval(1, n).high == 1.0
    assert score_interval(0, n).low == 0.0


def test_27_of_27_reaches_chance_1():
    assert score_interval(1, 27).high == 1.0
    assert score_interval(0, 28).low == 0.0


@given(st.floats(0, 1), st.floats(1, 10_000))
def test_limits_give_n_back(rate, n):
    interval = score_interval(rate, n)
    assert n_of_interval(rate, interval.low, interval.high) == pytest.approx(n, rel=1e-9)
