"""Built-in player that learns while it plays: an n-gram model with Witten-Bell smoothing."""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Iterator, Sequence

from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.play.player import Reply, Request
from lmgym.lmchallenge.tokens import TOKEN, beginning_with

START = ""  # no token is empty


class AdaptivePlayer:
    """An n-gram model that learns only from `train`.

    It uses the games' tokens. The probability of a token after the last words is interpolated (Witten-Bell) from
    the longest context down to a uniform share for unseen tokens: with N(h) tokens and T(h) different tokens seen after
    the context h,

        p(w | h) = (c(h, w) + T(h) p(w | shorter h)) / (N(h) + T(h)).

    Scores are natural logarithms. If a context ends inside a token, the token may continue (p(word) / p(words with this
    prefix)) or be complete and followed by another (p(complete) p(next)); the tokenizer decides which of the two a
    candidate is.

    Args:
        order: words of context plus one, 1 to 8.
        predictions: maximum per reply.
        unseen: probability of each unseen word under the uniform share.
    """

    together = 64

    def __init__(self, order: int = 3, predictions: int = 20, unseen: float = 1e-5) -> None:
        if not (isinstance(order, int) and 1 <= order <= 8):
            raise OptionError(f"The order is {order!r}.", "Choose 1 to 8.")
        if not (isinstance(predictions, int) and predictions >= 1):
            raise OptionError(f"The number of predictions is {predictions!r}.", "Choose at least 1.")
        if not (isinstance(unseen, int | float) and 0 < unseen < 1):
            raise OptionError(
                f"The probability of an unseen word is {unseen!r}.", "It must be above 0 and below 1."
            )
        self.order, self.predictions, self.unseen = order, predictions, unseen
        self.clear()

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Reply to each request. Before any training, the reply to a request without candidates is empty."""
        return [self._predict(request.context, request.candidates) for request in requests]

    def train(self, text: str) -> None:
        """Count a line's tokens."""
        history = [START] * (self.order - 1)
        for token in TOKEN.findall(text):
            for length in range(self.order):
                context = tuple(history[len(history) - length :])
                after = self._counts.setdefault(context, Counter())
                after[token] += 1
                self._totals[context] = self._totals.get(context, 0) + 1
            if self._counts[()][token] == 1:
                insort(self._words, token)
            history = [*history[1:], token] if history else history

    def clear(self) -> None:
        """Forget all training."""
        self._counts: dict[tuple[str, ...], Counter[str]] = {}
        self._totals: dict[tuple[str, ...], int] = {}
        self._words: list[str] = []

    def check(self, now: bool = False) -> bool:
        """Return False: replies are always final."""
        return False

    def close(self) -> None:
        """Do nothing."""

    def _predict(self, context: str, candidates: Sequence[str] | None) -> Reply:
        history, begun = self._split(context)
        if not begun:
            if candidates is None:
                return self._top(self._next(history))
            return [(word, math.log(self._chance(history, word))) for word in candidates]
        mass = sum(self._chance(history, word) for word in self._beginning(begun)) + self.unseen
        finished = self._chance(history, begun) / mass
        after = (*history, begun)[1:] if history else ()
        if candidates is None:
            endings = {
                word[len(begun) :]: self._chance(history, word) / mass for word in self._beginning(begun)
            }
            endings.pop("", None)
            for word, chance in self._next(after).items():
                if not _one_token(begun + word):
                    endings[word] = endings.get(word, 0.0) + finished * chance
            return self._top(endings)
        return [
            (
                word,
                math.log(
                    self._chance(history, begun + word) / mass
                    if _one_token(begun + word)
                    else finished * self._chance(after, word)
                ),
            )
            for word in candidates
        ]

    def _next(self, history: tuple[str, ...]) -> dict[str, float]:
        """Return the likeliest next words. Shorter contexts are used only if longer ones have too few words."""
        chances: dict[str, float] = {}
        for length in range(len(history), -1, -1):
            after = self._counts.get(history[len(history) - length :])
            for word in after or ():
                if word not in chances:
                    chances[word] = self._chance(history, word)
            if len(chances) >= self.predictions:
                break
        return chances

    def _top(self, chances: dict[str, float]) -> Reply:
        ranked = sorted(chances.items(), key=lambda pair: (-pair[1], pair[0]))[: self.predictions]
        return [(word, math.log(chance)) for word, chance in ranked]

    def _chance(self, history: tuple[str, ...], word: str) -> float:
        chance = self.unseen
        for length in range(len(history) + 1):
            context = history[len(history) - length :]
            after = self._counts.get(context)
            if after is None:
                break
            kinds = len(after)
            chance = (after[word] + kinds * chance) / (self._totals[context] + kinds)
        return chance

    def _beginning(self, prefix: str) -> Iterator[str]:
        return (self._words[at] for at in beginning_with(self._words, prefix))

    def _split(self, context: str) -> tuple[tuple[str, ...], str]:
        """Return the last tokens, and the token in which the context ends ("" if it ends between two tokens)."""
        matches = list(TOKEN.finditer(context))
        begun = matches.pop().group() if matches and matches[-1].end() == len(context) else ""
        size = self.order - 1
        words = [START] * size + [match.group() for match in matches[-size:]] if size else []
        return tuple(words[len(words) - size :]), begun


def _one_token(text: str) -> bool:
    return TOKEN.fullmatch(text) is not None
