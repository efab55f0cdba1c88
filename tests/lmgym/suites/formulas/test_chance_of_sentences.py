"""Chance levels of formulas with whole sentences, which are the sum of their regions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest

from lmgym.suites.formulas import TRUE, parse
from tests.lmgym.conftest import ROOT

from .samples import INTERACTION, PUBLISHED_SHAPES, spell

SENTENCE_AND_REGION = "[(*;%good%) < (*;%bad%)] & [(2;%good%) < (2;%bad%)]"


@pytest.mark.parametrize(("n_regions", "chance"), [(2, 0.375), (8, 0.305)])
def test_a_sentence_beside_one_of_its_regions_is_the_sum_of_all(n_regions: int, chance: float) -> None:
    level = parse(SENTENCE_AND_REGION).chance_level(n_regions=n_regions)
    assert not level.exact
    assert abs(level.value - chance) < 3 * level.standard_error
    assert level.assumed_regions == n_regions
    assert level == parse(SENTENCE_AND_REGION).chance_level(n_regions=n_regions)


def test_it_is_what_drawing_every_region_gives() -> None:
    """The expected value comes from drawing all eight regions of both conditions."""
    n, rng = 200_000, np.random.default_rng(1)
    bits = {(c, k): rng.gamma(2.0, 4.0, n) for c in ("good", "bad") for k in range(1, 9)}
    bits |= {(c, "*"): sum(bits[c, k] for k in range(1, 9)) for c in ("good", "bad")}
    outcome = parse(SENTENCE_AND_REGION).evaluate_items(bits).outcome
    level = parse(SENTENCE_AND_REGION).chance_level(n_regions=8)
    assert abs(level.value - (outcome == TRUE).mean()) < 4 * level.standard_error


@pytest.mark.parametrize(
    ("formula", "chance"),
    [
        ("(*;%a%) > (1;%a%)", 1.0),
        ("(1;%a%) + (2;%a%) > (*;%a%)", 0.0),
        ("(*;%a%) < (*;%b%)", 0.5),
        ("(*;%a%) - (1;%a%) < (*;%b%) - (1;%b%)", 0.5),
        ("[(*;%a%) < (*;%b%)] & [(*;%a%) < (*;%c%)]", 1 / 3),
        ("[(*;%a%) < (*;%b%)] & [(1;%c%) < (1;%d%)]", 0.25),
        ("min((*;%a%), (*;%b%)) > (*;%c%)", 1 / 3),
    ],
)
@pytest.mark.parametrize("n_regions", [None, 3, 8])
def test_levels_of_sentences_are_exact_where_they_follow(
    formula: str, chance: float, n_regions: int | None
) -> None:
    level = parse(formula).chance_level(n_regions=n_regions)
    assert level.exact
    assert level.value == pytest.approx(chance, abs=1e-15)
    assert level.assumed_regions is None


def test_a_sentence_of_one_region_is_that_region() -> None:
    level = parse(SENTENCE_AND_REGION.replace("2;", "1;")).chance_level(n_regions=1)
    assert (level.value, level.exact) == (0.5, True)


def test_a_sentence_of_many_regions_is_not_like_a_region() -> None:
    levels = [parse("(*;%a%) > (1;%b%)").chance_level(n_regions=n).value for n in (1, 2, 8)]
    assert levels[0] == 0.5
    assert levels[1] == pytest.approx(0.8125, abs=0.005)  # P(Gamma(4) > Gamma(2)) = 13/16
    assert levels[2] > 0.999


def test_without_a_suite_it_has_as_few_regions_as_fit() -> None:
    assert parse(SENTENCE_AND_REGION).chance_level().assumed_regions == 2
    assert parse(SENTENCE_AND_REGION.replace("2;", "5;")).chance_level().assumed_regions == 5
    assert parse(SENTENCE_AND_REGION.replace("2;", "1;")).chance_level().assumed_regions == 2


@pytest.mark.parametrize("shape", [*PUBLISHED_SHAPES, INTERACTION, "[v1 - v2 > 2] & [v1 > v3]"])
def test_the_number_of_regions_moves_no_formula_without_a_sentence(shape: str) -> None:
    formula = parse(spell(shape))
    assert formula.chance_level(n_regions=8) == formula.chance_level()


def test_simulated_levels_without_a_sentence_are_what_they_were() -> None:
    levels = {
        INTERACTION: 0.30827,
        "v1/v2 > 1": 0.50095,
        "[v1+v2 > v3+v4] & [v1+v2 > v5+v6]": 0.33316,
        "v1 - v2 > 3": 0.32654,
    }
    for shape, value in levels.items():
        assert parse(spell(shape)).chance_level().value == value


# --- parts that go together


def test_a_formula_that_joins_comparisons_says_that_it_takes_them_as_independent() -> None:
    assert parse(spell("[v1<v2]&[v3<v4]")).chance_level().assumes_independence
    assert parse(SENTENCE_AND_REGION).chance_level().assumes_independence
    assert not parse(spell("[v1+v2]<[v3+v4]")).chance_level().assumes_independence
    assert not parse(spell("[v1=v2]&[v3=v4]")).chance_level().assumes_independence  # 0 in any case


def correlated(pairs: Sequence[tuple[int, int]], r: float, n: int = 400_000) -> dict:
    """Return normally distributed values v1 to v4, in which the members of each pair correlate with r."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, n))
    for pair in pairs:
        shared = rng.normal(size=n)
        for k in pair:
            values[k - 1] = math.sqrt(r) * shared + math.sqrt(1 - r) * values[k - 1]
    return {(f"c{k}", 1): values[k - 1] for k in (1, 2, 3, 4)}


def test_the_table_of_the_guide_is_what_correlated_values_give() -> None:
    text = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
    section = text.split("### Correlated parts")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in section.splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[0].startswith("`")]
    assert len(rows) == 5
    for shape, together, *said in rows:
        formula = parse(spell(shape.strip("`")))
        for r, level in zip((0.0, 0.5, 0.9), said, strict=True):
            if together.startswith("the margins"):
                value = 0.25 + math.asin(r) / (2 * math.pi)
            else:
                pairs = [(int(a), int(b)) for a, b in re.findall(r"v(\d) with v(\d)", together)]
                assert len(pairs) == 2
                value = float((formula.evaluate_items(correlated(pairs, r)).outcome == TRUE).mean())
            assert value == pytest.approx(float(level), abs=0.003), (shape, together, r)
        assert formula.chance_level().value == pytest.approx(float(said[0]), abs=0.0005)
