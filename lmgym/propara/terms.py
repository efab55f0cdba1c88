"""Comparing locations and participants as the reference does: terms, normalisation, overlap. Pure.

A summary joins alternatives with " OR " and several things with " AND ". `overlap` counts the pairs of terms that share
an alternative and divides by what would be the union if every term had at most one partner. Nothing guards that: it can
be above 1, below 0, or a division by zero. That is the published behaviour; `corrected` has the bounded one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from lmgym.propara.errors import ProcessFailure
from lmgym.propara.stem import TooDeep, stem

Terms = tuple[frozenset[str], ...]

_LEADING = ("a", "an", "the", "your", "his", "their", "my", "another", "other", "this", "that")
_ARTICLES = tuple(f"{word} " for word in _LEADING)
_REMEMBERED = 16_384
"""Entries of each cache."""


@lru_cache(_REMEMBERED)
def normalise_phrase(phrase: str) -> str:
    """Lower case, without one leading article or possessive, Porter-stemmed as one word."""
    lower = phrase.lower()
    for article in _ARTICLES:
        if lower.startswith(article):
            lower = lower[len(article) :]
            break
    return stem(lower).strip()


def _normalised(alternatives: list[str], norm: Callable[[str], str]) -> frozenset[str]:
    """A blank alternative throws all others of its term away, as in the reference."""
    found: list[str] = []
    for item in alternatives:
        if not item or item.isspace():
            return frozenset(("",))
        found.append(norm(item))
    return frozenset(found)


def _alternatives(text: str) -> list[list[str]]:
    return [part.strip().split(" OR ") for part in text.split(" AND ")]


@lru_cache(_REMEMBERED)
def participant_terms(text: str) -> Terms:
    """One set of alternatives for each participant joined by AND; participants are not normalised."""
    return tuple([frozenset(part) for part in _alternatives(text)])


def location_terms(text: str) -> Terms:
    """As `participant_terms`, but normalised; in lower case alone where the reference's stemmer fails."""
    return _location_terms(text)[0]


@lru_cache(_REMEMBERED)
def _location_terms(text: str) -> tuple[Terms, bool]:
    """The terms, and whether the reference's stemmer takes them."""
    parts = _alternatives(text)
    try:
        return tuple([_normalised(part, normalise_phrase) for part in parts]), True
    except TooDeep:
        return tuple([_normalised(part, str.lower) for part in parts]), False


def _overlap(answer: Terms, prediction: Terms) -> float:
    if len(answer) == 1 == len(prediction):
        return 0.0 if answer[0].isdisjoint(prediction[0]) else 1.0
    shared = sum([not mine.isdisjoint(theirs) for mine in prediction for theirs in answer])
    union = len(prediction) + len(answer) - shared
    if union == 0:
        raise ProcessFailure(
            "division-by-zero",
            "Every term of the prediction matches every term of the answer, and there are as many matches as "
            "terms: the reference divides by zero here.",
        )
    return shared / union


@lru_cache(_REMEMBERED)
def participant_overlap(answer: str, prediction: str) -> float:
    """The reference's overlap of two participant strings; 1.0 when they are equal as they stand."""
    if answer == prediction:
        return 1.0
    return _overlap(participant_terms(answer), participant_terms(prediction))


@lru_cache(_REMEMBERED)
def location_overlap(answer: str, prediction: str) -> float:
    """The reference's overlap of two location strings after normalisation; 1.0 when they are equal as they stand."""
    if answer == prediction:
        return 1.0
    (theirs, stemmed), (mine, also_stemmed) = _location_terms(answer), _location_terms(prediction)
    if not (stemmed and also_stemmed):
        raise ProcessFailure("too-deep", "A run of y so long that the reference recurses too deeply.")
    return _overlap(theirs, mine)
