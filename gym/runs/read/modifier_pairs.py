"""Which suite is which other one with a modifier in between."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.text import slugify

from suites.models import SuiteRevision

MODIFIED = re.compile(r"^(?P<plain>.+)[_-](?:mod|modifier)$")
"""In the file, a suite with a modifier is called like the suite without it, and `_mod` or `_modifier`."""


def pairs_of(revisions: Sequence[SuiteRevision]) -> list[tuple[int, int]]:
    """Places of (the one without, the one with the modifier). What `Suite.without_modifier` names goes before names in
    files. By name, both belong to one owner or one published collection; of several, the one in the same collection is
    taken, then the owner's, then the one that was added nearest to the other, before it if two are equally near."""
    by_suite = {row.suite_id: k for k, row in enumerate(revisions)}
    by_name: dict[str, list[int]] = {}
    for k, row in enumerate(revisions):
        by_name.setdefault(slugify(row.name), []).append(k)
    by_hand: list[tuple[int, int]] = []
    candidates: dict[int, list[int]] = {}
    for k, row in enumerate(revisions):
        match = MODIFIED.match(slugify(row.name))
        if row.suite.without_modifier_id is not None:
            if (plain := by_suite.get(row.suite.without_modifier_id)) is not None:
                by_hand.append((plain, k))
        elif match and match["plain"] in by_name:
            candidates[k] = by_name[match["plain"]]
    return sorted([*by_hand, *_by_name(revisions, candidates)], key=lambda pair: pair[1])


def _by_name(revisions: Sequence[SuiteRevision], candidates: dict[int, list[int]]) -> list[tuple[int, int]]:
    if not candidates:
        return []
    concerned = {revisions[k].suite_id for found in candidates.items() for k in (found[0], *found[1])}
    together: dict[int, set[int]] = {}
    collected = SuiteRevision.objects.filter(
        suite__in=concerned, collection_entries__collection__published_at__isnull=False
    )
    for suite, collection in collected.values_list("suite_id", "collection_entries__collection"):
        together.setdefault(suite, set()).add(collection)
    pairs = []
    for k, places in candidates.items():
        modified = revisions[k]

        def nearness(place: int, modified: SuiteRevision = modified) -> tuple[bool, bool, int, bool]:
            plain = revisions[place]
            shared = together.get(plain.suite_id, set()) & together.get(modified.suite_id, set())
            same_owner = plain.suite.owner_id == modified.suite.owner_id
            distance = plain.suite_id - modified.suite_id
            return not shared, not same_owner, abs(distance), distance > 0

        best = min(places, key=nearness)
        if nearness(best)[:2] != (True, True):
            pairs.append((best, k))
    return pairs
