"""Too close to call: the bound depends on how often, and with what factor, a region occurs in a formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine import TokenError
from lmgym.runs.outcomes import Grid, margin_bounds, outcomes_of
from lmgym.suites.formulas import TIE, parse

ERROR = 5e-4
TOKEN = TokenError(ERROR)
PLAIN = "(1;%p%) < (1;%q%)"
FACTOR = "10 * (1;%p%) < 10 * (1;%q%)"
OFTEN = "(1;%p%) + (1;%p%) + (1;%p%) + (1;%p%) < (1;%q%) + (1;%q%) + (1;%q%) + (1;%q%)"
DIFFERENCES = [-0.01, -0.0015, -0.0014, -0.0006, 0.0, 0.0001, 0.0006, 0.0014, 0.0015, 0.01]
"""The bound of two tokens is 0.00141 bits."""


def grid(p, q, tokens=1):
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    many = np.full(len(p), tokens)
    bits = {("p", 1): p, ("q", 1): q, ("p", "*"): 2 * p, ("q", "*"): 2 * q}
    counts = {key: many * (2 if key[1] == "*" else 1) for key in bits}
    return Grid(list(range(len(p))), bits, counts)


def near(n: int = len(DIFFERENCES)) -> Grid:
    return grid([5.0] * n, 5.0 + np.array(DIFFERENCES))


def close(text: str, values: Grid, error: TokenError = TOKEN) -> list[bool]:
    return outcomes_of(parse(text), values, error)[2].tolist()


@pytest.mark.parametrize(
    "text", [PLAIN, FACTOR, OFTEN, "(1;%p%) / 4 < (1;%q%) / 4", "~[-(1;%p%) < -(1;%q%)]"]
)
def test_the_same_comparison_has_the_same_verdict_however_it_is_written(text):
    assert close(text, near()) == [False, False, True, True, False, True, True, True, False, False]


@given(st.sampled_from([0.25, 0.5, 2, 8, 1024]), st.integers(1, 5), st.integers(1, 40))
def test_factors_and_repetition_change_no_verdict(factor, times, tokens):
    values = grid([5.0] * 81, 5.0 + np.linspace(-0.02013, 0.01987, 81), tokens)  # never exactly on a bound
    sides = (" + ".join([f"{factor} * (1;%{name}%)"] * times) for name in "pq")
    assert close(" < ".join(sides), values) == close(PLAIN, values)


def test_what_cancels_has_no_error():
    assert close("(1;%p%) - (1;%p%) + 5.0006 > (1;%q%) - (1;%q%) + 5", near()) == [False] * len(DIFFERENCES)
    alone = close("(1;%p%) - (1;%p%) + (1;%q%) > 5", near())
    assert alone == close("(1;%q%) > 5", near())
    assert alone == [0 < abs(difference) < ERROR for difference in DIFFERENCES]


def test_products_and_quotients_have_the_slope_at_the_point():
    values = grid([100.0] * 2, [100.004, 100.5])
    assert close("(1;%p%) * (1;%q%) > 10000", values) == [False, False]
    assert close("(1;%p%) * (1;%p%) < 100 * (1;%q%)", values) == [False, False]
    values = grid([100.0] * 2, [100.0012, 100.5])
    assert close("(1;%p%) * (1;%q%) > 10000", values) == [True, False]
    assert close("(1;%p%) / (1;%q%) < 1", values) == [True, False]


def test_a_region_of_a_sentence_that_is_named_as_well_enters_twice():
    tokens = {("p", 1): np.array([4]), ("p", "*"): np.array([10])}
    one = np.ones(())
    both = margin_bounds(TOKEN, tokens, {("p", "*"): -one, ("p", 1): -one})
    assert both == pytest.approx([2 * ERROR * np.sqrt(4 * 4 + 6)])
    apart = margin_bounds(TOKEN, tokens, {("p", "*"): one, ("p", 1): -one})
    assert apart == pytest.approx([2 * ERROR * np.sqrt(14)])


@pytest.mark.parametrize("tokens", [1, 2, 7])
def test_a_plain_sum_has_the_bound_of_the_engine(tokens):
    found = margin_bounds(TOKEN, {("p", 1): np.array([tokens])}, {("p", 1): np.ones(())})
    assert found == pytest.approx([TOKEN.of_margin(tokens, tokens)])


@pytest.mark.parametrize("tokens", [1, 4, 50])
def test_a_known_standard_deviation_gives_three_of_them_times_the_root_of_the_tokens(tokens):
    edge = 3 * 0.1 * np.sqrt(2 * tokens)
    values = grid([90.0] * 4, 90.0 + np.array([-1.001, -0.999, 0.999, 1.001]) * edge, tokens)
    half = TokenError(bound=1e9, sd=0.1)
    assert close(PLAIN, values, half) == [False, True, True, False]
    assert close(FACTOR, values, half) == [False, True, True, False]


def test_missing_values_and_ties_are_never_too_close():
    values = grid([np.nan, 5.0, 5.0, np.inf], [5.0, 5.0, 5.0 + 1e-12, np.inf])
    outcomes, _, found = outcomes_of(parse(PLAIN), values, TOKEN)
    assert found.tolist() == [False] * 4
    assert outcomes.tolist() == [3, TIE, TIE, TIE]


def test_a_condition_that_is_false_beyond_doubt_decides():
    values = near()
    assert close(f"{PLAIN} & (1;%p%) > 9", values) == [False] * len(DIFFERENCES)
    assert close(f"{PLAIN} & (1;%p%) < 9", values) == close(PLAIN, values)
