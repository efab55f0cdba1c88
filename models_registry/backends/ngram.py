"""N-gram models with interpolated modified Kneser-Ney smoothing (Chen & Goodman 1998). No torch, no Django.

A sentence is the words w1 ... wn between "<s>", which is given and never predicted, and "</s>". Counts of the
highest order are raw; counts of lower orders say how many different words were seen before ("continuation
counts"), except for n-grams that begin with "<s>", which nothing can precede: they keep raw counts. Every
order has its own discounts D1, D2, D3+, and the unigram distribution is interpolated with the uniform one:
every word of the vocabulary, "<unk>" included, has a probability after every context, and they add up to 1.

Words seen fewer than `min_count` times in training are not in the vocabulary: they are counted as "<unk>",
and so is every unknown word of a text to be scored. All unknown words share that one probability.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import platform
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from models_registry.backends import files
from models_registry.backends.base import BackendError, ModelFacts
from models_registry.engine.policy import ScoringPolicy
from models_registry.engine.scores import ScoringFailure, TokenScores

UNK, EOS, BOS = 0, 1, 2
SPECIALS = ("<unk>", "</s>", "<s>")
FILE_NAME = "model.ngram"
FORMAT, VERSION = "lm-gym-ngram", 1
MAX_ORDER = 8
MAX_VOCABULARY = 1_000_000
MAX_PAYLOAD = 512_000_000
MAX_HEADER = 64_000_000
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

# A word is letters, digits and underscores with their combining marks, and may hold apostrophes; every other
# visible sign stands alone.
_TOKEN = re.compile(r"\w[\w\u0300-\u036f]*(?:['’]\w[\w\u0300-\u036f]*)*|[^\w\s]")


class Word(NamedTuple):
    """A token of a text with its character range."""

    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Word]:
    """Words and signs in order, case kept. "Don't go." gives Don't, go and the full stop."""
    return [Word(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


class Grams(NamedTuple):
    """n-grams of one length, in lexicographic order without repetition, and how often each was seen."""

    rows: Ints  # (n, length)
    counts: Ints  # (n,)


@dataclass(frozen=True)
class Corpus:
    """What is stored of a training text: enough to rebuild every count.

    `top` are the n-grams of the highest order, `initial[k]` the shorter ones of length k that begin with
    "<s>".
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
    """Probabilities of words after words. Made by `train_ngram` or `load_model`; never changes."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.order = corpus.order
        self.words = corpus.words
        self._size = len(corpus.words)
        self._ids = {word: number for number, word in enumerate(corpus.words)}
        self._levels = _build_levels(corpus, self._size)

    @property
    def vocabulary_size(self) -> int:
        """Words that can be predicted: all but "<s>"."""
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
        """Vocabulary numbers; 0 for unknown words."""
        unknown = self._ids.get
        return [number if (number := unknown(word, UNK)) not in (EOS, BOS) else UNK for word in words]

    def probabilities(self, targets: Sequence[int], histories: Sequence[Sequence[int]]) -> Floats:
        """p(target | history) for each pair; a history is what stands before, with "<s>" where known."""
        if len(targets) != len(histories):
            raise ValueError("one history per target is needed")
        width = self.order - 1
        window = np.full((len(targets), max(width, 1)), -1, dtype=np.int64)
        for row, history in enumerate(histories):
            if width and history:
                recent = history[-width:]
                window[row, width - len(recent) : width] = recent
        wanted = np.asarray(targets, dtype=np.int64).reshape(-1)
        root = self._levels[0]
        share = root.backoffs[0] / self.vocabulary_size
        counts = root.counts[wanted]
        result: Floats = (counts - _discount(counts, root.discounts)) / root.totals[0] + share
        for length in range(2, self.order + 1):
            level = self._levels[length - 1]
            if not len(level.keys):
                break  # every sentence was shorter
            context = self._node(window[:, width - length + 1 : width])
            usable = context >= 0
            at = np.where(usable, context, 0)
            usable &= level.totals[at] > 0
            found = _find(level.keys, np.where(usable, at * self._size + wanted, -1))
            counts = np.zeros(len(found), dtype=np.int64)
            counts[found >= 0] = level.counts[found[found >= 0]]
            total = np.where(usable, level.totals[at], 1.0)
            mixed = (counts - _discount(counts, level.discounts)) / total + level.backoffs[at] * result
            result = np.where(usable, mixed, result)
        result[wanted == BOS] = 0.0
        return result

    def distribution(self, history: Sequence[int]) -> Floats:
        """p(w | history) for every vocabulary number; 0 for "<s>"."""
        return self.probabilities(range(self._size), [history] * self._size)

    def _node(self, rows: Ints) -> Ints:
        """The trie node of each row of words, or -1; a row with a -1 in it (no such history) has none."""
        node: Ints = rows[:, 0].copy()
        for column in range(1, rows.shape[1]):
            wanted = rows[:, column]
            alive = (node >= 0) & (wanted >= 0)
            node = _find(self._levels[column].keys, np.where(alive, node * self._size + wanted, -1))
        return node


def train_ngram(sentences: Iterable[str], order: int = 5, *, min_count: int = 2) -> NgramModel:
    """Count the n-grams of `sentences`. Words seen fewer than `min_count` times become "<unk>"."""
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"order is {order}: choose 1 to {MAX_ORDER}")
    lines = [line for line in ([word.text for word in tokenize(text)] for text in sentences) if line]
    if not lines:
        raise ValueError("there is nothing to train on")
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
    """Adjusted counts and backoff masses of every order, from the counts of the highest."""
    grams = {corpus.order: corpus.top}
    for length in range(corpus.order - 1, 0, -1):
        # Each n-gram of the next length is one different word before its tail.
        tails = _merge(grams[length + 1].rows[:, 1:])
        start = corpus.initial.get(length)
        grams[length] = tails if start is None else _union(tails, start)
    dense = np.zeros(size, dtype=np.int64)
    dense[grams[1].rows[:, 0]] = grams[1].counts
    if not dense.any():
        raise ValueError("it holds no words")
    levels = [_level(np.arange(size, dtype=np.int64), dense, 1, size)]
    for length in range(2, corpus.order + 1):
        rows, counts = grams[length]
        node: Ints = rows[:, 0]
        for column in range(1, length - 1):
            node = _find(levels[column].keys, node * size + rows[:, column])
            if bool(np.any(node < 0)):
                raise ValueError("an n-gram is there whose beginning is not")
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
    """D1, D2, D3+ from the counts of counts; fixed ones where these are too few to give useful values."""
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == c)) for c in (1, 2, 3, 4))
    if min(n1, n2, n3, n4) == 0:
        return FALLBACK_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    d1, d2, d3 = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    if not (0 < d1 <= 1 and 0 < d2 <= 2 and 0 < d3 <= 3):
        return FALLBACK_DISCOUNTS
    return d1, d2, d3


def _discount(counts: Ints, discounts: tuple[float, float, float]) -> Floats:
    """What is taken from each count."""
    return np.asarray((0.0, *discounts), dtype=np.float64)[np.minimum(counts, 3)]


def _find(keys: Ints, wanted: Ints) -> Ints:
    """Positions in sorted `keys`, -1 where a key is not there."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def _merge(rows: Ints) -> Grams:
    """Different rows in lexicographic order, with how often each occurs."""
    rows = rows[np.lexsort(rows.T[::-1])]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    starts = np.flatnonzero(fresh)
    return Grams(rows[starts], np.diff(np.append(starts, len(rows))).astype(np.int64))


def _union(a: Grams, b: Grams) -> Grams:
    """Two disjoint sets of n-grams in one order."""
    rows, counts = np.concatenate((a.rows, b.rows)), np.concatenate((a.counts, b.counts))
    order = np.lexsort(rows.T[::-1])
    return Grams(rows[order], counts[order])


# ---- files -------------------------------------------------------------------------------------------------


def dump_model(model: NgramModel) -> bytes:
    """gzip of one JSON line (version, order, vocabulary, sizes) and the counts as little-endian integers,
    column by column. The same model gives the same bytes."""
    corpus = model.corpus
    parts = [corpus.initial[length] for length in range(2, corpus.order)] + [corpus.top]
    largest = max((int(part.counts.max()) for part in parts if len(part.counts)), default=0)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "order": corpus.order,
        "min_count": corpus.min_count,
        "sentences": corpus.sentences,
        "tokens": corpus.tokens,
        "id_bytes": 2 if len(corpus.words) <= 0x10000 else 4,
        "count_bytes": 2 if largest <= 0xFFFF else 4,
        "sizes": [len(part.counts) for part in parts],
        "words": list(corpus.words[len(SPECIALS) :]),
    }
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as stream:
        stream.write(json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
        for part in parts:
            for column in part.rows.T:
                stream.write(column.astype(f"<u{header['id_bytes']}").tobytes())
            stream.write(part.counts.astype(f"<u{header['count_bytes']}").tobytes())
    return out.getvalue()


def save_model(model: NgramModel, path: Path) -> None:
    """Write `path`, a file; its folder must exist."""
    path.write_bytes(dump_model(model))


def load_model(path: Path) -> NgramModel:
    """Read what `save_model` wrote. The file is not trusted: sizes are limited before anything is allocated,
    and every number is checked. Raises BackendError."""
    try:
        with gzip.open(path, "rb") as stream:
            header = _read_header(stream.readline(MAX_HEADER))
            payload = stream.read(header.payload)
            if len(payload) < header.payload or stream.read(1):
                raise ValueError("its length is not what its header says")
        return NgramModel(_read_payload(header, payload))
    except (ValueError, TypeError, KeyError, EOFError, OSError, RecursionError, zlib.error) as error:
        raise BackendError(
            f"{path.name} is not an n-gram model that can be read: {error}.",
            "Write it again with models_registry.backends.ngram.save_model.",
        ) from error


class _Header(NamedTuple):
    order: int
    min_count: int
    sentences: int
    tokens: int
    id_bytes: int
    count_bytes: int
    sizes: tuple[int, ...]
    words: tuple[str, ...]
    payload: int


def _read_header(line: bytes) -> _Header:
    if not line.endswith(b"\n"):
        raise ValueError("it has no header line")
    data = json.loads(line)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError("it does not say that it is one")
    if data.get("version") != VERSION:
        raise ValueError(f"its version is {data.get('version')!r}, and {VERSION} is the one known here")
    order = _whole(data, "order", 1, MAX_ORDER)
    id_bytes, count_bytes = _whole(data, "id_bytes", 2, 4), _whole(data, "count_bytes", 2, 4)
    words, sizes = data["words"], data["sizes"]
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise ValueError("its vocabulary is not a list of words")
    if len(words) > MAX_VOCABULARY:
        raise ValueError(f"its vocabulary has more than {MAX_VOCABULARY:,} words")
    everything = (*SPECIALS, *words)
    if len(set(everything)) != len(everything):
        raise ValueError("a word stands twice in its vocabulary")
    if 3 in (id_bytes, count_bytes) or len(everything) > 1 << (8 * id_bytes):
        raise ValueError("its numbers have an odd width")
    lengths = [*range(2, order), order]
    if (
        not isinstance(sizes, list)
        or len(sizes) != len(lengths)
        or any(type(size) is not int or size < 0 for size in sizes)
    ):
        raise ValueError("its sizes do not fit its order")
    payload = sum(
        size * (length * id_bytes + count_bytes) for size, length in zip(sizes, lengths, strict=True)
    )
    if payload > MAX_PAYLOAD:
        raise ValueError(f"it holds more than {MAX_PAYLOAD:,} bytes")
    return _Header(
        order,
        _whole(data, "min_count", 1, 1_000_000),
        _whole(data, "sentences", 1, 10**12),
        _whole(data, "tokens", 1, 10**15),
        id_bytes,
        count_bytes,
        tuple(sizes),
        everything,
        payload,
    )


def _whole(data: dict[str, Any], name: str, least: int, most: int) -> int:
    value = data.get(name)
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"its {name} is {value!r}, not a whole number from {least} to {most}")
    return value


def _read_payload(header: _Header, payload: bytes) -> Corpus:
    at = 0
    parts: list[Grams] = []
    for size, length in zip(header.sizes, [*range(2, header.order), header.order], strict=True):
        rows = np.empty((size, length), dtype=np.int64)
        for column in range(length):
            rows[:, column] = np.frombuffer(payload, f"<u{header.id_bytes}", size, at)
            at += size * header.id_bytes
        counts = np.frombuffer(payload, f"<u{header.count_bytes}", size, at).astype(np.int64)
        at += size * header.count_bytes
        _check_grams(
            rows, counts, len(header.words), initial=length < header.order, unigrams=header.order == 1
        )
        parts.append(Grams(rows, counts))
    return Corpus(
        order=header.order,
        words=header.words,
        top=parts[-1],
        initial=dict(enumerate(parts[:-1], 2)),
        sentences=header.sentences,
        tokens=header.tokens,
        min_count=header.min_count,
    )


def _check_grams(rows: Ints, counts: Ints, size: int, *, initial: bool, unigrams: bool) -> None:
    """n-grams that could have been counted, each once, in order."""
    if bool(np.any(rows >= size)) or bool(np.any(counts < 1)):
        raise ValueError("a number in it is out of range")
    first = rows[:, 0] == BOS
    if (initial and not bool(np.all(first))) or (unigrams and bool(np.any(first))):
        raise ValueError("an n-gram in it does not begin as it should")
    if bool(np.any(rows[:, 1:] == BOS)) or bool(np.any(rows[:, :-1] == EOS)):
        raise ValueError("a sentence begins or ends inside one of its n-grams")
    step = np.zeros(max(len(rows) - 1, 0), dtype=np.int64)
    for column in range(rows.shape[1]):
        step = np.where(step == 0, np.sign(rows[1:, column] - rows[:-1, column]), step)
    if bool(np.any(step <= 0)):
        raise ValueError("its n-grams are not in order")


# ---- backend -----------------------------------------------------------------------------------------------


class NgramBackend:
    """Scores words and signs. Unknown words show as "<unk>" with the id 0; offsets lead to their spelling."""

    def __init__(self, model: NgramModel, *, fingerprint: str) -> None:
        self.model = model
        corpus = model.corpus
        self.facts = ModelFacts(
            parameters=model.parameters,
            vocabulary_size=model.vocabulary_size,
            tokenizer="words and signs by regular expression, case kept",
            context_length=None,
            bos=SPECIALS[BOS],
            eos=SPECIALS[EOS],
            dtype="float64",
            device="cpu",
            revision="",
            fingerprint=fingerprint,
            versions={"python": platform.python_version(), "numpy": np.__version__},
            architecture=f"{model.order}-gram, interpolated modified Kneser-Ney",
            notes=(
                f"Sees the last {model.order - 1} words and nothing else.",
                f"Trained on {corpus.sentences:,} sentences ({corpus.tokens:,} words and signs); parameters "
                "are stored n-grams.",
                f"Words seen fewer than {corpus.min_count} times in training are unknown; all unknown words "
                f"share one probability, that of {SPECIALS[UNK]}.",
            ),
        )

    def score(self, texts: Sequence[str], policy: ScoringPolicy) -> list[TokenScores | ScoringFailure]:
        """One TokenScores per text; never fails. Without a start token the first word has no value: what
        begins a sentence is part of this model's context."""
        return [self._score(text, policy) for text in texts]

    def _score(self, text: str, policy: ScoringPolicy) -> TokenScores:
        words = tokenize(text)
        ids = self.model.ids(word.text for word in words)
        offsets = [(word.start, word.end) for word in words]
        special = [False] * len(ids)
        if policy.bos != "never":
            ids, offsets, special = [BOS, *ids], [(0, 0), *offsets], [True, *special]
        if policy.eos:
            ids, offsets, special = [*ids, EOS], [*offsets, (len(text), len(text))], [*special, True]
        reach = self.model.order - 1
        places = range(1, len(ids))
        chances = self.model.probabilities(
            [ids[at] for at in places], [ids[max(0, at - reach) : at] for at in places]
        )
        # math.log2 one by one: the same word after the same words gets the same bits in any batch.
        bits: list[float | None] = [None, *(-math.log2(chance) for chance in chances.tolist())] if ids else []
        return TokenScores([self.model.words[number] for number in ids], ids, offsets, bits, special)


def load(config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> NgramBackend:
    """Build from {"path"}: a file inside the model directory, or a folder with a file `model.ngram`. Needs no
    network. Raises BackendError."""
    path = files.inside(model_dir, config["path"])
    if path.is_dir():
        path = files.inside(model_dir, f"{config['path'].rstrip('/')}/{FILE_NAME}")
    with path.open("rb") as stream:
        fingerprint = hashlib.file_digest(stream, "sha256").hexdigest()
    return NgramBackend(load_model(path), fingerprint=fingerprint)
