"""Groups of items that share material across suites, and the factor by which sharing widens the interval of a mean over
suites."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lmgym.stats import shared_factor

Groups: TypeAlias = Mapping[int, Mapping[int, int]]
"""Revision id -> item -> group number. Revisions and items that share nothing are left out."""


def numbered(items: Sequence[int], groups: Mapping[int, int], start: int) -> NDArray[np.int64]:
    """Return the group number of each item; items that share nothing get unique numbers, from `start`."""
    return np.array([groups.get(item, start + place) for place, item in enumerate(items)], dtype=np.int64)


def groups_by_suite(
    suites: Sequence[tuple[int, Sequence[int]]], groups: Groups
) -> list[NDArray[np.int64]] | None:
    """Return group numbers by suite; None if fewer than two suites share material. `suites`: (revision id, items)."""
    if sum(revision in groups for revision, _ in suites) < 2:
        return None
    start = 1 + max((number for members in groups.values() for number in members.values()), default=0)
    rows = []
    for revision, items in suites:
        rows.append(numbered(items, groups.get(revision, {}), start))
        start += len(items)
    return rows


def factor_of_mean(
    suites: Sequence[tuple[int, float, float, float, Mapping[int, float] | None]], groups: Groups
) -> float | None:
    """Return the factor by which shared material increases the standard error of a mean over suites: 1 if no two suites
    share material, None if the items' pass shares are unknown.

    `suites`: (revision id, weight, rate, effective items, pass share by item).
    """
    sharing = [suite for suite in suites if suite[0] in groups]
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
    others = [suite for suite in suites if suite[0] not in groups]
    other_variance = math.fsum(
        (weight / total) ** 2 * rate * (1 - rate) / n for _, weight, rate, n, _ in others
    )
    numbers = groups_by_suite(known, groups)
    return 1.0 if numbers is None else shared_factor(strata, weights, numbers, other_variance)
