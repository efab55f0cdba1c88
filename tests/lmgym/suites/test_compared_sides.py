"""Both sides of every comparison of a formula on one item, and digits that add up."""

from __future__ import annotations

import math

import pytest

from lmgym.suites.formulas import parse
from lmgym.text.number_format import adding_up

REGIONS = {1: "Subject", 2: "Verb"}
VALUES = {("match", 1): 3.0, ("match", 2): 5.25, ("mismatch", 1): 3.0, ("mismatch", 2): 9.5}


def sides(formula, values=VALUES):
    return [
        (one.left, one.operator, one.right, one.left_bits, one.right_bits)
        for one in parse(formula).compared(values, REGIONS)
    ]


def test_sides_are_named_and_have_their_bits():
    assert sides("(2;%mismatch%) > (2;%match%)") == [("Verb in mismatch", ">", "Verb in match", 9.5, 5.25)]


def test_every_comparison_of_a_conjunction_in_the_order_of_the_text():
    found = sides("[(1;%match%) = (1;%mismatch%)] & [(2;%mismatch%) - (2;%match%) > 2]")
    assert [row[1] for row in found] == ["=", ">"]
    assert found[1] == ("the excess of surprisal at Verb in mismatch over match", ">", "2 bits", 4.25, 2.0)


def test_sums_and_whole_sentences():
    found = sides("(*;%match%) < (1;%mismatch%) + (2;%mismatch%)")
    assert found == [("the whole sentence in match", "<", "Subject and Verb in mismatch", 8.25, 12.5)]


def test_what_has_no_value_is_not_a_number():
    [row] = sides("(2;%mismatch%) > (2;%match%)", VALUES | {("match", 2): math.nan})
    assert row[3] == 9.5
    assert math.isnan(row[4])


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        (9.5, 5.25, ("9.50", "5.25", "+4.25")),
        (2.004, 1.006, ("2.004", "1.006", "+0.998")),
        (1.0, 1.0, ("1.00", "1.00", "0.00")),
        (1.0004, 1.0001, ("1.0004", "1.0001", "+0.0003")),
        (1.0, math.nan, ("1.000000", "–", "–")),
    ],
)
def test_places_are_as_many_as_the_difference_needs(left, right, shown):
    assert adding_up(left, right) == shown


def test_printed_differences_always_add_up():
    for k in range(2_000):
        left, right = 10 * math.sin(k) ** 2, 10 * math.cos(1.7 * k) ** 2
        a, b, difference = (float(text.replace("−", "-")) for text in adding_up(left, right))
        assert a - b == pytest.approx(difference, abs=1e-9)
