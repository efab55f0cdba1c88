"""Statistics of results, pure: numpy and scipy, no Django. What each number means: docs/results.md."""

from .many import benjamini_hochberg, holm
from .margins import MarginSummary, margin_summary
from .paired import (
    Difference,
    McNemar,
    mcnemar,
    paired_difference,
    sign_test,
    stratified_difference,
)
from .rates import effective_n, score_interval, tail_above, weighted_mean
from .seeds import Spread, spread

__all__ = [
    "Difference",
    "MarginSummary",
    "McNemar",
    "Spread",
    "benjamini_hochberg",
    "effective_n",
    "holm",
    "margin_summary",
    "mcnemar",
    "paired_difference",
    "score_interval",
    "sign_test",
    "spread",
    "stratified_difference",
    "tail_above",
    "weighted_mean",
]
