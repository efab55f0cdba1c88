"""Outcomes of predictions, ours against float64: which differ, and whether those are marked too close to call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.engine.workload import Workload, suite_files
from models_registry.engine import ERROR_BITS, margin_bound, share_prefix_scores
from suites.formats import SuiteDocument, read_suite
from suites.formulas import TIE, parse
from suites.regions import align, join, region_values

_ROUNDING = 1e-9


def compare(
    scores: Sequence[Any], exact: Sequence[Sequence[float]], load: Workload, suites: int | None
) -> dict[str, int]:
    """Over all predictions and items: how many there are, how many are too close to call (a margin below
    `margin_bound` for fp32), and how many come out otherwise than in float64, marked and unmarked."""
    counts = {"outcomes": 0, "too_close": 0, "differ_marked": 0, "differ_unmarked": 0}
    ours = share_prefix_scores(list(scores))
    truth = share_prefix_scores(
        [replace(own, bits=[None, *bits]) for own, bits in zip(ours, exact, strict=True)]
    )
    start = 0
    for path in suite_files(suites)[1]:
        document = read_suite(path.read_bytes(), path.name)
        stop = start + len(document.sentences)
        found, tokens = _judged(document, ours[start:stop])
        right, _ = _judged(document, truth[start:stop])
        for (outcome, margin), (expected, _), count in zip(found, right, tokens, strict=True):
            bounds = np.array([margin_bound(ERROR_BITS["float32"], int(many)) for many in count])
            close = (np.abs(margin) < bounds) & (outcome != TIE)
            differ = outcome != expected
            counts["outcomes"] += len(outcome)
            counts["too_close"] += int(close.sum())
            counts["differ_marked"] += int((differ & close).sum())
            counts["differ_unmarked"] += int((differ & ~close).sum())
        start = stop
    if start != len(load.texts):
        raise ValueError(f"{start} sentences in the suites, {len(load.texts)} in the load")
    return counts


def _judged(document: SuiteDocument, scores: Sequence[Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Outcomes and margins of each prediction over all items; and how many tokens each item's margin sums."""
    items = sorted({sentence.item for sentence in document.sentences})
    number = {item: at for at, item in enumerate(items)}
    width = len(document.region_names)
    bits: dict[tuple[str, int | str], Any] = {}
    counts: dict[tuple[str, int | str], Any] = {}
    for sentence, own in zip(document.sentences, scores, strict=True):
        joined = join(sentence.contents)
        placed = align(joined, own.offsets, own.special)
        values = region_values(placed, own.bits, width).values
        for region in range(1, width + 1):
            key, at = (sentence.condition, region), number[sentence.item]
            bits.setdefault(key, np.full(len(items), np.nan))[at] = values[region - 1]
            counts.setdefault(key, np.zeros(len(items), int))[at] = placed.region.count(region - 1)
    found, sizes = [], []
    for prediction in document.predictions:
        formula = parse(prediction.formula)
        judged = formula.evaluate_items(bits)
        tie = np.abs(judged.margin) < _ROUNDING
        found.append((np.where(tie, np.uint8(TIE), judged.outcome), judged.margin))
        keys = [
            (condition, region)
            for condition, named in formula.references
            for region in (range(1, width + 1) if named == "*" else [named])
        ]
        sizes.append(sum(counts[key] for key in keys))
    return found, sizes
