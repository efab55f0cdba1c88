"""Weighted means over the suites of a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmgym.runs.against_chance import effective_items
from lmgym.runs.leaderboard.board import Cell, Column, Mean
from lmgym.runs.shared_material import Groups, factor_of_mean
from lmgym.stats import weighted_mean


@dataclass(frozen=True)
class Material:
    """Groups of items that share material in the table's suites. `shares`: pass rates by run and item; None
    if there are too many runs."""

    groups: Groups
    shares: Mapping[str, Mapping[int, float]] | None


def mean_over(pairs: Sequence[tuple[Column, Cell | None]], material: Material) -> Mean | None:
    """Return the weighted mean of the available cells, None without any; suites of weight 0 do not count."""
    counting = [(column, cell) for column, cell in pairs if column.weight > 0]
    known = [(column, cell) for column, cell in counting if cell is not None]
    sizes = [effective_items(cell) for _, cell in known]
    factor: float | None = 1.0
    groups, shares = material.groups, material.shares
    is_sharing = sum(column.revision_id in groups for column, _ in known) > 1
    if is_sharing and shares is not None:
        suites = [
            (column.revision_id, column.weight, cell.rate, n, shares.get(cell.run))
            for (column, cell), n in zip(known, sizes, strict=True)
        ]
        factor = factor_of_mean(suites, groups)
    elif is_sharing:
        factor = None
    rates, weights = [cell.rate for _, cell in known], [column.weight for column, _ in known]
    mean = weighted_mean(rates, sizes, weights, factor or 1.0)
    if mean is None:
        return None
    return Mean(mean[0], mean[1].low, mean[1].high, len(known), len(counting), shared_items_factor=factor)
