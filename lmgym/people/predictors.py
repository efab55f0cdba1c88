"""Predictors of reading times: surprisal, length and frequency of the words or regions of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lmgym.people.observations import Observations
from lmgym.suites.formats import SuiteDocument

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Level = Literal["word", "region", "sentence"]


class ScoredSentence(Protocol):
    """What is read of a scored sentence: a `SentenceResult` or its database row."""

    item: int
    condition: str
    text: str
    tokens: Sequence[Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Units:
    """The words, non-empty regions or sentences of a suite, in its order, as columns.

    Attributes:
        starts: int64[sentences + 1]; units of sentence s are `starts[s]` to `starts[s + 1] - 1`.
        sentence: int64[n], index into `document.sentences`.
        region: int64[n], from 1; 0 for sentences.
        word: int64[n], number of the first word in its sentence, from 1.
        words: int64[n], number of words.
        text: the words, joined by a space.
        length: int64[n], characters without spaces.
        log_frequency: float64[n], Zipf frequencies summed over words; None if there are none of the language.
    """

    level: Level
    starts: Ints
    sentence: Ints
    region: Ints
    word: Ints
    words: Ints
    text: tuple[str, ...]
    length: Ints
    log_frequency: Floats | None

    def before(self, values: Floats, distance: int) -> Floats:
        """Return the value of the unit `distance` units before each in its sentence; NaN if there is none. A negative
        distance looks ahead."""
        raise NotImplementedError


def level_of(observations: Observations) -> Level:
    """Return what the observations are of. Raises ValueError if they are mixed, or there are none."""
    raise NotImplementedError


def units_of(document: SuiteDocument, level: Level, language: str | None = None) -> Units:
    """List the units of a suite with their predictors that need no model.

    Words are separated by whitespace, as in `SentenceDoc.text`. A region's predictors are sums over its words, because
    its reading time is.

    Args:
        language: BCP 47 tag for frequencies; None = that of the suite's meta block; "" = none.
    """
    raise NotImplementedError


def unit_of(observations: Observations, document: SuiteDocument, units: Units) -> Ints:
    """Return the index of the unit of each observation; -1 if the suite has no such unit."""
    raise NotImplementedError


def unit_surprisals(document: SuiteDocument, units: Units, sentences: Iterable[ScoredSentence]) -> Floats:
    """Sum the bits of tokens by unit: a token belongs to the unit of its first character that is not blank.

    Special tokens belong to no unit, as in regions. NaN: the sentence or a token of the unit was not scored, or the
    unit has no token of its own.

    Args:
        sentences: of one run on the suite, in any order.

    Returns:
        float64[n_units], in bits.

    Raises:
        ValueError: the text of a sentence is not the suite's.
    """
    raise NotImplementedError
