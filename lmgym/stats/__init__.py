"""Statistics of results, with numpy and scipy. docs/statistics.md explains each number."""

from .comparison import BOOTSTRAP, FISHER, MCNEMAR, SIGN, TESTS, Comparison, SignificanceTest, corrected
from .correlation import Correlation, pearson, spearman, split_half_reliability
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
    BENJAMINI_HOCHBERG,
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
from .resampling import (
    drawn_sums,
    multinomial_sums,
    percentile_interval,
    two_sided_p,
)
from .skew import is_skewed_for_its_size
from .summaries import MarginSummary, Spread, margin_summary, spread

__all__ = [
    "BENJAMINI_HOCHBERG",
    "BOOTSTRAP",
    "CORRECTIONS",
    "FISHER",
    "HOLM",
    "MCNEMAR",
    "SIGN",
    "TESTS",
    "Comparison",
    "Correction",
    "Correlation",
    "Difference",
    "MarginSummary",
    "McNemar",
    "SignificanceTest",
    "Spread",
    "benjamini_hochberg",
    "corrected",
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
    "pearson",
    "percentile_interval",
    "rate_difference",
    "score_interval",
    "shared_factor",
    "sign_test",
    "spearman",
    "split_half_reliability",
    "spread",
    "tail_above",
    "two_sided_p",
    "weighted_mean",
]
