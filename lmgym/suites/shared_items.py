"""Find items of different suites that share material, such as the same nouns in suites on number and on reflexives.

Their outcomes are correlated, so they are not independent evidence. Two items of different suites share material if

* both have the same text or number under the key `material` in the file; or
* neither has this key, they have at least two region texts in common, these are at least half of the texts of one of
  them, and each is the best match of the other in its suite. Texts in more than a quarter of a suite's items ("the")
  are ignored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

MATERIAL = "material"
COMMON_SHARE = 0.25
LEAST_TEXTS = 2
MOST_ITEMS_OF_A_TEXT = 200
"""Maximum number of items with a text. More frequent texts are ignored: the number of pairs grows quadratically."""

Place = tuple[int, int]
"""An item: (index of its suite, item number)."""


@dataclass(frozen=True)
class Material:
    """Material of one suite.

    Attributes:
        texts: item to its distinctive region texts, case-folded.
        names: item to the value of its key `material`.
    """

    texts: Mapping[int, frozenset[str]]
    names: Mapping[int, str]


def material_of(sentences: Iterable[tuple[int, Sequence[str]]], extra: Mapping[str, Any]) -> Material:
    """Collect the material of a suite.

    Args:
        sentences: (item, region texts) of each sentence.
        extra: unknown keys of the revision; those of items are under "items".
    """
    texts: dict[int, set[str]] = defaultdict(set)
    for item, contents in sentences:
        texts[item].update(text.casefold() for text in contents if text)
    names = {item: name for item in texts if (name := _name(extra, item))}
    counts = Counter(text for item_texts in texts.values() for text in item_texts)
    most = max(1.0, COMMON_SHARE * len(texts))
    distinctive = {
        item: frozenset(text for text in item_texts if counts[text] <= most)
        for item, item_texts in texts.items()
    }
    return Material(distinctive, names)


def _name(extra: Mapping[str, Any], item: int) -> str:
    items = extra.get("items")
    keys = items.get(str(item)) if isinstance(items, dict) else None
    name = keys.get(MATERIAL) if isinstance(keys, dict) else None
    return str(name) if isinstance(name, str | int | float) else ""


def shared_groups(suites: Sequence[Material]) -> list[dict[int, int]]:
    """Group items that share material.

    Returns:
        For each suite, item to group number; items that share nothing with another suite are omitted.
    """
    parents: dict[Place, Place] = {}

    def root(place: Place) -> Place:
        while (parent := parents.get(place, place)) != place:
            place = parent
        return place

    for one, other in (*_by_name(suites), *_by_text(suites)):
        parents[root(other)] = root(one)
        parents.setdefault(one, root(one))
    numbers: dict[Place, int] = {}
    groups: list[dict[int, int]] = [{} for _ in suites]
    for place in sorted(parents):
        suite, item = place
        groups[suite][item] = numbers.setdefault(root(place), len(numbers))
    return groups


def _by_name(suites: Sequence[Material]) -> Iterable[tuple[Place, Place]]:
    places: dict[str, list[Place]] = defaultdict(list)
    for number, suite in enumerate(suites):
        for item, name in suite.names.items():
            places[name].append((number, item))
    for members in places.values():
        if len({suite for suite, _ in members}) > 1:
            yield from ((members[0], other) for other in members[1:])


def _by_text(suites: Sequence[Material]) -> Iterable[tuple[Place, Place]]:
    first: dict[tuple[Any, ...], int] = {}
    places: dict[str, list[Place]] = defaultdict(list)
    for number, suite in enumerate(suites):
        unnamed = {item: texts for item, texts in suite.texts.items() if item not in suite.names and texts}
        same = first.setdefault(tuple(sorted(unnamed.items(), key=lambda pair: pair[0])), number)
        if same != number:  # a copy of an earlier suite
            yield from (((same, item), (number, item)) for item in unnamed)
            continue
        for item, texts in unnamed.items():
            for text in texts:
                places[text].append((number, item))
    common: Counter[tuple[Place, Place]] = Counter()
    for members in places.values():
        if len(members) <= MOST_ITEMS_OF_A_TEXT:
            common.update(pair for pair in combinations(members, 2) if pair[0][0] != pair[1][0])
    scores = {
        pair: _overlap(suites, pair, n)
        for pair, n in common.items()
        if n >= LEAST_TEXTS and 2 * n >= min(_size(suites, place) for place in pair)
    }
    best: dict[tuple[Place, int], tuple[float, bool]] = {}
    for (one, other), score in scores.items():
        for place, number in ((one, other[0]), (other, one[0])):
            best[place, number] = max(best.get((place, number), (0.0, False)), score)
    for (one, other), score in scores.items():
        if best[one, other[0]] == score == best[other, one[0]]:
            yield one, other


def _size(suites: Sequence[Material], place: Place) -> int:
    return len(suites[place[0]].texts[place[1]])


def _overlap(suites: Sequence[Material], pair: tuple[Place, Place], n: int) -> tuple[float, bool]:
    """Rank a pair by the Jaccard similarity of its texts; equal item numbers break ties."""
    one, other = pair
    return n / (_size(suites, one) + _size(suites, other) - n), one[1] == other[1]
