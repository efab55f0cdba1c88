"""Truth values, ties, margins and missing values. All numbers are bits."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from lmgym.suites.formulas import FALSE, NOT_EVALUABLE, TIE, TRUE, FormulaError, parse

A, B = "(1;%a%)", "(1;%b%)"
NAN, INF = math.nan, math.inf


def outcomes(text: str, a: list[float], b: list[float]) -> tuple[list[int], list[float]]:
    result = parse(text).evaluate_items({("a", 1): np.array(a), ("b", 1): np.array(b)})
    return result.outcome.tolist(), result.margin.tolist()


def truth(text: str, a: float, b: float) -> bool:
    return parse(text).evaluate({("a", 1): a, ("b", 1): b})


@pytest.mark.parametrize(
    ("operator", "below", "equal", "above"),
    [
        ("<", TRUE, TIE, FALSE),
        ("<=", TRUE, TRUE, FALSE),
        (">", FALSE, TIE, TRUE),
        (">=", FALSE, TRUE, TRUE),
        ("=", FALSE, TRUE, FALSE),
        ("!=", TRUE, FALSE, TRUE),
    ],
)
def test_each_comparison_below_at_and_above(operator: str, below: int, equal: int, above: int) -> None:
    assert outcomes(f"{A} {operator} {B}", [1, 2, 3], [2, 2, 2])[0] == [below, equal, above]


@pytest.mark.parametrize("rounding", [0.0, 4e-16, -4e-16, 9e-10, -9e-10])
def test_sides_that_differ_only_by_rounding_are_equal(rounding: float) -> None:
    for operator, equal in ((">", TIE), ("<", TIE), (">=", TRUE), ("<=", TRUE)):
        assert outcomes(f"{A} {operator} {B}", [2 + rounding], [2])[0] == [equal]
    assert outcomes(f"~[{A} < {B}]", [2 + rounding], [2])[0] == [TRUE]
    assert outcomes(f"{A} > 9 | {A} >= {B}", [2 + rounding], [2])[0] == [TRUE]
    assert truth(f"{A} > {B}", 2 + 2e-9, 2)


def test_equality_tolerates_a_thousandth_of_a_bit_and_a_little_of_the_right_side() -> None:
    assert truth(f"{A} = {B}", 3.0009, 3)
    assert not truth(f"{A} = {B}", 3.0011, 3)
    assert truth(f"{A} != {B}", 3.0011, 3)
    assert truth(f"{A} = {B}", 1000.0109, 1000)


def test_equality_is_as_lopsided_as_numpy_isclose() -> None:
    # |a - b| <= 1e-3 + 1e-5 * |b|: only the right side counts
    a, b = 1e6, 1e6 + 10.00105
    assert truth(f"{A} = {B}", a, b) == bool(np.isclose(a, b, rtol=1e-5, atol=1e-3)) is True
    assert truth(f"{A} = {B}", b, a) == bool(np.isclose(b, a, rtol=1e-5, atol=1e-3)) is False


@pytest.mark.parametrize(("a", "b"), [(INF, INF), (INF, 1.0), (1.0, INF), (-INF, INF), (0.0, -0.0)])
def test_equality_of_infinities_is_that_of_numpy(a: float, b: float) -> None:
    assert truth(f"{A} = {B}", a, b) == bool(np.isclose(a, b, rtol=1e-5, atol=1e-3))


def test_the_margin_says_by_how_many_bits() -> None:
    codes, margins = outcomes(f"{A} > {B}", [5, 2, 2], [3, 2, 6])
    assert codes == [TRUE, TIE, FALSE]
    assert margins == [2, 0, -4]


def test_the_margin_of_and_is_the_smallest_and_of_or_the_largest() -> None:
    assert outcomes(f"{A} > 1 & {B} > 1", [4], [3])[1] == [2]
    assert outcomes(f"{A} > 1 | {B} > 1", [4], [3])[1] == [3]
    assert outcomes(f"~[{A} > 1]", [4], [3])[1] == [-3]


def test_the_margin_of_equality_is_what_is_left_of_the_tolerance() -> None:
    codes, margins = outcomes(f"{A} = {B}", [3.0, 4.0], [3.0, 3.0])
    assert codes == [TRUE, FALSE]
    assert margins == pytest.approx([0.00103, 0.00103 - 1])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{A} > {B}", TIE),
        (f"{A} < {B}", TIE),
        (f"~[{A} >= {B}]", TIE),
        (f"~[{A} > {B}]", TRUE),
        (f"[{A} > {B}] & [{A} > 0]", TIE),
        (f"[{A} > {B}] & [{A} < 0]", FALSE),
        (f"[{A} > {B}] | [{A} < 0]", TIE),
        (f"[{A} > {B}] | [{A} > 0]", TRUE),
        (f"{A} - {B} > 0", TIE),
    ],
)
def test_a_tie_is_false_by_exactly_nothing(text: str, code: int) -> None:
    assert outcomes(text, [2], [2])[0] == [code]
    assert truth(text, 2, 2) == (code == TRUE)


def test_equal_infinities_tie_and_unequal_ones_do_not() -> None:
    assert outcomes(f"{A} > {B}", [INF, INF, 1], [INF, 1, INF]) == ([TIE, TRUE, FALSE], [0, INF, -INF])


@pytest.mark.parametrize(
    "text",
    [
        f"{A} > {B}",
        f"~[{A} > {B}]",
        f"{A} != {B}",
        f"{B} > 0 | {A} > 0",
        f"0 * {A} < 1",
        f"max({A}, {B}) > 0",
    ],
)
def test_a_missing_value_makes_the_item_not_evaluable_even_when_the_rest_would_decide(text: str) -> None:
    codes, margins = outcomes(text, [NAN], [2])
    assert codes == [NOT_EVALUABLE]
    assert math.isnan(margins[0])
    assert truth(text, NAN, 2) is False


def test_a_value_that_is_missing_but_not_referred_to_does_not_matter() -> None:
    assert parse(f"{A} > 0").evaluate({("a", 1): 1.0, ("a", 2): NAN, ("b", 1): NAN})


@pytest.mark.parametrize("text", [f"{A} / {B} > 0", f"~[{A} / {B} > 0]", f"{B} / {B} = 0"])
def test_division_by_zero_is_not_evaluable_and_says_nothing_on_the_console(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcomes(text, [1], [0])[0] == [NOT_EVALUABLE]


def test_infinities_that_cancel_are_not_evaluable() -> None:
    assert outcomes(f"{A} - {B} > 0", [INF], [INF])[0] == [NOT_EVALUABLE]


def test_none_counts_as_missing() -> None:
    result = parse(f"{A} > 0").evaluate_items({("a", 1): [None, 1.0]})  # type: ignore[list-item]
    assert result.outcome.tolist() == [NOT_EVALUABLE, TRUE]


def test_the_four_counts_add_up() -> None:
    result = parse(f"{A} > {B}").evaluate_items({("a", 1): [1, 2, 3, NAN, 9], ("b", 1): [2, 2, 2, 2, 2]})
    assert (result.passed, result.failed, result.ties, result.not_evaluable) == (2, 1, 1, 1)
    assert result.total == 5
    assert result.outcome.dtype == np.uint8
    assert result.margin.dtype == np.float64


def test_the_whole_sentence_is_the_sum_of_its_regions_unless_given() -> None:
    formula = parse("(*;%a%) > (*;%b%)")
    values = {("a", 1): 1.0, ("a", 2): 4.0, ("b", 1): 2.0, ("b", 2): 2.0}
    assert formula.evaluate(values)
    assert not formula.evaluate({**values, ("b", "*"): 5.5})
    arrays = {key: np.array([value, NAN]) for key, value in values.items()}
    assert formula.evaluate_items(arrays).outcome.tolist() == [TRUE, NOT_EVALUABLE]


def test_a_reference_without_value_is_named() -> None:
    with pytest.raises(FormulaError, match=r"No value for \(1;%b%\)") as caught:
        parse(f"{A} > {B}").evaluate({("a", 1): 1.0})
    assert caught.value.position == 10
    with pytest.raises(FormulaError, match=r"No value for \(\*;%c%\)"):
        parse("(*;%c%) > 0").evaluate({("a", 1): 1.0})


def test_values_of_different_lengths_are_refused() -> None:
    formula = parse(f"{A} > {B}")
    with pytest.raises(FormulaError, match="shape"):
        formula.evaluate_items({("a", 1): [1.0, 2.0], ("b", 1): [1.0]})
    with pytest.raises(FormulaError, match="one-dimensional"):
        formula.evaluate_items({("a", 1): [[1.0]], ("b", 1): [1.0]})
    with pytest.raises(FormulaError, match="number of items"):
        parse("(*;%a%) > 0").evaluate_items({("a", 1): [1.0, 2.0], ("a", 2): [1.0]})


def test_no_items_give_no_outcomes() -> None:
    assert parse(f"{A} > 0").evaluate_items({("a", 1): []}).total == 0
    assert parse("1 > 0").evaluate_items({}).total == 0


def test_a_formula_without_regions_holds_for_every_item() -> None:
    assert parse("1 > 0").evaluate_items({("a", 1): [1.0, NAN]}).outcome.tolist() == [TRUE, TRUE]
