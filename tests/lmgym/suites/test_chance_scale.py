"""A chance level that depends on the scale of surprisals states the assumed scale."""

from __future__ import annotations

import pytest

from lmgym.suites.formulas import parse
from lmgym.suites.formulas.chance import GAMMA_SCALE, GAMMA_SHAPE

MEAN = GAMMA_SHAPE * GAMMA_SCALE


@pytest.mark.parametrize(
    "formula",
    [
        "(1;%a%) > 3",
        "(1;%a%) - (1;%b%) > 2",
        "abs((1;%a%) - (1;%b%)) < 1",
        "((1;%a%) > (1;%b%)) & ((2;%a%) > 3)",
        "~((1;%a%) - (1;%b%) > 2)",
        "(1;%a%) * (1;%b%) > (2;%a%)",
        "max((1;%a%), 4) > (1;%b%)",
    ],
)
def test_a_constant_in_bits_names_the_scale(formula):
    assert parse(formula).chance_level().assumed_bits == MEAN == 8.0


@pytest.mark.parametrize(
    "formula",
    [
        "(1;%a%) > (1;%b%)",
        "(1;%a%) - (1;%b%) > 0",
        "(1;%a%) > 2 * (1;%b%)",
        "(1;%a%) / (1;%b%) > 2",
        "(1;%a%) * (1;%b%) > (2;%a%) * (2;%b%)",
        "(1;%a%) + 1 > 0",
        "mean((1;%a%), (2;%a%)) > 1.5 * (1;%b%)",
    ],
)
def test_ratios_and_differences_are_the_same_on_every_scale(formula):
    assert parse(formula).chance_level().assumed_bits is None
