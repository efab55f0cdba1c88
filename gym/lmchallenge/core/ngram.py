"""An n-gram model of the site as a player.

Its words are not quite the tokens of the games, so a candidate is split by the model's own tokenizer, together
with the word that the context ends in, if it ends in one: p(rest of the word) = p(word) / p(words that begin so).
Candidates with a word that the model does not know are left out. Scores are natural logarithms.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gym.lmchallenge.core.errors import OptionError
from gym.lmchallenge.core.player import Reply, Request
from models_registry.backends.ngram import NgramBackend
from models_registry.backends.ngram_model import BOS, EOS, SPECIALS, UNK, Floats, tokenize


class NgramPlayer:
    """predictions: most that are offered. together: lines played side by side, which changes no number here."""

    def __init__(self, backend: NgramBackend, *, predictions: int = 20, together: int = 32) -> None:
        for name, value in (("predictions", predictions), ("together", together)):
            if not isinstance(value, int) or value < 1:
                raise OptionError(f"{name} is {value!r}.", "It must be a whole number above 0.")
        self.together = together
        self.model, self.predictions = backend.model, predictions
        words = self.model.words
        self._sorted = sorted(
            (word, number) for number, word in enumerate(words) if number not in (UNK, BOS, EOS)
        )
        self._keys = [word for word, _ in self._sorted]
        self._distribution = lru_cache(maxsize=512)(self._logs)

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Distributions are remembered by the words that the model can see."""
        return [
            self._free(context) if candidates is None else self._worth(context, candidates)
            for context, candidates in requests
        ]

    def train(self, text: str) -> None:
        """Nothing is learnt."""

    def clear(self) -> None:
        """Nothing was learnt."""

    def check(self, now: bool = False) -> bool:
        """Nothing can be amiss."""
        return False

    def close(self) -> None:
        """Nothing to end."""

    def _logs(self, history: tuple[int, ...]) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.model.distribution(history)), dtype=np.float64)

    def _split(self, context: str) -> tuple[tuple[int, ...], str]:
        """What the model sees, and the word that the context ends in ("" if it ends between two)."""
        words = tokenize(context)
        begun = words.pop().text if words and words[-1].end == len(context) else ""
        return self._seen([BOS, *self.model.ids(word.text for word in words)]), begun

    def _seen(self, ids: Sequence[int]) -> tuple[int, ...]:
        width = self.model.order - 1
        return tuple(ids[-width:]) if width else ()

    def _starting(self, begun: str) -> list[int]:
        at, found = bisect_left(self._keys, begun), []
        while at < len(self._keys) and self._keys[at].startswith(begun):
            found.append(self._sorted[at][1])
            at += 1
        return found

    def _begun(self, history: tuple[int, ...], begun: str) -> float:
        """Log of the probability of all words that begin so; unknown words may."""
        logs = self._distribution(history)
        return float(np.logaddexp.reduce([logs[number] for number in (*self._starting(begun), UNK)]))

    def _worth(self, context: str, candidates: Sequence[str]) -> Reply:
        history, begun = self._split(context)
        base = self._begun(history, begun) if begun else 0.0
        reply: Reply = []
        for candidate in candidates:
            ids = self.model.ids(word.text for word in tokenize(begun + candidate))
            if not ids or UNK in ids:
                continue
            seen, score = list(history), -base
            for number in ids:
                score += float(self._distribution(self._seen(seen))[number])
                seen.append(number)
            reply.append((candidate, min(score, 0.0)))
        return reply

    def _free(self, context: str) -> Reply:
        history, begun = self._split(context)
        logs = self._distribution(history)
        if not begun:
            return self._best(self._next(logs))
        base = self._begun(history, begun)
        found = {
            self.model.words[number][len(begun) :]: float(logs[number]) - base
            for number in self._starting(begun)
            if self.model.words[number] != begun
        }
        (number,) = self.model.ids([begun])
        if number != UNK:
            over = float(logs[number]) - base
            for word, value in self._next(self._distribution(self._seen([*history, number]))).items():
                text = f" {word}" if word[0].isalnum() else word
                found[text] = max(found.get(text, -math.inf), over + value)
        return self._best(found)

    def _next(self, logs: Floats) -> dict[str, float]:
        most = min(self.predictions + len(SPECIALS), len(logs))
        best = np.argpartition(-logs, most - 1)[:most].tolist()
        return {
            self.model.words[number]: float(logs[number]) for number in best if number not in (UNK, BOS, EOS)
        }

    def _best(self, found: dict[str, float]) -> Reply:
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[: self.predictions]
