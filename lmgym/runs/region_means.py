"""Mean bits by condition and region with intervals, from stored summaries and sentences.

A summary is a list of {"condition", "regions": [{"n", "mean", "low", "high", "not_computed"}]}, made by
`lmgym.runs.compute`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from lmgym.stats.intervals import within_item_intervals

Summary: TypeAlias = list[dict[str, Any]]
SentenceRegions: TypeAlias = tuple[int, str, Sequence[str], Sequence[float | None]]
"""Item, condition, contents and bits of the regions."""


def within_item_means(summary: Summary, sentences: Iterable[SentenceRegions], n_regions: int) -> Summary:
    """Recompute the summary over items that have the region in all conditions, with within-item intervals
    (Cousineau and Morey, see `within_item_intervals`). `sentences`: in the suite's order."""
    conditions = [row["condition"] for row in summary]
    rows = list(sentences)
    items: dict[int, int] = {}
    for item, *_ in rows:
        items.setdefault(item, len(items))
    values = np.full((n_regions, len(items), len(conditions)), np.nan)
    for item, condition, contents, bits in rows:
        if condition in conditions:
            filled = [b if text and b is not None else np.nan for b, text in zip(bits, contents, strict=True)]
            values[:, items[item], conditions.index(condition)] = filled
    means = [within_item_intervals(values[region]) for region in range(n_regions)]
    return [
        {
            "condition": row["condition"],
            "regions": [
                {**cell, "n": m.n, "mean": m.mean, "low": m.low, "high": m.high}
                for cell, m in zip(row["regions"], (column[place] for column in means), strict=True)
            ],
        }
        for place, row in enumerate(summary)
    ]
