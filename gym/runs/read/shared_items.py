"""Groups of items that share material in stored revisions, and the pass rates of items in runs."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.core.cache import cache
from django.db.models import Case, F, JSONField, When

from gym.runs.models import PredictionResult
from lmgym.runs.rules import FIRST, Rule, rule_of, shares_of
from lmgym.runs.shared_material import Groups
from lmgym.suites.shared_items import material_of, shared_groups
from suites.models import Sentence, SuiteRevision

MOST_RUNS = 600
"""Largest number of runs whose outcomes a table reads; in larger tables intervals assume independent items, with a
note."""

DAY_SECONDS = 86_400

_KEYS = Case(When(position=0, then=F("revision__extra")), output_field=JSONField(null=True))
"""Unknown keys of the revision's file, only on the first row."""


def groups_of(revisions: Sequence[SuiteRevision]) -> Groups:
    """Return groups of items of these frozen revisions; cached by content hash."""
    if len(revisions) < 2:
        return {}
    key = "shared-items:" + hashlib.sha256(" ".join(row.sha256 for row in revisions).encode()).hexdigest()
    cached: list[dict[int, int]] | None = cache.get(key)
    if cached is None:
        sentences: dict[int, list[tuple[int, list[str]]]] = defaultdict(list)
        extra: dict[int, dict[str, Any]] = {}
        rows = Sentence.objects.filter(revision__in=revisions).order_by()
        for revision, item, contents, keys in rows.values_list("revision_id", "item", "contents", _KEYS):
            sentences[revision].append((item, contents))
            if keys:
                extra[revision] = keys
        cached = shared_groups([material_of(sentences[row.pk], extra.get(row.pk, {})) for row in revisions])
        cache.set(key, cached, DAY_SECONDS)
    return {row.pk: groups for row, groups in zip(revisions, cached, strict=True) if groups}


def shares_of_runs(keys: Sequence[str], rule: Rule) -> Mapping[str, Mapping[int, float]] | None:
    """Return pass shares by run and item, for runs with a rate under the rule; None for more than MOST_RUNS runs."""
    return _shares(tuple(sorted(keys)), rule.key) if len(keys) <= MOST_RUNS else None


@lru_cache(maxsize=32)  # at most 200 kB each; outcomes of a finished run never change
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
