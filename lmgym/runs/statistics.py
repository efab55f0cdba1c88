"""Statistics of outcomes over items: the single place to add a statistic of a run.

A field of `RunStatistics` with its value in `statistics` becomes a column of the tables `rates` and `scores` (library,
CSV, Parquet), a key of the API and a line of docs/names.md. The site stores the values of a run under each rule in
columns of the same names (`gym.runs.models.RunScore`). Recipe: docs/architecture.md, "Add a statistic of a run".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from lmgym.stats import margin_summary
from lmgym.text.columns import described


@dataclass(frozen=True)
class RunStatistics:
    """Statistics of a run under a scoring rule, or of one prediction, over its items."""

    mean_margin: float | None = described("mean of the items’ margins", "bits")
    margin_low: float | None = described("lower limit of the 95% interval of the mean margin", "bits")
    margin_high: float | None = described("upper limit of the 95% interval of the mean margin", "bits")
    effect_size_g: float | None = described(
        "Hedges’ g: mean over standard deviation, corrected for few items"
    )


STATISTICS = tuple(field.name for field in fields(RunStatistics))
NO_STATISTICS = RunStatistics(*[None] * len(STATISTICS))
"""Statistics of a run that lacks predictions the rule needs."""


def statistics(shares: NDArray[np.float64], margins: Sequence[float | None]) -> RunStatistics:
    """Compute the statistics of a run or prediction.

    Args:
        shares: float64[n_items], pass share of each item, 0..1.
        margins: one per item, in bits; None = no value.
    """
    return RunStatistics(**asdict(margin_summary(margins)))
