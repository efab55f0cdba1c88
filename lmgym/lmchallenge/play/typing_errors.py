"""Typing errors of `ic`: corrupt words, score candidates, find the nearest words.

Each character is replaced, with probability p, by one drawn from `error_chars` (possibly itself). The random stream
is Python's Mersenne Twister from one seed over the whole corpus, one `random()` per character and one `choice` per
error, so the order of the lines matters.
"""

from __future__ import annotations

import math
import operator
import string
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmgym.lmchallenge.errors import OptionError

if TYPE_CHECKING:
    import random

    import numpy as np
    from numpy.typing import NDArray

ERROR_CHARS = string.ascii_letters + "_-#@"
P_ANYKEY = 0.1
SEED = 42
CANDIDATES = 100


@dataclass(frozen=True)
class ErrorModel:
    """An error probability in (0, 1) and its characters; with 0 or 1 a score would be the logarithm of 0."""

    p: float = P_ANYKEY
    chars: str = ERROR_CHARS

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise OptionError(f"The error probability is {self.p}.", "It must be above 0 and below 1.")
        if not self.chars:
            raise OptionError("There are no error characters.", "Give at least one.")

    def corrupt(self, word: str, rand: random.Random) -> str:
        """Return the word as typed, with the same number of code points."""
        return "".join(rand.choice(self.chars) if rand.random() < self.p else char for char in word)

    def score(self, matches: int, length: int) -> float:
        """Return the natural logarithm of the probability of this typing, up to which wrong characters were drawn."""
        return matches * math.log(1 - self.p) + (length - matches) * math.log(self.p)


def matches(a: str, b: str) -> int:
    """Count the positions where both have the same character."""
    return sum(map(operator.eq, a, b))


class Vocabulary:
    """Words of equal length in arrays, so that the nearest ones are found in one pass.

    Words keep the order of the file, the first of equal ones counts. Ties are broken by that order. (The reference
    keeps its words in a set, so its ties depend on the hash seed of the process.)
    """

    def __init__(self, words: Iterable[str]) -> None:
        by_length: dict[int, list[str]] = {}
        for word in dict.fromkeys(words):
            by_length.setdefault(len(word), []).append(word)
        self._words = by_length
        self._codes: dict[int, NDArray[np.uint32]] = {}

    def nearest(self, typed: str, n: int) -> list[str]:
        """Return the n words of the same length that share most characters with `typed`, best first."""
        import numpy as np  # slow to import, and only this game needs it

        words = self._words.get(len(typed))
        if not words or n < 1:
            return []
        codes = self._codes.get(len(typed))
        if codes is None:
            codes = np.array([list(map(ord, word)) for word in words], dtype=np.uint32)
            codes = self._codes[len(typed)] = codes.reshape(len(words), len(typed))
        same = (codes == np.array(list(map(ord, typed)), dtype=np.uint32)).sum(axis=1)
        return [words[at] for at in np.argsort(-same, kind="stable")[:n]]


def candidates(vocabulary: Vocabulary, typed: str, target: str, n: int) -> list[str]:
    """Return the nearest words, then the typed word, then the intended one, each once.

    Room for the last two is made by dropping as many from the end of the nearest ones as are not among them. If that
    drops one of the two themselves, there is one candidate more than n (the reference's behaviour).
    """
    found = vocabulary.nearest(typed, n)
    room = n - (target not in found) - (typed not in found)
    return list(dict.fromkeys([*found[:room], typed, target]))


def rng(seed: int) -> random.Random:
    """Return a random generator with this seed; 0 picks a random seed."""
    import random  # imported only to play

    return seeded(seed) if seed else random.Random()  # noqa: S311 - a game, not a secret


def seeded(seed: int) -> random.Random:
    """Return a random generator with this seed; 0 is an ordinary seed."""
    import random

    return random.Random(seed)  # noqa: S311 - a game, not a secret
