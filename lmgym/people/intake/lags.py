"""Correlation of measured values with a predictor at neighbouring words: a look at times that may have been shifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmgym.people.observations import Observations

LAGS = (-2, -1, 0, 1, 2)


@dataclass(frozen=True)
class Lag:
    """Pearson correlation of the value at word k with the predictor at word k + lag, over n pairs of words."""

    lag: int
    correlation: float
    n: int


def lag_profile(
    observations: Observations,
    predictor: Mapping[tuple[int, str], Sequence[float]],
    lags: Sequence[int] = LAGS,
) -> tuple[Lag, ...]:
    """Correlate mean values by word with a predictor at words -2 to +2 positions away.

    A peak at another lag than 0 can be spill-over (reading times react to the previous word, lag -1) or a shift of the
    times. This function cannot tell which; it shifts nothing.

    Args:
        observations: by word; observations of regions and sentences are ignored.
        predictor: (item, condition) to a value per word, NaN if unknown: a model's surprisals, or `word_lengths`.

    Returns:
        One entry per lag; the correlation is NaN with fewer than 3 pairs or without variance.
    """
    raise NotImplementedError
