"""Correlation of measured values with a predictor at neighbouring words: a look at times that may have been shifted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.words import words_of
from lmgym.people.observations import Observations
from lmgym.suites.formats.documents import SuiteDocument

LAGS = (-2, -1, 0, 1, 2)
_FEWEST = 3


@dataclass(frozen=True)
class Lag:
    """Pearson correlation of the value at word k with the predictor at word k + lag, over n pairs of words."""

    lag: int
    correlation: float
    n: int


def word_lengths(document: SuiteDocument) -> dict[tuple[int, str], list[float]]:
    """Return the number of characters of each word, without punctuation: a predictor that needs no model."""
    return {
        (sentence.item, sentence.condition): [
            float(sum(map(str.isalnum, word.text))) for word in words_of(sentence)
        ]
        for sentence in document.sentences
    }


def lag_profile(
    observations: Observations,
    predictor: Mapping[tuple[int, str], Sequence[float]],
    lags: Sequence[int] = LAGS,
) -> tuple[Lag, ...]:
    """Correlate mean values by word with a predictor at words -2 to +2 positions away.

    A peak at another lag than 0 can be spill-over (reading times react to the previous word: lag -1) or a shift of the
    times (lag 1: each time is written at the word before its own). This function cannot tell which; it shifts nothing.

    Args:
        observations: by word; observations of regions and sentences are ignored.
        predictor: (item, condition) to a value per word, NaN if unknown: a model's surprisals, or `word_lengths`.

    Returns:
        One entry per lag; the correlation is NaN with fewer than 3 pairs or without variance.
    """
    by_word = observations.take(observations.word > 0)
    conditions = len(observations.conditions)
    sentence = by_word.item.astype(np.int64) * conditions + by_word.condition
    keys, codes = np.unique(np.stack([sentence, by_word.word.astype(np.int64)]), axis=1, return_inverse=True)
    weights = by_word.n_participants.astype(np.float64)
    means = np.bincount(codes, by_word.value * weights) / np.bincount(codes, weights)
    return tuple(_correlate(lag, keys, means, predictor, observations.conditions) for lag in lags)


def _correlate(
    lag: int,
    keys: NDArray[np.int64],
    means: NDArray[np.float64],
    predictor: Mapping[tuple[int, str], Sequence[float]],
    conditions: tuple[str, ...],
) -> Lag:
    """Correlate mean values with the predictor at one lag."""
    values = np.full(len(means), math.nan)
    for place, (sentence, word) in enumerate(keys.T.tolist()):
        item, condition = divmod(sentence, len(conditions))
        words = predictor.get((item, conditions[condition]), ())
        if 0 <= word - 1 + lag < len(words):
            values[place] = words[word - 1 + lag]
    known = ~np.isnan(values)
    x, y = values[known], means[known]
    if len(x) < _FEWEST or not np.ptp(x) or not np.ptp(y):
        return Lag(lag, math.nan, len(x))
    return Lag(lag, float(np.corrcoef(x, y)[0, 1]), len(x))
