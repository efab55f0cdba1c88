"""Effects of a design as predictions: formulas agree with their descriptions."""

from __future__ import annotations

import pytest

from lmgym.suites.effects import effects
from lmgym.suites.formats.designs import cells, condition_name, named_after_levels, placed, read_lines
from lmgym.suites.formulas import parse

REGIONS = ["Subject", "Attractor", "Verb"]


def crossed(lines):
    design = read_lines(lines)
    return placed(design, {cell: condition_name(cell) for cell in cells(design)})


def offered(lines, region=3):
    return {effect.name: effect for effect in effects(crossed(lines), REGIONS, region)}


TWO = "agreement: match, mismatch\nnumber: sing, plural"
BITS = {"match_sing": 2.0, "mismatch_sing": 9.0, "match_plural": 4.0, "mismatch_plural": 6.0}
"""Agreement costs 7 bits in sing and 2 in plural; number costs 2 in match and -3 in mismatch."""


def holds(offer, bits=BITS, region=3):
    return parse(offer.formula).evaluate({(name, region): value for name, value in bits.items()})


@pytest.mark.parametrize(
    ("name", "greater"),
    [
        ("Main effect of agreement", True),
        ("Main effect of number", False),
        ("Interaction of agreement × number", False),
        ("Effect of agreement within sing", True),
        ("Effect of agreement within plural", True),
        ("Effect of number within match", True),
        ("Effect of number within mismatch", False),
    ],
)
def test_every_effect_of_a_2x2_holds_in_the_direction_that_the_bits_have(name, greater):
    effect = offered(TWO)[name]
    assert (holds(effect.greater), holds(effect.less)) == (greater, not greater)
    for offer in (effect.greater, effect.less):
        formula = parse(offer.formula)
        assert not formula.check(dict(enumerate(REGIONS, start=1)), list(BITS))
        assert formula.chance_level().value == 0.5


def test_a_2x2_offers_two_main_effects_their_interaction_and_four_simple_effects():
    kinds = [effect.kind for effect in effects(crossed(TWO), REGIONS, 3)]
    assert kinds == ["main", "main", "interaction", "simple", "simple", "simple", "simple"]


def test_words_name_levels_and_region_as_the_suite_does():
    offers = offered(TWO)
    assert offers["Interaction of agreement × number"].less.words == (
        "The effect of agreement (mismatch − match) is smaller in plural than in sing at region 3 (Verb)."
    )
    assert offers["Main effect of agreement"].greater.words == (
        "Surprisal at region 3 (Verb) is higher in mismatch than in match, summed over number."
    )
    whole = offered(TWO, "*")["Effect of number within match"].greater
    assert (
        whole.words
        == "Within match, total surprisal over the whole sentence is higher in plural than in sing."
    )
    assert whole.formula == "(*;%match_plural%) > (*;%match_sing%)"


def test_a_three_way_interaction_is_a_difference_of_differences_of_differences():
    effect = offered("a: a0, a1\nb: b0, b1\nc: c0, c1")["Interaction of a × b × c"]
    bits = {f"a{a}_b{b}_c{c}": float(a + b + c) for a in (0, 1) for b in (0, 1) for c in (0, 1)}
    assert not holds(effect.greater, bits)
    assert not holds(effect.less, bits)
    assert holds(effect.greater, bits | {"a1_b1_c1": 4.0})
    assert (
        "The interaction of a and b (a: a1 − a0; b: b1 − b0) is larger in c1 than in c0"
        in effect.greater.words
    )


def test_a_level_beyond_the_second_is_compared_with_the_first():
    names = [effect.name for effect in effects(crossed("load: low, mid, high"), REGIONS, 1)]
    assert names == ["Effect of load (mid vs. low)", "Effect of load (high vs. low)"]


def test_what_a_missing_condition_hides_is_said_and_the_rest_is_offered():
    design = named_after_levels(read_lines(TWO), ["match_sing", "match_plural", "mismatch_sing"])
    by_name = {effect.name: effect for effect in effects(design, REGIONS, 3)}
    assert by_name["Main effect of agreement"].greater is None
    assert by_name["Main effect of agreement"].reason == "No condition has mismatch × plural."
    assert by_name["Effect of number within match"].greater.formula == "(3;%match_plural%) > (3;%match_sing%)"


def test_a_formula_too_long_to_be_read_is_not_offered():
    design = read_lines("f: a, b\ng: c, d")
    design = placed(design, {cell: f"{'x' * 190}{place}" for place, cell in enumerate(cells(design) * 1)})
    long = read_lines("f: a, b\ng: 1, 2, 3, 4, 5, 6")
    long = placed(long, {cell: f"{'x' * 190}{place}" for place, cell in enumerate(cells(long))})
    assert effects(design, REGIONS, 1)[0].greater is not None
    assert effects(long, REGIONS, 1)[0].reason == "The formula would be too long."
