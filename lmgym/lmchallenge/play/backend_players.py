"""Loaded models as players. They do not learn, and their replies are always final.

**Causal models.** The score of a candidate c after a context x is the natural logarithm of the
probability that the text continues with c and c ends there (the text after it does not extend it to a
longer token of the game):

    p(c | x) = P(text begins with x c, then something that ends c) / P(text begins with x)

Both are sums over token sequences. Up to the last space of x (or its start), the tokens are the tokenizer's. From there
to the end of c, up to `paths` spellings with the fewest tokens are summed, always including the tokenizer's own. The
score therefore does not depend on where the tokens of a context happen to end. With unlimited paths, and `whole` or a
context of one word, the value is exact (tests compare it with brute force); otherwise tokens that span two words are
not split.

Predictions without candidates come from a beam search whose first tokens must spell the rest of the context: `beam`
paths, up to `steps` tokens past the context, each ended where the model may end a token of the game.

A context that exceeds the model's window loses its beginning; a candidate that still does not fit is omitted.

Requests in one call are computed together. A line's contexts share prefixes, which run through the model once per
`candidate_scoring.MAX_SPELLINGS` spellings.

**N-gram models.** Their words differ from the games' tokens, so a candidate is split by the model's own
tokenizer, together with the word in which the context ends, if any: p(rest of the word) = p(word) / p(words with this
prefix). Candidates with a word unknown to the model are omitted. Scores are natural logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.play.beam_search import Limits, Search
from lmgym.lmchallenge.play.candidate_scoring import CandidateScorer
from lmgym.lmchallenge.play.player import Player, Reply, Request
from lmgym.lmchallenge.play.token_strings import TokenStrings, Window, split_contexts
from lmgym.lmchallenge.tokens import beginning_with
from lmgym.models.backends import Backend
from lmgym.models.backends.causal import CausalBackend
from lmgym.models.backends.ngram import NgramBackend
from lmgym.models.backends.ngram_model import BOS, EOS, SPECIALS, UNK, Floats, tokenize

PLAYABLE = ("causal", "ngram")
"""Backends that can play."""


def player_for_backend(backend: Backend, options: Mapping[str, Any] | None = None) -> Player:
    """Wrap a loaded model as a player.

    Options: `predictions` and `together` for both kinds; `paths`, `beam`, `steps` and `whole` for causal models. Raises
    OptionError for unsupported models and options.
    """
    values = dict(options or {})
    try:
        if isinstance(backend, NgramBackend):
            return NgramPlayer(backend, **values)
        if isinstance(backend, CausalBackend):
            return CausalPlayer(backend, **values)
    except TypeError as error:
        raise OptionError(f"This model does not accept these options: {error}.") from None
    raise OptionError(
        "Only causal and n-gram models can play.", "Masked models also see the text after a word."
    )


def _check_counts(**counts: Any) -> None:
    """Raise OptionError for the first value that is not a whole number above 0."""
    for name, value in counts.items():
        if not isinstance(value, int) or value < 1:
            raise OptionError(f"{name} is {value!r}.", "It must be a whole number above 0.")


class _FixedPlayer:
    """No-op train, clear, check and close."""

    def train(self, text: str) -> None:
        """Do nothing: weights are fixed."""

    def clear(self) -> None:
        """Do nothing."""

    def check(self, now: bool = False) -> bool:
        """Return False: replies are always final."""
        return False

    def close(self) -> None:
        """Do nothing: other players may use the model."""


class CausalPlayer(_FixedPlayer):
    """A causal model as a player; see the module docstring.

    Args:
        predictions: maximum per reply.
        together: number of lines played together.
        whole: sum over the spellings of the whole context, not only of its last word; for short contexts.
    """

    def __init__(
        self,
        backend: CausalBackend,
        *,
        predictions: int = 20,
        paths: int = 3,
        beam: int = 16,
        steps: int = 3,
        together: int = 8,
        whole: bool = False,
    ) -> None:
        _check_counts(predictions=predictions, paths=paths, beam=beam, together=together)
        if not isinstance(steps, int) or steps < 0:
            raise OptionError(f"steps is {steps!r}.", "It must be a whole number, 0 or more.")
        self.backend, self.together, self.whole = backend, together, whole
        with backend.exclusive() as (runner, tokenizer):
            self._token_strings = TokenStrings.of(tokenizer, runner.vocabulary or len(tokenizer))
            start = tokenizer.eos_token_id if backend.start_id is None else backend.start_id
        window = Window(() if start is None else (int(start),), backend.facts.context_length)
        self._scorer = CandidateScorer(self._token_strings, window, paths)
        self._search = Search(self._token_strings, window, Limits(predictions, beam, steps))

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Compute all requests at once, or one by one if `together` is 1. (A served model computes one by one, and
        batching changes the last digits.)
        """
        if self.together == 1 and len(requests) > 1:
            return [reply for request in requests for reply in self.predict([request])]
        with self.backend.exclusive() as (runner, tokenizer):
            contexts = [request.context for request in requests]
            split = split_contexts(contexts, tokenizer, self._token_strings, whole=self.whole)
            replies: list[Reply] = [[] for _ in requests]
            free = [at for at, request in enumerate(requests) if request.candidates is None]
            held = [at for at, request in enumerate(requests) if request.candidates is not None]
            if held:
                values = [(split[at], list(requests[at].candidates or ())) for at in held]
                for at, reply in zip(held, self._scorer.of(runner, tokenizer, values), strict=True):
                    replies[at] = reply
            if free:
                for at, reply in zip(free, self._search.of(runner, [split[at] for at in free]), strict=True):
                    replies[at] = reply
        return replies


class NgramPlayer(_FixedPlayer):
    """An n-gram model as a player. `predictions`: maximum per reply. `together`: number of lines played together; it
    does not affect scores.
    """

    def __init__(self, backend: NgramBackend, *, predictions: int = 20, together: int = 32) -> None:
        _check_counts(predictions=predictions, together=together)
        self.together = together
        self.model, self.predictions = backend.model, predictions
        words = self.model.words
        self._sorted = sorted(
            (word, number) for number, word in enumerate(words) if number not in (UNK, BOS, EOS)
        )
        self._keys = [word for word, _ in self._sorted]
        self._distribution = lru_cache(maxsize=512)(self._logs)

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Reply to each request. Distributions are cached by the words in the model's context."""
        return [
            self._free(context) if candidates is None else self._worth(context, candidates)
            for context, candidates in requests
        ]

    def _logs(self, history: tuple[int, ...]) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.model.distribution(history)), dtype=np.float64)

    def _split(self, context: str) -> tuple[tuple[int, ...], str]:
        """Return the words in the model's context, and the word in which the text ends ("" if it ends between two
        words).
        """
        words = tokenize(context)
        begun = words.pop().text if words and words[-1].end == len(context) else ""
        return self._seen([BOS, *self.model.ids(word.text for word in words)]), begun

    def _seen(self, ids: Sequence[int]) -> tuple[int, ...]:
        width = self.model.order - 1
        return tuple(ids[-width:]) if width else ()

    def _starting(self, begun: str) -> list[int]:
        return [self._sorted[at][1] for at in beginning_with(self._keys, begun)]

    def _begun(self, history: tuple[int, ...], begun: str) -> float:
        """Return the log probability of all words with this prefix, unknown words included."""
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
        chances = {
            self.model.words[number][len(begun) :]: float(logs[number]) - base
            for number in self._starting(begun)
            if self.model.words[number] != begun
        }
        (number,) = self.model.ids([begun])
        if number != UNK:
            over = float(logs[number]) - base
            for word, value in self._next(self._distribution(self._seen([*history, number]))).items():
                text = f" {word}" if word[0].isalnum() else word
                chances[text] = max(chances.get(text, -math.inf), over + value)
        return self._best(chances)

    def _next(self, logs: Floats) -> dict[str, float]:
        most = min(self.predictions + len(SPECIALS), len(logs))
        best = np.argpartition(-logs, most - 1)[:most].tolist()
        return {
            self.model.words[number]: float(logs[number]) for number in best if number not in (UNK, BOS, EOS)
        }

    def _best(self, chances: dict[str, float]) -> Reply:
        return sorted(chances.items(), key=lambda pair: (-pair[1], pair[0]))[: self.predictions]
