"""Statistics compared with scipy, statsmodels and published examples; coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, bootstrap, ttest_1samp
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from lmgym.stats import (
    benjamini_hochberg,
    effective_n,
    holm,
    margin_summary,
    mcnemar,
    paired_difference,
    paired_rates,
    rate_difference,
    score_interval,
    spread,
    tail_above,
    weighted_mean,
)
from lmgym.stats.intervals import mean_interval, wilson


@pytest.mark.parametrize(
    ("passed", "n"), [(0, 1), (1, 1), (0, 24), (7, 24), (24, 24), (81, 263), (799, 1000)]
)
def test_wilson_is_statsmodels_and_scipys(passed, n):
    ours = score_interval(passed / n, n)
    assert (ours.low, ours.high) == pytest.approx(proportion_confint(passed, n, method="wilson"), abs=1e-12)
    theirs = wilson(passed, n)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_wilson_gives_the_published_example():
    """Newcombe (1998), Table I: 81 of 263 gives 0.2553 to 0.3662, 15 of 148 gives 0.0624 to 0.1605."""
    for passed, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
        ours = score_interval(passed / n, n)
        assert (round(ours.low, 4), round(ours.high, 4)) == (low, high)


def test_no_items_have_no_interval():
    assert score_interval(0.0, 0) is None
    assert tail_above(0.0, 0, 0.5) is None


def test_one_prediction_per_item_is_worth_the_number_of_items():
    assert effective_n(np.array([1.0, 0.0, 1.0, 1.0]), 1) == pytest.approx(4)


def test_predictions_that_go_together_are_worth_no_more_than_one():
    shares = np.array([1.0, 0.0, 1.0, 1.0])
    assert effective_n(shares, 2) == pytest.approx(4)


def test_independent_predictions_are_worth_as_many_items():
    held = np.random.default_rng(1).random((20_000, 2)) < 0.7
    assert effective_n(held.mean(axis=1), 2) / 40_000 == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(
    ("passed", "n", "chance"), [(0, 10, 0.5), (8, 10, 0.5), (24, 24, 0.25), (9, 24, 5 / 24)]
)
def test_the_tail_is_the_exact_binomials(passed, n, chance):
    assert tail_above(passed / n, n, chance) == pytest.approx(binom.sf(passed - 1, n, chance), abs=1e-12)


def test_the_tail_at_impossible_chance_levels():
    assert tail_above(0.5, 10, 0.0) == 0.0
    assert tail_above(0.5, 10, 1.0) == 1.0
    assert tail_above(0.0, 10, 0.0) == 1.0


def test_a_mean_over_one_suite_is_that_suite():
    interval = score_interval(0.8, 24)
    mean, limits = weighted_mean([0.8], [24], [3.0])
    assert mean == pytest.approx(0.8)
    assert (limits.low, limits.high) == pytest.approx((interval.low, interval.high))


def test_weights_of_nought_leave_suites_out_and_no_weight_at_all_gives_nothing():
    mean, limits = weighted_mean([0.9, 0.1], [20, 0], [1.0, 0.0])
    assert (mean, limits) == (pytest.approx(0.9), weighted_mean([0.9], [20], [1.0])[1])
    assert weighted_mean([0.9], [20], [0.0]) is None


@pytest.mark.parametrize(
    ("a", "n", "b", "m"), [(56, 70, 48, 80), (9, 10, 3, 10), (0, 10, 0, 20), (10, 10, 0, 20)]
)
def test_the_difference_of_two_rates_is_statsmodels_newcombe(a, n, b, m):
    ours = rate_difference(a / n, score_interval(a / n, n), b / m, score_interval(b / m, m))
    theirs = confint_proportions_2indep(b, m, a, n, method="newcomb", compare="diff")
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-9)


def test_the_difference_of_two_rates_gives_the_published_example():
    """Newcombe (1998), Table II, method 10: 56 of 70 less 48 of 80 gives 0.0524 to 0.3339."""
    ours = rate_difference(48 / 80, score_interval(48 / 80, 80), 56 / 70, score_interval(56 / 70, 70))
    assert (round(ours.low, 4), round(ours.high, 4)) == (0.0524, 0.3339)


def test_mcnemar_is_statsmodels_exact_test():
    rng = np.random.default_rng(3)
    for _ in range(20):
        first, second = rng.random(40) < 0.6, rng.random(40) < 0.7
        table = [
            [(first & second).sum(), (first & ~second).sum()],
            [(~first & second).sum(), (~first & ~second).sum()],
        ]
        assert mcnemar(list(first), list(second)).p == pytest.approx(
            reference_mcnemar(table, exact=True).pvalue
        )


def test_mcnemar_gives_the_published_example():
    """Agresti, Categorical Data Analysis, approval ratings: 150 against 86 discordant pairs."""
    first = [True] * 150 + [False] * 86
    result = mcnemar(first, [not value for value in first])
    assert (result.only_first, result.only_second) == (150, 86)
    assert result.p == pytest.approx(3.7e-5, rel=0.05)


def test_models_that_never_differ_do_not_differ():
    result = mcnemar([True, False], [True, False])
    assert (result.only_first, result.only_second, result.p) == (0, 0, 1.0)


def test_the_bootstrap_agrees_with_scipys_percentiles_for_many_items():
    rng = np.random.default_rng(5)
    first, second = rng.normal(0, 1, 2000), rng.normal(0.2, 1, 2000)
    ours = paired_difference(list(first), list(second))
    theirs = bootstrap((second - first,), np.mean, method="percentile", random_state=1).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_items_without_a_value_on_one_side_are_left_out():
    result = paired_difference([1.0, None, 3.0, 1.0], [2.0, 5.0, None, 4.0])
    assert (result.n, result.mean) == (2, 2.0)


def test_equal_differences_have_no_interval():
    assert paired_difference([0.0, 1.0], [0.0, 1.0]).low is None
    assert margin_summary([None, None]).mean_margin is None
    assert margin_summary([2.0]).mean_margin == 2.0


def test_differences_that_are_equal_but_for_rounding_have_no_interval_and_no_effect():
    first, second = [1 / 3, 2 / 3] * 6, [2 / 3, 1.0] * 6
    assert np.ptp(np.subtract(second, first)) > 0  # 1/3 is rounded
    found = paired_difference(first, second)
    assert (found.mean, found.low, found.high, found.effect_size_g) == (
        pytest.approx(1 / 3),
        None,
        None,
        None,
    )


def test_margins_that_are_equal_but_for_rounding_have_no_interval_and_no_effect():
    found = margin_summary([0.1 + 0.2, 0.3] * 4)
    assert (found.margin_low, found.margin_high, found.effect_size_g) == (None, None, None)


def test_a_weighted_mean_of_perfect_suites_is_one():
    rates, weights = [1.0] * 51, [0.1 * (k + 1) for k in range(51)]
    mean, limits = weighted_mean(rates, [20] * 51, weights)
    assert mean == limits.high == 1.0


def test_the_effect_size_is_hedges_g():
    """Mean 3, standard deviation √2.5, corrected by 1 − 3/15."""
    assert margin_summary([1.0, 2.0, 3.0, 4.0, 5.0]).effect_size_g == pytest.approx(3 / 2.5**0.5 * 0.8)


def test_two_items_have_no_effect_size():
    assert margin_summary([1.0, 3.0]).effect_size_g is None
    assert paired_difference([0.0, 0.0], [1.0, 3.0]).effect_size_g is None


def test_the_same_items_give_the_same_interval():
    values = list(np.random.default_rng(2).normal(size=30))
    assert margin_summary(values) == margin_summary(values)


# --- means and differences of pass rates ------------------------------------------------------------------------
def paired(both: int, first: int, second: int, neither: int) -> list[np.ndarray]:
    """Return the outcomes (1 or 0) of two models on items that hold under both, under the first only, the
    second only, and neither; the arguments are numbers of items.
    """
    rows = [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither
    return list(np.array(rows, dtype=float).T)


def test_paired_rates_give_newcombes_published_example():
    """Newcombe (1998), Statistics in Medicine 17, 2635, method 10: 36, 12, 2, 0 of 50 give 0.0569 to 0.3404."""
    first, second = paired(36, 2, 12, 0)
    found = paired_rates([first], [second], [(1, 1)])
    assert (found.n, round(found.mean, 9)) == (50, 0.2)
    assert (round(found.low, 4), round(found.high, 4)) == (0.0569, 0.3404)


def test_an_interval_near_1_does_not_contradict_mcnemar():
    """17 of 21 against 21 of 21: p is .125, and resampling the four items that differ gave -38.1 to -4.8 points."""
    first, second = paired(17, 4, 0, 0)
    found = paired_rates([first], [second], [(1, 1)])
    assert mcnemar(list(first > 0), list(second > 0)).p == 0.125
    assert found.low == pytest.approx(-0.4, abs=1e-3)
    assert found.high > 0


@pytest.mark.parametrize("counts", [(9, 0, 0, 0), (0, 0, 0, 9), (5, 0, 0, 4), (0, 9, 0, 0)], ids=str)
def test_rates_have_an_interval_where_no_item_or_every_item_differs(counts):
    first, second = paired(*counts)
    found = paired_rates([first] * 3, [second] * 3, [(1, 1)] * 3)
    assert found.low < found.high
    assert found.low <= found.mean <= found.high
    assert found.low >= -1
    assert found.high <= 1


def test_second_less_first_is_first_less_second_turned_round():
    first, second = paired(9, 4, 2, 5)
    one, other = paired_rates([first], [second], [(1, 1)]), paired_rates([second], [first], [(1, 1)])
    assert (one.mean, one.low, one.high) == pytest.approx((-other.mean, -other.high, -other.low))


def test_a_difference_over_suites_is_the_weighted_mean_of_theirs():
    suites = [paired(1, 0, 1, 0), paired(1, 1, 0, 2), [np.array([])] * 2]
    found = paired_rates(*zip(*suites, strict=True), [(1, 1)] * 3, [3.0, 1.0, 9.0])
    assert (found.n, found.mean) == (6, pytest.approx((3 * 0.5 - 0.25) / 4))
    assert found.low < found.mean < found.high
    assert found.effect_size_g is None
    assert paired_rates([np.array([])], [np.array([])], [(1, 1)]).mean is None


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_mean_of_suites_that_are_all_at_an_end_has_wilsons_interval_of_all_items(rate):
    """The interval is that of slightly fewer items, because each suite has its own variance."""
    mean, limits = weighted_mean([rate] * 17, [24] * 17, [1.0] * 17)
    known = score_interval(rate, 17 * (23 + 1 / 17))
    assert (mean, limits.low, limits.high) == pytest.approx((rate, known.low, known.high))
    assert limits.high - limits.low > 0.009


def test_one_failed_item_among_suites_at_0_and_at_1_does_not_make_the_mean_certain():
    """The observed variance between items is nearly 0, but the true rates of the other suites are not known
    that precisely.
    """
    _, limits = weighted_mean([1.0] * 8 + [0.0] * 8 + [23 / 24], [24] * 17, [1.0] * 17)
    assert limits.high - limits.low > 0.025


def test_over_suites_with_many_items_the_intervals_are_the_normal_ones():
    rng = np.random.default_rng(6)
    ease = [rng.random(n) for n in (4000, 6000)]
    first, second = (
        [(rng.random(x.size) < (x + more) / 1.5).astype(float) for x in ease] for more in (0, 0.2)
    )
    rates = [values.mean() for values in first]
    half = 1.96 * (sum(rate * (1 - rate) / x.size for rate, x in zip(rates, ease, strict=True)) / 4) ** 0.5
    mean, limits = weighted_mean(rates, [4000, 6000], [1.0, 1.0])
    assert (limits.low, limits.high) == pytest.approx((mean - half, mean + half), abs=2e-4)
    both = [b - a for a, b in zip(first, second, strict=True)]
    half = 1.96 * (sum(values.var() / values.size for values in both) / 4) ** 0.5
    found = paired_rates(first, second, [(1, 1)] * 2)
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half), abs=2e-4)


def test_means_of_regions_have_scipys_t_interval():
    values = np.random.default_rng(8).normal(7, 2, 12)
    theirs = ttest_1samp(values, 0).confidence_interval(0.95)
    ours = mean_interval(np.append(values, np.nan))
    assert (ours.n, ours.low, ours.high) == (12, pytest.approx(theirs.low), pytest.approx(theirs.high))


@pytest.mark.parametrize("seed", range(5))
def test_corrections_are_statsmodels(seed):
    values = list(np.random.default_rng(seed).random(12) ** 3)
    assert holm(values) == pytest.approx(list(multipletests(values, method="holm")[1]))
    assert benjamini_hochberg(values) == pytest.approx(list(multipletests(values, method="fdr_bh")[1]))


def test_no_comparison_needs_no_correction():
    assert holm([]) == [] == benjamini_hochberg([])


def test_seeds_are_observations():
    result = spread([0.5, 0.7, 0.6])
    assert (result.n, result.mean, result.deviation) == (3, pytest.approx(0.6), pytest.approx(0.1))
    assert spread([0.5]).deviation is None
    assert spread([]) is None


# --- coverage: of 95% intervals, how many hold the truth --------------------------------------------------------
RUNS = 1500


def test_wilson_intervals_cover():
    for rate, n in ((0.5, 24), (0.9, 24), (0.7, 40), (0.25, 20)):
        passed = np.random.default_rng(7).binomial(n, rate, RUNS)
        held = [(i := score_interval(k / n, n)).low <= rate <= i.high for k in passed]
        assert 0.93 <= np.mean(held) <= 0.985, (rate, n)


def test_intervals_of_items_with_several_predictions_cover():
    rng = np.random.default_rng(11)
    held = []
    for _ in range(RUNS):
        ease = rng.beta(2, 1, 30)  # items differ, so the two predictions of an item correlate
        shares = (rng.random((30, 2)) < ease[:, None]).mean(axis=1)
        interval = score_interval(shares.mean(), effective_n(shares, 2))
        held.append(interval.low <= 2 / 3 <= interval.high)
    assert 0.93 <= np.mean(held) <= 0.975


def test_paired_bootstrap_intervals_cover():
    rng = np.random.default_rng(17)
    held = []
    for _ in range(400):
        ease = rng.normal(0, 1, 24)
        first, second = ease + rng.normal(0, 1, 24), ease + 0.5 + rng.normal(0, 1, 24)
        result = paired_difference(list(first), list(second), resamples=999)
        held.append(result.low <= 0.5 <= result.high)
    assert 0.92 <= np.mean(held) <= 0.98


@pytest.mark.parametrize("n", [6, 12, 24])
def test_intervals_of_mean_margins_cover(n):
    rng = np.random.default_rng(29)
    held = []
    for _ in range(800):
        result = margin_summary(list(rng.normal(1.5, 3, n)), resamples=999)
        held.append(result.margin_low <= 1.5 <= result.margin_high)
    assert 0.925 <= np.mean(held) <= 0.975


@pytest.mark.parametrize("n", [4, 12, 24])
def test_intervals_of_mean_bits_of_a_region_cover(n):
    """Bits are skewed to the right: a gamma distribution with mean 6 and standard deviation 2.4."""
    rng = np.random.default_rng(31)
    held = []
    for _ in range(RUNS):
        interval = mean_interval(rng.gamma(6, 1, n))
        held.append(interval.low <= 6 <= interval.high)
    assert 0.93 <= np.mean(held) <= 0.97
