"""Compare locations and participants as in the reference: terms, normalisation, overlap.

A summary joins alternatives with " OR " and several participants or locations with " AND ". The overlap is the number
of pairs of terms that share an alternative, divided by the size that the union would have if every term had at most one
partner. It can exceed 1, be negative, or divide by zero. This is the published behaviour; in `corrected` the overlap is
bounded.
"""

from __future__ import annotations

from functools import lru_cache

from lmgym.propara.errors import ProcessFailure
from lmgym.propara.stem import stem

Terms = tuple[frozenset[str], ...]

_LEADING = ("a", "an", "the", "your", "his", "their", "my", "another", "other", "this", "that")
_ARTICLES = tuple(f"{word} " for word in _LEADING)
_CACHE_SIZE = 16_384


@lru_cache(_CACHE_SIZE)
def normalise_phrase(phrase: str) -> str:
    """Lower-case a phrase, remove one leading determiner (a word of `_LEADING`), and stem the rest as one word."""
    lower = phrase.lower()
    for article in _ARTICLES:
        if lower.startswith(article):
            lower = lower[len(article) :]
            break
    return stem(lower).strip()


def _normalised(alternatives: list[str]) -> frozenset[str]:
    """Normalise a term's alternatives. A blank alternative discards the others, as in the reference."""
    if any(not item or item.isspace() for item in alternatives):
        return frozenset(("",))
    return frozenset(map(normalise_phrase, alternatives))


def _alternatives(text: str) -> list[list[str]]:
    return [part.strip().split(" OR ") for part in text.split(" AND ")]


@lru_cache(_CACHE_SIZE)
def participant_terms(text: str) -> Terms:
    """Return the set of alternatives of each participant in a text joined by AND. Participants are not normalised."""
    return tuple([frozenset(part) for part in _alternatives(text)])


@lru_cache(_CACHE_SIZE)
def location_terms(text: str) -> Terms:
    """Return the set of normalised alternatives of each location in a text joined by AND."""
    return tuple([_normalised(part) for part in _alternatives(text)])


def _overlap(answer: Terms, prediction: Terms) -> float:
    if len(answer) == 1 == len(prediction):
        return 0.0 if answer[0].isdisjoint(prediction[0]) else 1.0
    shared = sum([not mine.isdisjoint(theirs) for mine in prediction for theirs in answer])
    union = len(prediction) + len(answer) - shared
    if union == 0:
        raise ProcessFailure(
            "division-by-zero",
            "Every term of the prediction matches every term of the answer, and the numbers of matches and terms are "
            "equal: the reference divides by zero here.",
        )
    return shared / union


@lru_cache(_CACHE_SIZE)
def participant_overlap(answer: str, prediction: str) -> float:
    """Return the reference's overlap of two participant strings; 1.0 if they are equal. Raises ProcessFailure."""
    if answer == prediction:
        return 1.0
    return _overlap(participant_terms(answer), participant_terms(prediction))


@lru_cache(_CACHE_SIZE)
def location_overlap(answer: str, prediction: str) -> float:
    """Return the reference's overlap of two locations after normalisation; 1.0 if they are equal. Raises
    ProcessFailure."""
    if answer == prediction:
        return 1.0
    return _overlap(location_terms(answer), location_terms(prediction))
