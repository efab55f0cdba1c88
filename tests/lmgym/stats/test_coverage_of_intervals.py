"""Coverage of intervals and error rates of verdicts: a short form of `python -m benchmarks.intervals`, whose
tables are in docs/statistics.md. Seeds are fixed; bounds leave room for the fewer samples."""

from __future__ import annotations

import pytest

from benchmarks.intervals.__main__ import tables
from benchmarks.intervals.simulate import DIFFERENCES, MEANS, NULLS, differences, errors_at_chance, means
from benchmarks.web.record import DOCS, put

SAMPLES = 250
IDEAL = 95.0
ROUGHLY = 4.0
"""Tolerance in percentage points: three standard errors of a share of 95% in SAMPLES samples."""
NEAR_1 = ("17 suites, all 0.97", "17 suites, all 0.99", "17 suites, all 0.03", "34 suites, all 0.95")


def of(settings, *names):
    return [one for one in settings if one.name in names]


@pytest.mark.parametrize("setting", of(MEANS, *NEAR_1), ids=lambda one: one.name)
def test_means_over_suites_near_0_and_1_miss_the_truth_on_either_side_alike(setting):
    ours, mover = means(setting, SAMPLES)
    assert ours.holds >= IDEAL - ROUGHLY
    assert max(ours.above, ours.below) <= 2.5 + ROUGHLY
    assert ours.holds > mover.holds
    assert min(mover.above, mover.below) == 0


@pytest.mark.parametrize(
    "setting",
    of(
        MEANS,
        "17 suites, all 0.5",
        "17 suites, .1 to .9",
        "17 suites, near 0 or 1 (beta .3, .3)",
        "5 suites of 6, all .9",
        "17 suites, all 0.95, 3 predictions, correlation 0.9",
    ),
    ids=lambda one: one.name,
)
def test_means_over_suites_hold_the_truth_at_other_rates_and_with_correlated_predictions(setting):
    assert means(setting, SAMPLES)[0].holds >= IDEAL - ROUGHLY


@pytest.mark.parametrize(
    "setting",
    of(
        DIFFERENCES,
        "1 suite of 21, 0.97 and 0.9, 0.8",
        "1 suite of 38, 0.97 and 0.9, 0",
        "1 suite of 21, 0.5 and 0.8, 0",
        "1 suite of 24, 3 predictions, 0.97 and 0.9, .5",
        "3 suites of 5, 6, 8, .9 and .95, .5",
        "17 suites, 0.97 and 0.9, 0.8",
    ),
    ids=lambda one: one.name,
)
def test_differences_of_pass_rates_hold_the_truth_which_a_bootstrap_misses_near_1(setting):
    ours, bootstrap = differences(setting, SAMPLES)
    assert ours.holds >= IDEAL - ROUGHLY
    if setting.name == "1 suite of 21, 0.97 and 0.9, 0.8":
        assert bootstrap.holds < 88


@pytest.mark.parametrize("setting", [one for one in NULLS if one.items == 24], ids=lambda one: one.name)
def test_a_rate_at_chance_is_seldom_called_above_or_below_it(setting):
    """Each tail may err in ALPHA, 5%, of the samples; predictions of one item may be correlated."""
    assert max(errors_at_chance(setting, 1000)) <= 5.0 + 2.1


def test_the_docs_have_every_setting():
    text = (DOCS / "statistics.md").read_text(encoding="utf-8")
    for one in (*MEANS, *DIFFERENCES, *NULLS):
        assert f"| {one.name} |" in text
    once = put(text, "coverage", tables(1))
    assert put(once, "coverage", tables(1)) == once
