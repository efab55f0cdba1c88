"""Correlation of reading times with the surprisals of words before and after: spill-over, or shifted columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmgym.people.observations import Observations
from lmgym.people.predictors import Floats, Units
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
    """Correlate mean reading times with a predictor at each lag.

    A peak at lag 1 can be spill-over or times shifted by one word; a profile alone cannot tell.

    Args:
        values: float64[n_units], such as surprisals, or lengths where no model is at hand.
    """
    raise NotImplementedError
