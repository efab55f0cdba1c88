"""Which items of revisions share material, and by how much that widens the interval of a mean over suites."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from django.core.cache import cache
from django.db.models import Case, F, JSONField, When
from numpy.typing import NDArray

from gym.runs.models import PredictionResult
from lmgym.runs.rules import FIRST, Rule, rule_of, shares_of
from lmgym.stats import shared_factor
from lmgym.suites.shared_items import material_of, shared_groups
from suites.models import Sentence, SuiteRevision

MOST_RUNS = 600
"""Runs whose outcomes a table reads; the intervals of a larger one assume independent items, and it says so."""

DAY_SECONDS = 86_400

_KEYS = Case(When(position=0, then=F("revision__extra")), output_field=JSONField(null=True))
"""The revision's unknown keys, once."""

Floats = NDArray[np.float64]
Groups = Mapping[int, Mapping[int, int]]
"""Revision id -> item -> number of its group. Revisions and items that share nothing are left out."""


def groups_of(revisions: Sequence[SuiteRevision]) -> Groups:
    """Of these frozen revisions. Their content does not change, so what was found is kept by their hashes."""
    if len(revisions) < 2:
        return {}
    key = "shared-items:" + hashlib.sha256(" ".join(row.sha256 for row in revisions).encode()).hexdigest()
    found: list[dict[int, int]] | None = cache.get(key)
    if found is None:
        sentences: dict[int, list[tuple[int, list[str]]]] = defaultdict(list)
        extra: dict[int, dict[str, Any]] = {}
        rows = Sentence.objects.filter(revision__in=revisions).order_by()
        for revision, item, contents, keys in rows.values_list("revision_id", "item", "contents", _KEYS):
            sentences[revision].append((item, contents))
            if keys:
                extra[revision] = keys
        found = shared_groups([material_of(sentences[row.pk], extra.get(row.pk, {})) for row in revisions])
        cache.set(key, found, DAY_SECONDS)
    return {row.pk: groups for row, groups in zip(revisions, found, strict=True) if groups}


def shares_of_runs(keys: Sequence[str], rule: Rule) -> Mapping[str, Mapping[int, float]] | None:
    """Run -> item -> what it counts under the rule, under which these runs have a rate; None for more than MOST_RUNS
    of them."""
    return _shares(tuple(sorted(keys)), rule.key) if len(keys) <= MOST_RUNS else None


@lru_cache(maxsize=32)  # at most 200 kB each; outcomes of a finished run do not change
def _shares(keys: tuple[str, ...], rule: str) -> Mapping[str, Mapping[int, float]]:
    results = PredictionResult.objects.filter(run__key__in=keys)
    if rule == FIRST.key:
        results = results.filter(position=0)
    outcomes: dict[str, list[list[int]]] = defaultdict(list)
    items: dict[str, list[int]] = {}
    for key, numbers, codes in results.order_by("position").values_list("run__key", "items", "outcomes"):
        outcomes[key].append(codes)
        items[key] = numbers
    return {
        key: dict(zip(items[key], (float(share) for share in shares_of(rows, rule_of(rule))), strict=True))
        for key, rows in outcomes.items()
    }


def numbered(items: Sequence[int], groups: Mapping[int, int], start: int) -> NDArray[np.int64]:
    """Each item's group; items that share nothing have groups of their own, from `start` on."""
    return np.array([groups.get(item, start + place) for place, item in enumerate(items)], dtype=np.int64)


def groups_by_suite(
    suites: Sequence[tuple[int, Sequence[int]]], groups: Groups
) -> list[NDArray[np.int64]] | None:
    """`suites`: (revision id, items). None where fewer than two of them share material."""
    if sum(revision in groups for revision, _ in suites) < 2:
        return None
    start = 1 + max((number for found in groups.values() for number in found.values()), default=0)
    rows = []
    for revision, items in suites:
        rows.append(numbered(items, groups.get(revision, {}), start))
        start += len(items)
    return rows


def factor_of_mean(
    suites: Sequence[tuple[int, float, float, float, Mapping[int, float] | None]], groups: Groups
) -> float | None:
    """By how much the standard error of a mean over suites is greater than with independent items: 1 where no two of
    them share material, None where what their items count is not known.

    `suites`: (revision id, weight, rate, effective items, what the items count)."""
    sharing = [one for one in suites if one[0] in groups]
    if len(sharing) < 2:
        return 1.0
    total = math.fsum(weight for _, weight, *_ in suites)
    strata, weights, known = [], [], []
    for revision, weight, _, _, shares in sharing:
        if shares is None:
            return None
        strata.append(np.array(list(shares.values())))
        weights.append(weight / total)
        known.append((revision, list(shares)))
    others = [one for one in suites if one[0] not in groups]
    rest = math.fsum((weight / total) ** 2 * rate * (1 - rate) / n for _, weight, rate, n, _ in others)
    numbers = groups_by_suite(known, groups)
    return 1.0 if numbers is None else shared_factor(strata, weights, numbers, rest)
