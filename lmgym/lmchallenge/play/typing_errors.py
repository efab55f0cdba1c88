"""Typing errors of `ic`: corrupt words, score candidates, find the nearest words.

Each character is replaced, with probability p, by a character drawn from `error_chars` (possibly the same). The random
stream is Python's Mersenne Twister with one seed for the whole corpus, one `random()` per character and one `choice`
per error, so the order of the lines matters.
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
    """Error probability p and error characters. p is in (0, 1) because scores use log p and log(1 - p)."""

    p: float = P_ANYKEY
    chars: str = ERROR_CHARS

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise OptionError(f"The error probability is {self.p}.", "It must be above 0 and below 1.")
        if not self.chars:
            raise OptionError("There are no error characters.", "Pass at least one.")

    def corrupt(self, word: str, rand: random.Random) -> str:
        """Return the word as typed, with the same number of code points."""
        return "".join(rand.choice(self.chars) if rand.random() < self.p else char for char in word)

    def score(self, matches: int, length: int) -> float:
        """Return the natural log probability of the typed word, ignoring which error characters were drawn."""
        return matches * math.log(1 - self.p) + (length - matches) * math.log(self.p)


def matches(a: str, b: str) -> int:
    """Count the positions where both words have the same character."""
    return sum(map(operator.eq, a, b))


class Vocabulary:
    """Words grouped by length into arrays, so that the nearest words are found in one pass.

    Words keep the order of the file, without duplicates. Ties are broken by that order. (The reference keeps its words
    in a set, so its ties depend on the hash seed of the process.)
    """

    def __init__(self, words: Iterable[str]) -> None:
        by_length: dict[int, list[str]] = {}
        for word in dict.fromkeys(words):
            by_length.setdefault(len(word), []).append(word)
        self._words = by_length
        self._codes: dict[int, NDArray[np.uint32]] = {}

    def nearest(self, typed: str, n: int) -> list[str]:
        """Return up to n words of the same length, those that share the most characters with `typed`, best first."""
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
    """Return the nearest words, then the typed word, then the intended word, without duplicates.

    To make room for the last two, nearest words are dropped from the end: one for each of the two that is not among
    them. If that drops one of the two, there is one more candidate than n (the reference's behaviour).
    """
    words = vocabulary.nearest(typed, n)
    room = n - (target not in words) - (typed not in words)
    return list(dict.fromkeys([*words[:room], typed, target]))


def rng(seed: int) -> random.Random:
    """Return a random generator with this seed; 0 picks a random seed."""
    import random  # only needed to play

    return seeded(seed) if seed else random.Random()  # noqa: S311 - a game, not a secret


def seeded(seed: int) -> random.Random:
    """Return a random generator with this seed; 0 is an ordinary seed."""
    import random

    return random.Random(seed)  # noqa: S311 - a game, not a secret
