"""Correlation of reading times with the words before and after: spill-over, or shifted columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmgym.people.observations import Observations
from lmgym.people.predictors import Floats, Units, unit_of
from lmgym.stats import pearson
from lmgym.suites.formats import SuiteDocument

LAGS = (-2, -1, 0, 1, 2)


@dataclass(frozen=True)
class LagCorrelation:
    """Correlation over `n` words of mean reading times with the values `lag` words before; None if undefined."""

    lag: int
    n: int
    pearson: float | None


def lag_profile(
    observations: Observations,
    document: SuiteDocument,
    units: Units,
    values: Floats,
    lags: Sequence[int] = LAGS,
) -> list[LagCorrelation]:
    """Correlate mean reading times with a predictor at each lag, over the words that have a value at all lags.

    The highest correlation is at lag 1 if reading spills over to the next word, and also if every time is in the row of
    the next word; a profile cannot tell these apart.

    Args:
        values: float64[units], such as surprisals, or lengths where no model is at hand.
    """
    unit = unit_of(observations, document, units)
    kept = unit >= 0
    weights = observations.n_participants[kept]
    n = np.bincount(unit[kept], weights, minlength=len(units))
    with np.errstate(invalid="ignore"):
        times = np.bincount(unit[kept], weights * observations.value[kept], minlength=len(units)) / n
    shifted = {lag: units.before(values, lag) for lag in lags}
    complete = np.isfinite(sum(shifted.values(), times))
    found = {lag: pearson(times[complete], column[complete]) for lag, column in shifted.items()}
    return [LagCorrelation(lag, one.n, one.value) for lag, one in found.items()]
