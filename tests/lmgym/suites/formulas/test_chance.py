"""Chance levels: how often formulas are true if all their values are exchangeable."""

from __future__ import annotations

import pytest

from lmgym.suites.formulas import parse

from .samples import INTERACTION, PUBLISHED_SHAPES, spell


@pytest.mark.parametrize(("shape", "chance"), PUBLISHED_SHAPES.items())
def test_published_shapes_have_exact_chance_levels(shape: str, chance: float) -> None:
    level = parse(spell(shape)).chance_level()
    assert level.exact
    assert level.standard_error == 0
    assert level.value == pytest.approx(chance, abs=1e-15)


def test_the_interaction_shape_is_simulated_with_its_error() -> None:
    level = parse(spell(INTERACTION)).chance_level()
    assert not level.exact
    assert 0.29 < level.value < 0.32
    assert 0 < level.standard_error < 0.002


def test_simulation_is_repeatable_and_blind_to_names() -> None:
    first = parse(spell(INTERACTION)).chance_level(seed=3)
    renamed = parse(spell(INTERACTION).replace("c1", "zebra").replace("c2", "ape")).chance_level(seed=3)
    assert first == renamed
    assert first != parse(spell(INTERACTION)).chance_level(seed=4)


@pytest.mark.parametrize(
    ("shape", "chance"),
    [
        ("v1 > v1", 0.0),
        ("v1 >= v1", 1.0),
        ("v1 = v1", 1.0),
        ("v1 != v2", 1.0),
        ("~[v1 = v2]", 1.0),
        ("v1 - v2 > v1 - v3", 0.5),
        ("2*v1 > 2*v2", 0.5),
        ("mean(v1,v2) > mean(v3,v4)", 0.5),
        ("v1/2 - v2/2 < 0", 0.5),
        ("[v1 + v2 + v3] / 3 > [v4 + v5 + v6] / 3", 0.5),
        ("v1 > 0", 1.0),
        ("v1 < 0", 0.0),
        ("abs(v1) >= 0", 1.0),
        ("v1 > max(v2, v3, v4)", 0.25),
        ("min(v1, v2) > max(v3, v4)", 1 / 6),
        ("max(v1, v2) = v1", 0.5),
        ("v1 > v2 | v3 > v4", 0.75),
        ("~[v1 > v2] & v3 > v4", 0.25),
        ("[v1 > v2] | [v2 > v1]", 1.0),
        ("[v1 > v2] & [v2 > v3] & [v3 > v4] & [v4 > v5] & [v5 > v6] & [v6 > v7] & [v7 > v8]", 1 / 40320),
        ("[v1+v2 > v3+v4] & [v5 > v6] & [v7 = v8]", 0.0),
        ("1 > 0", 1.0),
        ("1 > 2", 0.0),
        ("v1 / 0 > 1", 0.0),
        ("~[v1 / (v2 - v2) > 1]", 0.0),
        ("0.1 + 0.2 > 0.3", 0.0),
    ],
)
def test_symmetry_order_and_independence_give_exact_levels(shape: str, chance: float) -> None:
    level = parse(spell(shape)).chance_level()
    assert level.exact
    assert level.value == pytest.approx(chance, abs=1e-15)


@pytest.mark.parametrize(
    ("shape", "chance"),
    [
        ("abs(v1-v2) > abs(v3-v4)", 0.5),
        ("v1/v2 > 1", 0.5),
        ("v1*v2 > v3*v4", 0.5),
        ("[v1+v2 > v3+v4] & [v1+v2 > v5+v6]", 1 / 3),
        ("[abs(v1-v2) > abs(v3-v4)] & [v5 > v6]", 0.25),
        ("[abs(v1-v2) > abs(v3-v4)] | [v5 > v6]", 0.75),
    ],
)
def test_simulated_levels_lie_within_four_standard_errors(shape: str, chance: float) -> None:
    level = parse(spell(shape)).chance_level()
    assert not level.exact
    assert abs(level.value - chance) < 4 * level.standard_error


def test_simulation_never_claims_certainty() -> None:
    level = parse(spell("v1 > 1000 + v2")).chance_level()
    assert level.value == 0
    assert not level.exact
    assert level.standard_error > 0


def test_many_values_are_simulated_with_fewer_draws_and_a_larger_error() -> None:
    chain = " & ".join(f"(1;%c{k}%) < (1;%c{k + 1}%) + 9" for k in range(40))
    level = parse(chain).chance_level()
    assert not level.exact
    assert 0 < level.standard_error < 0.01


def test_huge_numbers_are_left_to_the_simulation() -> None:
    product = "*".join(["1e300"] * 100)
    level = parse(spell(f"v1 * {product} > v2")).chance_level()
    assert not level.exact


@pytest.mark.parametrize(
    ("formula", "level"), [("0 < [0 / [0 + 1]]", 0.0), ("1 < [3 / [1 + 1]]", 1.0), ("1 > [3 / [1 + 1]]", 0.0)]
)
def test_a_formula_of_numbers_alone_is_decided(formula: str, level: float) -> None:
    found = parse(formula).chance_level()
    assert (found.value, found.exact) == (level, True)
