"""Statistics of results, with numpy and scipy. docs/results.md explains each number."""

from .equivalence import equivalence_p
from .intervals import (
    effective_n,
    n_of_interval,
    rate_difference,
    score_interval,
    shared_factor,
    tail_above,
    weighted_mean,
)
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
    mcnemar_p,
    paired_difference,
    paired_rates,
    sign_test,
)
from .resampling import drawn_sums, multinomial_sums, percentile_interval
from .skew import is_skewed_for_its_size
from .summaries import MarginSummary, Spread, margin_summary, spread

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
    "drawn_sums",
    "effective_n",
    "equivalence_p",
    "holm",
    "holm_of_known",
    "is_skewed_for_its_size",
    "margin_summary",
    "mcnemar",
    "mcnemar_p",
    "multinomial_sums",
    "n_of_interval",
    "paired_difference",
    "paired_rates",
    "percentile_interval",
    "rate_difference",
    "score_interval",
    "shared_factor",
    "sign_test",
    "spread",
    "tail_above",
    "weighted_mean",
]
