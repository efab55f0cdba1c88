"""Needed tokens first, the others later: how the two passes over a sentence become one score. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gym.evaluations.columns import Scores
from models_registry.engine import ScoringFailure, ScoringPolicy, TokenScores
from suites.regions import JoinedSentence, align

Span = tuple[int, int]


class FirstValues:
    """The first value of every (prefix, token) of the first pass, in document order.

    The second pass may compute the same token after the same prefix again, for another sentence and in another batch.
    It takes the value that decided predictions, so that filling in the rest changes no outcome. This is for
    left-to-right models only: other values depend on what follows the token.
    """

    def __init__(self, scores: Iterable[Scores]) -> None:
        self._children: dict[tuple[int, int], int] = {}
        self._first: list[float | None] = [None]
        for score in scores:
            if isinstance(score, TokenScores):
                self._learn(score)

    def _learn(self, score: TokenScores) -> None:
        node = 0
        for token, value in zip(score.ids, score.bits, strict=True):
            node = self._children.setdefault((node, token), len(self._first))
            if node == len(self._first):
                self._first.append(None)
            if self._first[node] is None:
                self._first[node] = value

    def applied(self, score: Scores) -> Scores:
        """The score with known values in place of its own; what has no value keeps none."""
        if isinstance(score, ScoringFailure):
            return score
        node: int | None = 0
        bits: list[float | None] = []
        for token, value in zip(score.ids, score.bits, strict=True):
            node = None if node is None else self._children.get((node, token))
            first = None if node is None else self._first[node]
            bits.append(value if value is None or first is None else first)
        return replace(score, bits=bits)


def lacks_needed(score: Scores, places: Sequence[tuple[JoinedSentence, Sequence[Span]]]) -> bool:
    """Whether a region that a prediction looks at still has a pending token: a tokenizer may say that a token lies
    elsewhere than the region it counts for. `places`: the text's sentences, each with its needed characters."""
    if isinstance(score, ScoringFailure) or score.complete:
        return False
    for joined, spans in places:
        wanted = {number for number, span in enumerate(joined.spans) if tuple(span) in spans}
        regions = align(joined, score.offsets, score.special).region
        if any(waits and home in wanted for waits, home in zip(score.pending, regions, strict=True)):
            return True
    return False


def rest_of(
    first: Mapping[str, Scores], texts: Sequence[str], policy: ScoringPolicy
) -> list[list[Span]] | None:
    """What the second pass asks for; None = everything. With the whitespace correction that is wanted: blanks are then
    looked at after every token, and the first pass did so at the edges of needed regions alone."""
    return None if policy.whitespace != "none" else [_pending(first.get(text), text) for text in texts]


def _pending(score: Scores | None, text: str) -> list[Span]:
    if score is None or isinstance(score, ScoringFailure):
        return [(0, len(text)), (len(text), len(text))]
    return score.pending_spans()


def joined_up(first: Scores | None, later: Scores) -> Scores:
    """Both passes over one text. A failure of the second is the text's: its values are not all numbers."""
    if first is None or isinstance(first, ScoringFailure) or isinstance(later, ScoringFailure):
        return later
    return first.filled(later)
