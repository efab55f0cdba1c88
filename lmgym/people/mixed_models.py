"""Linear mixed models with crossed random intercepts, fitted by the profiled likelihood of lme4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class NotFittable(ValueError):
    """The data do not determine the model; the message says why."""


@dataclass(frozen=True, eq=False)
class MixedFit:
    """A fitted mixed model y = X b + sum of random intercepts + residual.

    Attributes:
        coefficients: float64[p], one per column of X.
        covariance: float64[p, p], of the coefficients.
        residual_sd: standard deviation of the residuals (of an observation of weight 1).
        group_sd: standard deviation of the intercepts of each grouping; 0 if the estimate is at the boundary.
        intercepts: predicted intercepts (BLUPs) of each grouping, by level.
        log_likelihood: restricted if `reml`, in nats.
        n: observations.
    """

    coefficients: Floats
    covariance: Floats
    residual_sd: float
    group_sd: tuple[float, ...]
    intercepts: tuple[Floats, ...]
    log_likelihood: float
    n: int
    reml: bool

    @property
    def standard_errors(self) -> Floats:
        raise NotImplementedError


def fit(
    y: Floats, x: Floats, groupings: Sequence[Ints], *, weights: Floats | None = None, reml: bool = True
) -> MixedFit:
    """Fit a linear mixed model with one random intercept per level of each grouping.

    Args:
        y: float64[n].
        x: float64[n, p], with its column of ones.
        groupings: int[n] each, level of every observation from 0; one or two groupings.
        weights: float64[n], such as the number of observations that a mean is of; None = 1.
        reml: restricted likelihood, for estimates; False = ML, to compare models with different columns of x.

    Raises:
        NotFittable: fewer observations than coefficients, columns that depend on each other, a grouping with one
            level or one level per observation, or no residual variance.
    """
    raise NotImplementedError
