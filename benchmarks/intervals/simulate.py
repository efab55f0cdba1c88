"""Simulate samples of items with known rates, and evaluate our intervals and verdicts on them.

A prediction holds for an item if a normal variate is below the quantile of the suite's true rate. Variates
are correlated between the predictions of one item, and between two models on one item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmgym.runs.against_chance import ALPHA
from lmgym.stats import (
    effective_n,
    paired_rates,
    percentile_interval,
    score_interval,
    tail_above,
    weighted_mean,
)

Floats = NDArray[np.float64]
SEED = 17
PUBLISHED = (19, 24, 28, 38) * 4 + (24,)
"""Item counts of 17 suites, as in the published ones."""


@dataclass(frozen=True)
class Coverage:
    """Percentages of samples in which the truth is inside, above or below the interval."""

    holds: float
    above: float
    below: float


@dataclass(frozen=True)
class Means:
    """A mean over suites. `correlation`: between the `predictions` of an item."""

    name: str
    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    weights: tuple[float, ...] = ()
    predictions: int = 1
    correlation: float = 0.0


@dataclass(frozen=True)
class Pairs:
    """Two models on the same suites. `correlation`: between the two models' variates for an item."""

    name: str
    sizes: tuple[int, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    correlation: float
    predictions: int = 1


@dataclass(frozen=True)
class Null:
    """One suite at chance."""

    name: str
    items: int
    predictions: int
    chance: float
    correlation: float = 0.0


def _all(rate: float, sizes: tuple[int, ...] = PUBLISHED) -> Means:
    return Means(f"{len(sizes)} suites, all {rate:g}", sizes, (rate,) * len(sizes))


def _several(rate: float, predictions: int, correlation: float) -> Means:
    name = f"17 suites, all {rate:g}, {predictions} predictions, correlation {correlation:g}"
    return Means(name, PUBLISHED, (rate,) * 17, (), predictions, correlation)


_EVEN = tuple(float(rate) for rate in np.linspace(0.1, 0.9, 17))
_BETTER = tuple(float(rate) for rate in np.linspace(0.3, 0.95, 17))
_SKEWED = tuple(float(rate) for rate in np.random.default_rng(0).beta(4, 1, 34))
_OPPOSITE = tuple(float(rate) for rate in np.random.default_rng(0).beta(0.3, 0.3, 17))

MEANS = (
    *(_all(rate) for rate in (0.5, 0.9, 0.97, 0.99, 0.03)),
    _all(0.95, PUBLISHED * 2),
    Means("17 suites, .1 to .9", PUBLISHED, _EVEN),
    Means("34 suites, mostly near 1 (beta 4, 1)", PUBLISHED * 2, _SKEWED),
    Means("17 suites, near 0 or 1 (beta .3, .3)", PUBLISHED, _OPPOSITE),
    Means("12 suites .98, 5 suites .3", PUBLISHED, (0.98,) * 12 + (0.3,) * 5),
    Means("8 suites .99, 8 suites .01", PUBLISHED[:16], (0.99,) * 8 + (0.01,) * 8),
    Means("3 suites of 24, all .95", (24,) * 3, (0.95,) * 3),
    Means("5 suites of 6, all .9", (6,) * 5, (0.9,) * 5),
    Means("100 suites, all .9", PUBLISHED * 5 + PUBLISHED[:15], (0.9,) * 100),
    Means("17 suites, all .95, weights 1 to 8", PUBLISHED, (0.95,) * 17, (4.0, 1.0, 1.0, 1.0) * 4 + (8.0,)),
    *(_several(rate, n, c) for rate in (0.5, 0.95) for n, c in ((2, 0.5), (3, 0.5), (3, 0.9))),
)

DIFFERENCES = (
    *(
        Pairs(
            f"1 suite of {n}, {first:g} and {second:g}, {correlation:g}",
            (n,),
            (first,),
            (second,),
            correlation,
        )
        for n in (21, 38)
        for first, second in ((0.5, 0.8), (0.9, 0.9), (0.97, 0.9), (0.97, 0.97), (0.03, 0.03))
        for correlation in (0.0, 0.8)
    ),
    *(
        Pairs(
            f"1 suite of 24, {p} predictions, {first:g} and {second:g}, .5",
            (24,),
            (first,),
            (second,),
            0.5,
            p,
        )
        for p in (2, 3)
        for first, second in ((0.5, 0.8), (0.97, 0.9))
    ),
    *(
        Pairs(
            f"17 suites, {first:g} and {second:g}, {correlation:g}",
            PUBLISHED,
            (first,) * 17,
            (second,) * 17,
            correlation,
        )
        for first, second in ((0.5, 0.8), (0.97, 0.9), (0.97, 0.97), (0.99, 0.95))
        for correlation in (0.0, 0.8)
    ),
    Pairs("17 suites, .1 to .9 and .3 to .95, .5", PUBLISHED, _EVEN, _BETTER, 0.5),
    Pairs("17 suites, .1 to .9 and .3 to .95, .5, 3 predictions", PUBLISHED, _EVEN, _BETTER, 0.5, 3),
    Pairs("3 suites of 5, 6, 8, .9 and .95, .5", (5, 6, 8), (0.9,) * 3, (0.95,) * 3, 0.5),
)

NULLS = tuple(
    Null(
        f"{items}, {predictions}, {chance:g}{f', {c:g}' if predictions > 1 else ''}",
        items,
        predictions,
        chance,
        c,
    )
    for items in (24, 38)
    for chance in (0.25, 0.5)
    for predictions, c in ((1, 0.0), (2, 0.0), (2, 0.5), (2, 0.9), (4, 0.5))
)


def means(setup: Means, samples: int) -> tuple[Coverage, Coverage]:
    """Return the coverage of our interval, and of MOVER with Wilson's intervals (Zou and Donner 2008)."""
    rng = np.random.default_rng(SEED)
    weights = setup.weights or (1.0,) * len(setup.sizes)
    truth = float(np.average(setup.rates, weights=weights))
    ours, mover = [], []
    for _ in range(samples):
        shares = [
            shares_of(rng, n, (rate,), setup.predictions, setup.correlation)[0]
            for n, rate in zip(setup.sizes, setup.rates, strict=True)
        ]
        rates = [float(row.mean()) for row in shares]
        sizes = [effective_n(row, setup.predictions) for row in shares]
        estimate = weighted_mean(rates, sizes, weights)
        assert estimate is not None
        ours.append((estimate[1].low, estimate[1].high))
        mover.append(_mover(rates, sizes, weights))
    return coverage(ours, truth), coverage(mover, truth)


def differences(setup: Pairs, samples: int) -> tuple[Coverage, Coverage]:
    """Return the coverage of our interval, and of expanded percentiles of a bootstrap of the items'
    differences (Hesterberg 2015). The bootstrap interval has width 0 if no item differs.
    """
    rng = np.random.default_rng(SEED)
    truth = float(np.mean(setup.second) - np.mean(setup.first))
    ours, bootstrap = [], []
    for _ in range(samples):
        both = [
            shares_of(rng, n, rates, setup.predictions, 0.5, setup.correlation)
            for n, *rates in zip(setup.sizes, setup.first, setup.second, strict=True)
        ]
        first, second = [row[0] for row in both], [row[1] for row in both]
        estimate = paired_rates(first, second, [(setup.predictions, setup.predictions)] * len(both))
        assert estimate.low is not None
        assert estimate.high is not None
        ours.append((estimate.low, estimate.high))
        bootstrap.append(_bootstrap([b - a for a, b in zip(first, second, strict=True)], rng))
    return coverage(ours, truth), coverage(bootstrap, truth)


def errors_at_chance(setup: Null, samples: int) -> tuple[float, float]:
    """Return the percentages of samples whose exact p is below ALPHA, for the upper and the lower tail."""
    rng = np.random.default_rng(SEED)
    above = below = 0
    for _ in range(samples):
        [shares] = shares_of(rng, setup.items, (setup.chance,), setup.predictions, setup.correlation)
        rate, n = float(shares.mean()), effective_n(shares, setup.predictions)
        upper, lower = tail_above(rate, n, setup.chance), tail_above(1 - rate, n, 1 - setup.chance)
        assert upper is not None
        assert lower is not None
        above += upper < ALPHA
        below += lower < ALPHA
    return 100 * above / samples, 100 * below / samples


def shares_of(
    rng: np.random.Generator,
    items: int,
    rates: Sequence[float],
    predictions: int,
    correlation: float,
    between_models: float = 0.0,
) -> list[Floats]:
    """Return, for each model, the share of predictions that hold, by item. `correlation`: between the
    predictions of an item; `between_models`: between the models' variates for an item.
    """
    from scipy.stats import norm

    def variates(models: int, columns: int) -> Floats:
        return rng.normal(size=(models, items, columns))

    def of_both(columns: int) -> Floats:
        common = math.sqrt(between_models) * variates(1, columns)
        return common + math.sqrt(1 - between_models) * variates(len(rates), columns)

    within = correlation if predictions > 1 else 0.0
    variates_sum = math.sqrt(1 - within) * of_both(predictions)
    if within:
        variates_sum = variates_sum + math.sqrt(within) * of_both(1)
    held = variates_sum < norm.ppf(np.asarray(rates, dtype=np.float64))[:, None, None]
    return [np.asarray(row.mean(axis=1), dtype=np.float64) for row in held]


def coverage(limits: Sequence[tuple[float, float]], truth: float) -> Coverage:
    low, high = np.array(limits).T
    above, below = float((truth > high + 1e-9).mean()), float((truth < low - 1e-9).mean())
    return Coverage(100 * (1 - above - below), 100 * above, 100 * below)


def _mover(rates: Sequence[float], sizes: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    shares = np.asarray(weights) / sum(weights)
    limits = [score_interval(rate, n) for rate, n in zip(rates, sizes, strict=True)]
    low = np.array([interval.low for interval in limits if interval])
    high = np.array([interval.high for interval in limits if interval])
    mean = float((shares * rates).sum())
    below = math.sqrt(float(((shares * (rates - low)) ** 2).sum()))
    return mean - below, mean + math.sqrt(float(((shares * (high - rates)) ** 2).sum()))


def _bootstrap(
    strata: Sequence[Floats], rng: np.random.Generator, resamples: int = 400
) -> tuple[float, float]:
    from scipy.stats import norm, t

    mean = float(np.mean([values.mean() for values in strata]))
    means = np.full(resamples, mean)
    variances = []
    for values in strata:
        n = values.size
        if float(np.ptp(values)) > 0:
            drawn = values[rng.integers(0, n, (resamples, n))].mean(axis=1)
            means += math.sqrt(n / (n - 1)) * (drawn - values.mean()) / len(strata)
            variances.append((values.var(ddof=1) / n, n - 1))
    if not variances:
        return mean, mean
    degrees = sum(v for v, _ in variances) ** 2 / sum(v * v / d for v, d in variances)
    limits = percentile_interval(means, float(norm.cdf(t.ppf(0.025, degrees))))
    return limits.low, limits.high
