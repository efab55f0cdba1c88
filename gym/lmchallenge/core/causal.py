"""A causal language model as a player.

What a candidate c is worth after a context x is the natural logarithm of the probability that the text goes on
with c and c is over there (what follows does not make it a longer token of the game):

    p(c | x) = P(text begins with x c, then something that ends c) / P(text begins with x)

Both are sums over token sequences. Tokens up to the last blank of x (or its start) are those that the tokenizer
gives; from there on, through the end of c, all ways to spell the bytes are summed, up to `paths` ways with the
fewest tokens, the tokenizer's own always among them. So a context that ends in a blank, or inside a word, is not
tied to where its own tokens happen to end. With unlimited paths, and `whole` or a context of one word, this is
the exact value (the tests compare with brute force); without, tokens that run from one word into the next are not
taken apart.

Predictions without candidates come from a beam search whose first tokens are held to what is left of the context:
`beam` ways, up to `steps` tokens past the context, each ended where the model may end a token of the game.

A context that does not fit into the model's window loses its beginning; a candidate for which there would be no room
even then is left out.

Requests of a call are computed together: contexts of a line share their prefixes, which run through the model once for
some thousands of ways (`worth.TOGETHER`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gym.lmchallenge.core.beam_search import Limits, Search
from gym.lmchallenge.core.candidate_scoring import CandidateScorer
from gym.lmchallenge.core.context_window import Window, split_contexts
from gym.lmchallenge.core.errors import OptionError
from gym.lmchallenge.core.player import Reply, Request
from gym.lmchallenge.core.token_strings import TokenStrings

if TYPE_CHECKING:
    from models_registry.backends.causal import CausalBackend


class CausalPlayer:
    """See the module. predictions: most that are offered. together: lines played side by side. whole: sum over the
    ways to spell the whole context, not only its last word; for short contexts."""

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
        for name, value in (
            ("predictions", predictions),
            ("paths", paths),
            ("beam", beam),
            ("together", together),
        ):
            if not isinstance(value, int) or value < 1:
                raise OptionError(f"{name} is {value!r}.", "It must be a whole number above 0.")
        if not isinstance(steps, int) or steps < 0:
            raise OptionError(f"steps is {steps!r}.", "It must be a whole number.")
        self.backend, self.together, self.whole = backend, together, whole
        with backend.held() as (runner, tokenizer):
            self._token_strings = TokenStrings.of(tokenizer, runner.vocabulary or len(tokenizer))
            start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        window = Window(() if start is None else (int(start),), backend.facts.context_length)
        self._scorer = CandidateScorer(self._token_strings, window, paths)
        self._search = Search(self._token_strings, window, Limits(predictions, beam, steps))

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """All at once; one call after the other if `together` is 1, as a served model is asked: what is computed in
        company differs in the last digits."""
        if self.together == 1 and len(requests) > 1:
            return [reply for request in requests for reply in self.predict([request])]
        with self.backend.held() as (runner, tokenizer):
            contexts = [request.context for request in requests]
            split = split_contexts(contexts, tokenizer, self._token_strings, whole=self.whole)
            replies: list[Reply] = [[] for _ in requests]
            free = [at for at, request in enumerate(requests) if request.candidates is None]
            held = [at for at, request in enumerate(requests) if request.candidates is not None]
            if held:
                given = [(split[at], list(requests[at].candidates or ())) for at in held]
                for at, reply in zip(held, self._scorer.of(runner, tokenizer, given), strict=True):
                    replies[at] = reply
            if free:
                for at, reply in zip(free, self._search.of(runner, [split[at] for at in free]), strict=True):
                    replies[at] = reply
        return replies

    def train(self, text: str) -> None:
        """Nothing is learnt: the weights stay."""

    def clear(self) -> None:
        """Nothing was learnt."""

    def check(self, now: bool = False) -> bool:
        """Nothing can be amiss."""
        return False

    def close(self) -> None:
        """The model stays loaded for others."""
