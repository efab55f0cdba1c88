"""Comparing locations and participants as the reference does: terms, normalisation, overlap. Pure.

A summary joins alternatives with " OR " and several things with " AND ". `overlap` counts the pairs of terms that share
an alternative and divides by what would be the union if every term had at most one partner. Nothing guards that: it can
be above 1, below 0, or a division by zero. That is the published behaviour; gym.propara.corrected has the bounded one.
"""

from __future__ import annotations

from functools import lru_cache

from gym.propara.errors import ProcessFailure
from gym.propara.stem import stem

Terms = tuple[frozenset[str], ...]

_LEADING = ("a", "an", "the", "your", "his", "their", "my", "another", "other", "this", "that")
_ARTICLES = tuple(f"{word} " for word in _LEADING)
_RUN_OF_Y = "y" * 980
"""The reference's stemmer recurses once for each y of a run and dies at Python's default limit of 1,000."""


@lru_cache(maxsize=16_384)
def normalise_phrase(phrase: str) -> str:
    """Lower case, without one leading article or possessive, Porter-stemmed as one word."""
    phrase = phrase.lower()
    for article in _ARTICLES:
        if phrase.startswith(article):
            phrase = phrase[len(article) :]
            break
    return stem(phrase).strip()


def _normalised(alternatives: list[str]) -> frozenset[str]:
    """A blank alternative throws all others of its term away, as in the reference."""
    if not all(item.strip() for item in alternatives):
        return frozenset(("",))
    return frozenset(map(normalise_phrase, alternatives))


@lru_cache(maxsize=16_384)
def participant_terms(text: str) -> Terms:
    """One set of alternatives for each participant joined by AND; participants are not normalised."""
    return tuple(frozenset(part.strip().split(" OR ")) for part in text.split(" AND "))


@lru_cache(maxsize=16_384)
def location_terms(text: str) -> Terms:
    return tuple(_normalised(part.strip().split(" OR ")) for part in text.split(" AND "))


def _overlap(answer: Terms, prediction: Terms) -> float:
    shared = sum(1 for mine in prediction for theirs in answer if not mine.isdisjoint(theirs))
    union = len(prediction) + len(answer) - shared
    if union == 0:
        raise ProcessFailure(
            "division-by-zero",
            "Every term of the prediction matches every term of the answer, and there are as many matches as "
            "terms: the reference divides by zero here.",
        )
    return shared / union


@lru_cache(maxsize=16_384)
def participant_overlap(answer: str, prediction: str) -> float:
    """The reference's overlap of two participant strings; 1.0 when they are equal as they stand."""
    if answer == prediction:
        return 1.0
    return _overlap(participant_terms(answer), participant_terms(prediction))


@lru_cache(maxsize=16_384)
def location_overlap(answer: str, prediction: str) -> float:
    """The reference's overlap of two location strings after normalisation; 1.0 when they are equal as they stand."""
    if answer == prediction:
        return 1.0
    if _RUN_OF_Y in answer.lower() or _RUN_OF_Y in prediction.lower():
        raise ProcessFailure("too-deep", "A run of y so long that the reference recurses too deeply.")
    return _overlap(location_terms(answer), location_terms(prediction))
