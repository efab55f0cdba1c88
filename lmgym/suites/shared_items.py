"""Items of different suites that share material, such as the same nouns in suites on number and on reflexives. Their
outcomes go together, so they are no independent evidence. Pure.

Two items of different suites share material where

* both name it: the key `material` of the item in the file has the same text or number; or
* neither names it, at least half of the texts of one item's regions are the other's, too, two texts at least, and each
  is the other's best match in its suite. Texts that more than a quarter of a suite's items have ("the") do not count.
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
"""A text of more items says nothing, and pairs of them would be many."""

Place = tuple[int, int]
"""(number of the suite, number of the item)"""


@dataclass(frozen=True)
class Material:
    """Of a suite: the texts that tell its items apart, and the materials that items name."""

    texts: Mapping[int, frozenset[str]]
    names: Mapping[int, str]


def material_of(sentences: Iterable[tuple[int, Sequence[str]]], extra: Mapping[str, Any]) -> Material:
    """`sentences`: (item, texts of regions); `extra`: the revision's unknown keys, of items under `"items"`."""
    texts: dict[int, set[str]] = defaultdict(set)
    for item, contents in sentences:
        texts[item].update(text.casefold() for text in contents if text)
    names = {item: name for item in texts if (name := _name(extra, item))}
    often = Counter(text for found in texts.values() for text in found)
    most = max(1.0, COMMON_SHARE * len(texts))
    return Material(
        {item: frozenset(text for text in found if often[text] <= most) for item, found in texts.items()},
        names,
    )


def _name(extra: Mapping[str, Any], item: int) -> str:
    items = extra.get("items")
    keys = items.get(str(item)) if isinstance(items, dict) else None
    named = keys.get(MATERIAL) if isinstance(keys, dict) else None
    return str(named) if isinstance(named, str | int | float) else ""


def shared_groups(suites: Sequence[Material]) -> list[dict[int, int]]:
    """Of each suite, item -> number of its group; items that share material with no other suite's are left out."""
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
    for found in places.values():
        if len({suite for suite, _ in found}) > 1:
            yield from ((found[0], other) for other in found[1:])


def _by_text(suites: Sequence[Material]) -> Iterable[tuple[Place, Place]]:
    first: dict[tuple[Any, ...], int] = {}
    places: dict[str, list[Place]] = defaultdict(list)
    for number, suite in enumerate(suites):
        unnamed = {item: texts for item, texts in suite.texts.items() if item not in suite.names and texts}
        same = first.setdefault(tuple(sorted(unnamed.items(), key=lambda pair: pair[0])), number)
        if same != number:  # the same suite once more
            yield from (((same, item), (number, item)) for item in unnamed)
            continue
        for item, texts in unnamed.items():
            for text in texts:
                places[text].append((number, item))
    common: Counter[tuple[Place, Place]] = Counter()
    for found in places.values():
        if len(found) <= MOST_ITEMS_OF_A_TEXT:
            common.update(pair for pair in combinations(found, 2) if pair[0][0] != pair[1][0])
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
    """Share of all texts that both have; of equal ones, items with the same number go together."""
    one, other = pair
    return n / (_size(suites, one) + _size(suites, other) - n), one[1] == other[1]
