"""Comparing locations and participants as the reference does: terms, normalisation, overlap. Pure.

A summary joins alternatives with " OR " and several things with " AND ". `overlap` counts the pairs of terms that share
an alternative and divides by what would be the union if every term had at most one partner. Nothing guards that: it can
be above 1, below 0, or a division by zero. That is the published behaviour; gym.propara.corrected has the bounded one.

What was compared is remembered in dictionaries of limited size, not with functools: the command line loads this module
first, and importing functools takes longer than scoring fifty processes.
"""

from __future__ import annotations

from gym.propara.errors import ProcessFailure
from gym.propara.stem import TooDeep, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Terms = tuple[frozenset[str], ...]
    Key = TypeVar("Key")
    Value = TypeVar("Value")

_LEADING = ("a", "an", "the", "your", "his", "their", "my", "another", "other", "this", "that")
_ARTICLES = tuple(f"{word} " for word in _LEADING)
LONG_RUN = 900
"""Shorter runs of y are no trouble to the reference's stemmer, which recurses once for each of them."""
_LIMIT = 16_384
"""Entries of each memory; a full one starts anew."""


def _remember(memory: dict[Key, Value], key: Key, value: Value) -> Value:
    if len(memory) >= _LIMIT:
        memory.clear()
    memory[key] = value
    return value


_normal: dict[str, str] = {}
_participants: dict[str, Terms] = {}
_locations: dict[str, Terms] = {}
_too_deep: set[str] = set()
"""Locations whose stems the reference cannot find."""
_participant_pairs: dict[tuple[str, str], float] = {}
_location_pairs: dict[tuple[str, str], float] = {}


def normalise_phrase(phrase: str) -> str:
    """Lower case, without one leading article or possessive, Porter-stemmed as one word."""
    known = _normal.get(phrase)
    if known is not None:
        return known
    lower = phrase.lower()
    for article in _ARTICLES:
        if lower.startswith(article):
            lower = lower[len(article) :]
            break
    return _remember(_normal, phrase, stem(lower).strip())


def _normalised(alternatives: list[str], norm: Callable[[str], str]) -> frozenset[str]:
    """A blank alternative throws all others of its term away, as in the reference."""
    found: list[str] = []
    for item in alternatives:
        if not item or item.isspace():
            return frozenset(("",))
        found.append(norm(item))
    return frozenset(found)


def participant_terms(text: str) -> Terms:
    """One set of alternatives for each participant joined by AND; participants are not normalised."""
    known = _participants.get(text)
    if known is not None:
        return known
    terms = tuple(frozenset(part.strip().split(" OR ")) for part in text.split(" AND "))
    return _remember(_participants, text, terms)


def location_terms(text: str) -> Terms:
    """As `participant_terms`, but normalised; in lower case alone where the reference's stemmer fails."""
    known = _locations.get(text)
    if known is not None:
        return known
    parts = [part.strip().split(" OR ") for part in text.split(" AND ")]
    try:
        terms = tuple([_normalised(part, normalise_phrase) for part in parts])
    except TooDeep:
        if len(_too_deep) >= _LIMIT:
            _too_deep.clear()
            _locations.clear()
        _too_deep.add(text)
        terms = tuple([_normalised(part, str.lower) for part in parts])
    return _remember(_locations, text, terms)


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


def participant_overlap(answer: str, prediction: str) -> float:
    """The reference's overlap of two participant strings; 1.0 when they are equal as they stand."""
    if answer == prediction:
        return 1.0
    known = _participant_pairs.get((answer, prediction))
    if known is not None:
        return known
    value = _overlap(participant_terms(answer), participant_terms(prediction))
    return _remember(_participant_pairs, (answer, prediction), value)


def location_overlap(answer: str, prediction: str) -> float:
    """The reference's overlap of two location strings after normalisation; 1.0 when they are equal as they stand."""
    if answer == prediction:
        return 1.0
    known = _location_pairs.get((answer, prediction))
    if known is not None:
        return known
    terms = location_terms(answer), location_terms(prediction)
    if _too_deep and not _too_deep.isdisjoint((answer, prediction)):
        raise ProcessFailure("too-deep", "A run of y so long that the reference recurses too deeply.")
    value = _overlap(*terms)
    return _remember(_location_pairs, (answer, prediction), value)
