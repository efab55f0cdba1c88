"""Statistics of results, pure: numpy and scipy, no Django. What each number means: docs/results.md."""

from .margins import MarginSummary, margin_summary
from .multiple_comparisons import (
    CORRECTIONS,
    HOLM,
    Correction,
    benjamini_hochberg,
    correction_of,
    holm,
    holm_of_known,
)
from .paired import (
    Difference,
    McNemar,
    mcnemar,
    paired_difference,
    sign_test,
    stratified_difference,
)
from .rates import effective_n, rate_difference, score_interval, tail_above, weighted_mean
from .seeds import Spread, spread

__all__ = [
    "CORRECTIONS",
    "HOLM",
    "Correction",
    "Difference",
    "MarginSummary",
    "McNemar",
    "Spread",
    "benjamini_hochberg",
    "correction_of",
    "effective_n",
    "holm",
    "holm_of_known",
    "margin_summary",
    "mcnemar",
    "paired_difference",
    "rate_difference",
    "score_interval",
    "sign_test",
    "spread",
    "stratified_difference",
    "tail_above",
    "weighted_mean",
]
