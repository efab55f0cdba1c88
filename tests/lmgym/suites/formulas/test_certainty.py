"""Effects of small errors in the values: slopes of margins, and outcomes that depend on them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.suites.formulas import parse
from lmgym.suites.formulas.certainty import margin_slopes
from lmgym.suites.formulas.nodes import Comparison

VALUES = {("a", 1): np.array([3.0, 7.0]), ("b", 1): np.array([5.0, 2.0]), ("c", 1): np.array([-1.0, 4.0])}
SMOOTH = [
    "(1;%a%) < (1;%b%)",
    "10 * (1;%a%) >= 10 * (1;%b%)",
    "(1;%a%) + (1;%a%) - (1;%b%) > -(1;%c%) * 2",
    "(1;%a%) / (1;%b%) < (1;%b%) * (1;%c%) / 3",
    "mean((1;%a%), (1;%b%), 2) > sum((1;%a%), (1;%c%))",
    "abs((1;%a%) - (1;%b%)) > min((1;%a%), (1;%b%), (1;%c%)) - max((1;%a%), 4)",
    "(1;%a%) = (1;%b%) * (1;%c%)",
    "(1;%a%) != (1;%b%)",
]
STEP = 1e-6


def slopes_of(text, values):
    root = parse(text).ast
    assert isinstance(root, Comparison)
    n = len(next(iter(values.values())))
    return {key: np.broadcast_to(slope, (n,)) for key, slope in margin_slopes(root, values).items()}


@pytest.mark.parametrize("text", SMOOTH)
def test_slopes_are_those_that_a_small_step_shows(text):
    formula = parse(text)
    slopes = slopes_of(text, VALUES)
    assert set(slopes) == set(formula.references)
    for key, slope in slopes.items():
        up, down = ({**VALUES, key: VALUES[key] + step} for step in (STEP, -STEP))
        shown = (formula.evaluate_items(up).margin - formula.evaluate_items(down).margin) / (2 * STEP)
        np.testing.assert_allclose(slope, shown, atol=1e-6)


terms = st.lists(
    st.tuples(st.sampled_from("+-"), st.sampled_from([0, 1, 2, 10, 0.5]), st.sampled_from("abc")),
    min_size=1,
    max_size=8,
)


@given(terms, st.sampled_from("<>"))
def test_in_a_linear_formula_the_slope_is_the_sum_of_the_factors(parts, sign):
    text = "0 " + " ".join(f"{operator} {factor} * (1;%{name}%)" for operator, factor, name in parts)
    slopes = slopes_of(f"{text} {sign} 0", VALUES)
    for (name, _), slope in slopes.items():
        total = sum(factor if operator == "+" else -factor for operator, factor, own in parts if own == name)
        assert slope.tolist() == [total if sign == ">" else -total] * 2


SURE, FALSE, NEAR, NOT_NEAR = "(1;%a%) > 0", "(1;%a%) < 0", "(1;%a%) > 2.9", "(1;%a%) > 3.1"


@pytest.mark.parametrize(
    ("text", "doubtful"),
    [
        (SURE, False),
        (NEAR, True),
        ("(1;%a%) > 3", False),
        (f"~[{NEAR}]", True),
        (f"{SURE} & {NEAR}", True),
        (f"{FALSE} & {NEAR}", False),
        (f"{FALSE} & {NOT_NEAR}", False),
        (f"{SURE} | {NOT_NEAR}", False),
        (f"{FALSE} | {NEAR}", True),
        (f"[{NEAR} | {NOT_NEAR}] & {SURE}", True),
        (f"[{NEAR} | {SURE}] & {FALSE}", False),
        (f"[{NEAR} & {SURE}] | [1 > 2]", True),
    ],
)
def test_an_answer_is_in_doubt_when_comparisons_in_doubt_could_change_it(text, doubtful):
    found = parse(text).doubtful_items({("a", 1): [3.0, 3.0]}, lambda slopes: np.asarray(0.5))
    assert found.tolist() == [doubtful] * 2


def test_a_part_in_doubt_counts_even_where_another_part_has_the_smaller_margin():
    formula = parse("[2 * (1;%a%) > 5.9] & [(1;%b%) > 4.95]")
    found = formula.doubtful_items(
        {("a", 1): [3.0], ("b", 1): [5.0]}, lambda slopes: np.asarray(0.2 if ("a", 1) in slopes else 0.01)
    )
    assert found.tolist() == [True]
