"""Accepted formulas and their meaning."""

from __future__ import annotations

import pytest

from lmgym.suites.formulas import FormulaError, parse

from .samples import INTERACTION, PUBLISHED_SHAPES, spell

A, B, C = "(1;%a%)", "(1;%b%)", "(1;%c%)"


def same(left: str, right: str) -> bool:
    return parse(left).ast == parse(right).ast


@pytest.mark.parametrize("shape", [*PUBLISHED_SHAPES, INTERACTION])
def test_every_published_shape_reads_without_warning(shape: str) -> None:
    assert parse(spell(shape)).warnings == ()


def test_square_and_round_brackets_group_alike() -> None:
    assert same(f"[[{A} + {B}] < {C}]", f"(({A} + {B}) < {C})")


def test_a_reference_wins_over_grouping_brackets() -> None:
    formula = parse("(3;%a%) > (*;%a%)")
    assert formula.references == {("a", 3), ("a", "*")}
    assert formula.regions == {3}
    assert formula.conditions == {"a"}


def test_condition_names_may_hold_blanks_dots_hyphens_and_accents() -> None:
    formula = parse("(1;%no gap, d'été [x]%) > (1;%a.b-c_1%)")
    assert formula.conditions == {"no gap, d'été [x]", "a.b-c_1"}


def test_blanks_are_allowed_everywhere_and_names_are_trimmed() -> None:
    assert same(" ( 1 ; % a % )\n>\t( * ;\u00a0%b%)", "(1;%a%)>(*;%b%)")


def test_and_binds_looser_than_comparison() -> None:
    assert same(f"{A} > {B} & {B} < {C}", f"[{A} > {B}] & [{B} < {C}]")


def test_not_binds_looser_than_comparison_and_tighter_than_and() -> None:
    assert same(f"~{A} > {B} & {B} > {C}", f"[~[{A} > {B}]] & [{B} > {C}]")
    assert same(f"~~{A} > {B}", f"~[~[{A} > {B}]]")


def test_minus_and_division_associate_to_the_left() -> None:
    assert parse(f"{A} - {B} - {C} = 0").evaluate({("a", 1): 6, ("b", 1): 2, ("c", 1): 4})
    assert parse(f"{A} / {B} / {C} = 3").evaluate({("a", 1): 24, ("b", 1): 2, ("c", 1): 4})


def test_products_bind_tighter_than_sums_and_signs_tightest() -> None:
    assert parse("2 + 3 * 4 = 14").evaluate({})
    assert parse("-2 * 3 + 10 = 4").evaluate({})
    assert parse("2 - -3 = +5").evaluate({})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (f"{A} == {B}", f"{A} = {B}"),
        (f"{A} ≤ {B}", f"{A} <= {B}"),
        (f"{A} ≥ {B}", f"{A} >= {B}"),
        (f"{A} ≠ {B}", f"{A} != {B}"),
        (f"{A} − {B} > 0", f"{A} - {B} > 0"),
    ],
)
def test_signs_people_type_or_paste_are_synonyms(left: str, right: str) -> None:
    assert same(left, right)


@pytest.mark.parametrize(
    ("number", "value"), [("3", 3), ("-3", -3), (".5", 0.5), ("1e-3", 0.001), ("2.5E+1", 25), ("4.", 4)]
)
def test_numbers_may_be_signed_decimal_or_with_exponent(number: str, value: float) -> None:
    assert parse(f"{A} >= {number}").evaluate({("a", 1): value})
    assert not parse(f"{A} > {number}").evaluate({("a", 1): value})


def test_functions_take_one_or_more_arguments() -> None:
    values = {("a", 1): 1.0, ("b", 1): 5.0, ("c", 1): 3.0}
    for call, result in [
        (f"abs({A} - {B})", 4),
        (f"min({A}, {B}, {C})", 1),
        (f"max[{A}, {B}, {C}]", 5),
        (f"sum({A}, {B})", 6),
        (f"mean({A}, {B}, {C})", 3),
        (f"max({A})", 1),
    ]:
        assert parse(f"{call} = {result}").evaluate(values), call


def test_the_examples_of_the_early_format_document_read_once_their_brackets_balance() -> None:
    parse("[[(5;%cond1%)+(3;%cond1%)] / 2] < [[(1;%cond2%)-(6;%cond2%)] / 4]")
    parse("abs((1;%cond1%) - (1;%cond2%)) > 3")
    parse("[(2;%cond1%) > (2;%cond2%)] | [(2;%cond3%) < (2;%cond4%)]")
    parse("~[(3;%cond1%) > (3;%cond2%)]")
    with pytest.raises(FormulaError, match="never closed"):
        parse("~[[(3;%cond1%) > (3;%cond2%)]")


MIX = "1 > 0 | 1 > 0 & 1 < 0"  # true when & binds first, false from left to right


def test_an_unbracketed_mix_is_read_with_and_first_and_warns() -> None:
    formula = parse(MIX)
    assert formula.evaluate({})
    assert "read as 1 > 0 | [1 > 0 & 1 < 0]" in formula.warnings[0]
    assert "other programs read [1 > 0 | 1 > 0] & 1 < 0" in formula.warnings[0]


def test_a_mix_whose_parts_are_bracketed_is_no_mix() -> None:
    assert parse(f"{A} > 0 | [{A} > 1 & {B} > 1]").warnings == ()


def test_a_formula_without_any_region_is_accepted_with_a_warning() -> None:
    assert "no region" in parse("2.5 < 0").warnings[0]


def test_text_is_kept_as_typed_and_canonical_is_one_standard_spelling() -> None:
    formula = parse(f"[ {A}+{B}]<((03;%c%))")
    assert formula.text == f"[ {A}+{B}]<((03;%c%))"
    assert formula.canonical() == f"({A} + {B}) < (3;%c%)"
    assert parse(formula.canonical()).ast == formula.ast
