"""N-gram models with interpolated modified Kneser-Ney smoothing (Chen & Goodman 1998).

A sentence consists of the words w1 ... wn between "<s>", which is never predicted, and "</s>". Counts of the highest
order are raw; those of lower orders are continuation counts (the number of different preceding words), except for
n-grams that begin with "<s>", which have no predecessor and keep raw counts. Each order has its own discounts D1, D2,
D3+, and the unigram distribution is interpolated with the uniform one. Every word of the vocabulary, including "<unk>",
therefore has a probability after every context, and these add up to 1.

Words seen fewer than `min_count` times in training are not in the vocabulary and count as "<unk>", as do unknown words
of a scored text. All unknown words share the probability of "<unk>".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

UNK, EOS, BOS = 0, 1, 2
SPECIALS = ("<unk>", "</s>", "<s>")
MAX_ORDER = 8
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

# A word is letters, digits and underscores with their combining marks and inner apostrophes; any other visible
# character is a token.
_TOKEN = re.compile(r"\w[\w\u0300-\u036f]*(?:['’]\w[\w\u0300-\u036f]*)*|[^\w\s]")


class Word(NamedTuple):
    """A token of a text with its character range."""

    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Word]:
    """Split text into words and punctuation, with case: "Don't go." gives Don't, go and the full stop."""
    return [Word(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


class Grams(NamedTuple):
    """Distinct n-grams of one length in lexicographic order, with their counts."""

    rows: Ints  # (n, length)
    counts: Ints  # (n,)


@dataclass(frozen=True)
class Corpus:
    """Counts of a training text, from which all other counts are computed.

    Attributes:
        top: n-grams of the highest order.
        initial: shorter n-grams that begin with "<s>", by length.
    """

    order: int
    words: tuple[str, ...]
    top: Grams
    initial: dict[int, Grams]
    sentences: int
    tokens: int
    min_count: int


@dataclass(frozen=True)
class _Level:
    """All n-grams of one length as a level of a trie: node = position, key = parent node * V + last word."""

    keys: Ints
    counts: Ints  # adjusted counts
    discounts: tuple[float, float, float]
    totals: Floats = field(repr=False)  # per parent node
    backoffs: Floats = field(repr=False)  # per parent node: the mass left for shorter contexts


class NgramModel:
    """Conditional probabilities of words. Created by `train_ngram` or `load_model`; immutable."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.order = corpus.order
        self.words = corpus.words
        self._size = len(corpus.words)
        self._ids = {word: number for number, word in enumerate(corpus.words)}
        self._levels = _build_levels(corpus, self._size)

    @property
    def vocabulary_size(self) -> int:
        """Number of words that can be predicted: all except "<s>"."""
        return self._size - 1

    @property
    def parameters(self) -> int:
        """Number of stored n-grams of all lengths."""
        return sum(int(np.count_nonzero(level.counts)) for level in self._levels)

    @property
    def discounts(self) -> list[tuple[float, float, float]]:
        """D1, D2, D3+ for each n-gram length, shortest first."""
        return [level.discounts for level in self._levels]

    def ids(self, words: Iterable[str]) -> list[int]:
        """Return vocabulary ids; 0 for unknown words."""
        get = self._ids.get
        return [number if (number := get(word, UNK)) not in (EOS, BOS) else UNK for word in words]

    def probabilities(self, targets: Sequence[int], histories: Sequence[Sequence[int]]) -> Floats:
        """Compute p(target | history) for each pair. A history is the ids of the preceding words, with "<s>" if known.

        Raises ValueError if the numbers of targets and histories differ.
        """
        if len(targets) != len(histories):
            raise ValueError(f"{len(targets)} targets but {len(histories)} histories")
        width = self.order - 1
        window = np.full((len(targets), max(width, 1)), -1, dtype=np.int64)
        for row, history in enumerate(histories):
            if width and history:
                recent = history[-width:]
                window[row, width - len(recent) : width] = recent
        target_ids = np.asarray(targets, dtype=np.int64).reshape(-1)
        root = self._levels[0]
        share = root.backoffs[0] / self.vocabulary_size
        counts = root.counts[target_ids]
        result: Floats = (counts - _discount(counts, root.discounts)) / root.totals[0] + share
        for length in range(2, self.order + 1):
            level = self._levels[length - 1]
            if not len(level.keys):
                break  # every sentence was shorter
            context = self._node(window[:, width - length + 1 : width])
            usable = context >= 0
            at = np.where(usable, context, 0)
            usable &= level.totals[at] > 0
            position = _find(level.keys, np.where(usable, at * self._size + target_ids, -1))
            counts = np.zeros(len(position), dtype=np.int64)
            counts[position >= 0] = level.counts[position[position >= 0]]
            total = np.where(usable, level.totals[at], 1.0)
            mixed = (counts - _discount(counts, level.discounts)) / total + level.backoffs[at] * result
            result = np.where(usable, mixed, result)
        result[target_ids == BOS] = 0.0
        return result

    def distribution(self, history: Sequence[int]) -> Floats:
        """Compute p(w | history) for every vocabulary id; 0 for "<s>"."""
        return self.probabilities(range(self._size), [history] * self._size)

    def _node(self, rows: Ints) -> Ints:
        """Return the trie node of each row of words; -1 if it has no node or contains -1 (a shorter history)."""
        node: Ints = rows[:, 0].copy()
        for column in range(1, rows.shape[1]):
            words = rows[:, column]
            alive = (node >= 0) & (words >= 0)
            node = _find(self._levels[column].keys, np.where(alive, node * self._size + words, -1))
        return node


def train_ngram(sentences: Iterable[str], order: int = 5, *, min_count: int = 2) -> NgramModel:
    """Train a model.

    Args:
        sentences: training texts, one sentence each.
        order: length of the longest n-grams, up to MAX_ORDER.
        min_count: words seen fewer times count as "<unk>".

    Raises:
        ValueError: an invalid order, or no words.
    """
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"the order must be from 1 to {MAX_ORDER}, not {order}")
    lines = [line for line in ([word.text for word in tokenize(text)] for text in sentences) if line]
    if not lines:
        raise ValueError("the training text has no words")
    seen = Counter(word for line in lines for word in line)
    words = (*SPECIALS, *sorted(word for word, count in seen.items() if count >= min_count))
    numbers = {word: number for number, word in enumerate(words)}
    top: Counter[tuple[int, ...]] = Counter()
    initial: dict[int, Counter[tuple[int, ...]]] = {length: Counter() for length in range(2, order)}
    for line in lines:
        ids = (BOS, *(numbers.get(word, UNK) for word in line), EOS)
        for start in range(1 if order == 1 else 0, len(ids) - order + 1):
            top[ids[start : start + order]] += 1
        for length, counter in initial.items():
            if length <= len(ids):
                counter[ids[:length]] += 1
    return NgramModel(
        Corpus(
            order=order,
            words=words,
            top=_sorted_grams(top, order),
            initial={length: _sorted_grams(counter, length) for length, counter in initial.items()},
            sentences=len(lines),
            tokens=sum(seen.values()),
            min_count=min_count,
        )
    )


def _sorted_grams(counter: Counter[tuple[int, ...]], length: int) -> Grams:
    pairs = sorted(counter.items())
    rows = np.array([row for row, _ in pairs], dtype=np.int64).reshape(len(pairs), length)
    return Grams(rows, np.array([count for _, count in pairs], dtype=np.int64))


# ---- smoothing ---------------------------------------------------------------------------------------------


def _build_levels(corpus: Corpus, size: int) -> list[_Level]:
    """Compute adjusted counts and backoff masses of every order from the counts of the highest."""
    grams = {corpus.order: corpus.top}
    for length in range(corpus.order - 1, 0, -1):
        # Each n-gram of the next length adds one distinct predecessor to its last words.
        tails = _merge(grams[length + 1].rows[:, 1:])
        start = corpus.initial.get(length)
        grams[length] = tails if start is None else _union(tails, start)
    dense = np.zeros(size, dtype=np.int64)
    dense[grams[1].rows[:, 0]] = grams[1].counts
    if not dense.any():
        raise ValueError("it has no words")
    levels = [_level(np.arange(size, dtype=np.int64), dense, 1, size)]
    for length in range(2, corpus.order + 1):
        rows, counts = grams[length]
        node: Ints = rows[:, 0]
        for column in range(1, length - 1):
            node = _find(levels[column].keys, node * size + rows[:, column])
            if bool(np.any(node < 0)):
                raise ValueError("the prefix of an n-gram is missing")
        levels.append(_level(node * size + rows[:, -1], counts, len(levels[-1].keys), size))
    return levels


def _level(keys: Ints, counts: Ints, parents: int, size: int) -> _Level:
    discounts = _discounts(counts)
    parent = keys // size
    totals = np.bincount(parent, weights=counts, minlength=parents).astype(np.float64)
    taken = _discount(counts, discounts)
    removed = np.bincount(parent, weights=taken, minlength=parents).astype(np.float64)
    backoffs = np.divide(removed, totals, out=np.ones_like(removed), where=totals > 0)
    return _Level(keys, counts, discounts, totals, backoffs)


def _discounts(counts: Ints) -> tuple[float, float, float]:
    """Estimate D1, D2, D3+ from counts of counts; fixed values if these are too small."""
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == c)) for c in (1, 2, 3, 4))
    if min(n1, n2, n3, n4) == 0:
        return FALLBACK_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    d1, d2, d3 = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    if not (0 < d1 <= 1 and 0 < d2 <= 2 and 0 < d3 <= 3):
        return FALLBACK_DISCOUNTS
    return d1, d2, d3


def _discount(counts: Ints, discounts: tuple[float, float, float]) -> Floats:
    return np.asarray((0.0, *discounts), dtype=np.float64)[np.minimum(counts, 3)]


def _find(keys: Ints, targets: Ints) -> Ints:
    """Return positions in sorted `keys`; -1 = missing."""
    if not len(keys):
        return np.full(len(targets), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, targets), len(keys) - 1)
    return np.where(keys[at] == targets, at, -1)


def _merge(rows: Ints) -> Grams:
    """Return distinct rows in lexicographic order with their counts."""
    rows = rows[np.lexsort(rows.T[::-1])]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    starts = np.flatnonzero(fresh)
    return Grams(rows[starts], np.diff(np.append(starts, len(rows))).astype(np.int64))


def _union(a: Grams, b: Grams) -> Grams:
    """Merge two disjoint sets of n-grams in lexicographic order."""
    rows, counts = np.concatenate((a.rows, b.rows)), np.concatenate((a.counts, b.counts))
    order = np.lexsort(rows.T[::-1])
    return Grams(rows[order], counts[order])
