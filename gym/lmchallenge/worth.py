"""What candidates are worth: sums over the ways to spell them, computed together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gym.lmchallenge.alphabet import ALONE, SIGNS, WORD, Alphabet, Path, kind_of
from gym.lmchallenge.errors import PlayerError
from gym.lmchallenge.player import Reply
from gym.lmchallenge.spots import Spot, Window
from models_registry.engine.scores import ScoringFailure

if TYPE_CHECKING:
    from models_registry.engine.reader import Reader

LN2 = math.log(2)
NONE = -1
TOGETHER = 4096
"""Ways that are run in one call, of at least one context: what they share is then shared, and lists stay short."""


@dataclass(frozen=True)
class _Way:
    """Tokens after the prefix, and what the next token must be of: a kind that ends the candidate, bytes that it must
    begin with, or None for anything."""

    path: Path
    after: bytes | str | None


@dataclass
class _Sums:
    """Token sequences whose probabilities are to be added up, per sum. Those behind one prefix share it as a stem."""

    sequences: list[Path] = field(default_factory=list)
    stems: dict[Path, int] = field(default_factory=dict)
    stem_of: list[int] = field(default_factory=list)  # NONE: the prefix itself, which is not scored
    columns: list[int] = field(default_factory=list)  # vocabulary set after the last token, or NONE
    owner: list[int] = field(default_factory=list)
    sets: dict[bytes | str, int] = field(default_factory=lambda: {WORD: 0, SIGNS: 1})
    count: int = 0

    def add(self, prefix: Path, ways: Sequence[_Way]) -> int:
        """One more sum; its number."""
        stem = self.stems.setdefault(prefix, len(self.stems))
        for way in ways:
            self.sequences.append(way.path or prefix)
            self.stem_of.append(stem if way.path else NONE)
            column = NONE if way.after is None else self.sets.setdefault(way.after, len(self.sets))
            self.columns.append(column)
            self.owner.append(self.count)
        self.count += 1
        return self.count - 1


class Worth:
    """Log probabilities of candidates, by up to `paths` ways to spell each with the fewest tokens, the tokenizer's own
    always among them."""

    def __init__(self, alphabet: Alphabet, window: Window, paths: int) -> None:
        self._alphabet, self._window, self._paths = alphabet, window, paths

    def of(self, reader: Reader, tokenizer: Any, given: Sequence[tuple[Spot, Sequence[str]]]) -> list[Reply]:
        """One reply per context. A candidate that does not fit into the model's window is left out."""
        own = self._own_ways(tokenizer, given)
        replies: list[Reply] = []
        sums = _Sums()
        numbers: list[tuple[int, list[tuple[str, int]]]] = []
        for spot, words in given:
            numbers.append(self._planned(spot, words, own, sums))
            if len(sums.sequences) >= TOGETHER:
                replies += self._replies(reader, sums, numbers, given[len(replies) :])
                sums, numbers = _Sums(), []
        return replies + self._replies(reader, sums, numbers, given[len(replies) :])

    def _replies(
        self,
        reader: Reader,
        sums: _Sums,
        numbers: list[tuple[int, list[tuple[str, int]]]],
        given: Sequence[tuple[Spot, Sequence[str]]],
    ) -> list[Reply]:
        """Of the first contexts of `given`, as many as `numbers` has."""
        logs = self._added_up(reader, sums)
        replies: list[Reply] = []
        for (base, found), (spot, _) in zip(numbers, given, strict=False):
            below = float(logs[base]) if spot.rest else 0.0
            worths = [(word, float(logs[number]) - below) for word, number in found]
            replies.append([(word, min(0.0, worth)) for word, worth in worths if math.isfinite(worth)])
        return replies

    def _planned(
        self, spot: Spot, words: Sequence[str], own: dict[bytes, Path], sums: _Sums
    ) -> tuple[int, list[tuple[str, int]]]:
        """Add the sums of a context and its candidates; the number of the first, and of each candidate that fits."""
        base = [_Way(path, rest) for path, rest in self._alphabet.covers(spot.rest, self._paths)]
        length = _longest(base)
        ways = {}
        for word in words:
            found = self._ways(spot.rest + word.encode("utf-8", "replace"), kind_of(word), own)
            longest = max(length, _longest(found))
            if self._window.before(spot, longest) is not None:
                ways[word], length = found, longest
        prefix = self._window.before(spot, length)
        if prefix is None:
            return sums.add((), []), []
        return sums.add(prefix, base), [
            (word, sums.add(prefix, ways[word])) for word in words if word in ways
        ]

    def _ways(self, data: bytes, kind: str, own: dict[bytes, Path]) -> list[_Way]:
        """To spell a candidate so that it is over."""
        spelled = dict.fromkeys(self._alphabet.segmentations(data, self._paths))
        if data in own:
            spelled.setdefault(own[data])
        if kind == ALONE:
            return [_Way(path, None) for path in spelled]
        over = self._alphabet.overruns(data, kind, self._paths)
        return [_Way(path, kind) for path in spelled] + [_Way(path, None) for path in over]

    def _own_ways(self, tokenizer: Any, given: Sequence[tuple[Spot, Sequence[str]]]) -> dict[bytes, Path]:
        """The tokenizer's own spelling of what is left of each context with each candidate."""
        texts: dict[str, bytes] = {}
        for spot, words in given:
            for word in words:
                data = spot.rest + word.encode("utf-8", "replace")
                text = data.decode("utf-8", "replace")
                texts[text.removeprefix(" ") if self._alphabet.prefixed else text] = data
        if not texts:
            return {}
        batch = tokenizer(
            list(texts), add_special_tokens=False, padding=False, truncation=False, verbose=False
        )
        pieces = self._alphabet.pieces
        return {
            data: tuple(ids)
            for data, ids in zip(texts.values(), batch["input_ids"], strict=True)
            if b"".join(pieces[number] or b"" for number in ids) == data
        }

    def _added_up(self, reader: Reader, sums: _Sums) -> np.ndarray[Any, Any]:
        """Natural logarithm of each sum; -inf for an empty one."""
        import torch

        from models_registry.engine.budgets import default_budget
        from models_registry.engine.execute import compute

        totals = np.full(sums.count, -np.inf)
        if not sums.sequences:
            return totals
        weights = np.zeros((self._alphabet.size, len(sums.sets)), dtype=np.float32)
        for key, column in sums.sets.items():
            weights[:, column] = (
                self._alphabet.ending[key] if isinstance(key, str) else self._alphabet.beginning(key)
            )
        found = compute(
            reader,
            sums.sequences,
            budget=default_budget(reader.device, reader.vocabulary),
            needed=[
                [stem != NONE] * len(ids) for stem, ids in zip(sums.stem_of, sums.sequences, strict=True)
            ],
            rows=[
                [False] * (len(ids) - 1) + [column != NONE]
                for ids, column in zip(sums.sequences, sums.columns, strict=True)
            ],
            sets=torch.from_numpy(weights).to(reader.device),
            stems=list(sums.stems),
            stem_of=sums.stem_of,
        )
        bits = np.zeros(len(found))
        for at, (one, stem, column) in enumerate(zip(found, sums.stem_of, sums.columns, strict=True)):
            if isinstance(one, ScoringFailure):
                raise PlayerError(f"The model could not score a continuation: {one.reason}")
            if stem != NONE:
                bits[at] = sum(one.bits.tolist())
            if column != NONE:
                bits[at] += one.mass[-1, column]
        np.logaddexp.at(totals, sums.owner, -bits * LN2)
        return totals


def _longest(ways: Sequence[_Way]) -> int:
    return max((len(way.path) for way in ways), default=0)
