"""`Comparison` of two runs, logs of a game, predictions of processes, or runs of agent tests.

A comparison is one row of a table. Its field names are the columns of CSV and Parquet files and the keys of
JSON (`lmgym.text.columns`). The subject of a row (a prediction, a question, a case) is a dataclass of the
domain, which comes first: `table((Predicted, Comparison), rows)`. A domain that reports more (clusters,
errors) adds the fields in a subclass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lmgym.text.columns import described

from .multiple_comparisons import HOLM, Correction


@dataclass(frozen=True)
class SignificanceTest:
    """A test of a difference. `key` is the value in tables, `label` the name in sentences."""

    key: str
    label: str


MCNEMAR = SignificanceTest("mcnemar", "McNemar’s exact test")
SIGN = SignificanceTest("sign", "the exact sign test on the items’ shares")
FISHER = SignificanceTest("fisher", "Fisher’s exact test")
BOOTSTRAP = SignificanceTest("bootstrap", "the share of resamples on the other side of zero")
TESTS = {test.key: test for test in (MCNEMAR, SIGN, FISHER, BOOTSTRAP)}
ALPHA = 0.05
"""Significance level."""


@dataclass(frozen=True)
class Comparison:
    """Two sides of one measure; differences are second − first. Tests are two-sided."""

    first: str = described("name of the first side: the baseline, if there is one")
    second: str = described("name of the second side")
    measure: str = described("what is compared: rate (pass rate), f1, gain, or a metric of the game")
    n: int | None = described(
        "pairs: items, tokens or processes that both sides have; empty: independent samples"
    )
    first_value: float | None = described("value of the first side over the pairs", "of the measure")
    second_value: float | None = described("value of the second side over the pairs", "of the measure")
    difference: float | None = described("second_value − first_value", "of the measure")
    low: float | None = described("lower limit of the difference’s 95% interval", "of the measure")
    high: float | None = described("upper limit of the difference’s 95% interval", "of the measure")
    only_first: int | None = described("pairs that favour the first side; empty: not counted", "pairs")
    only_second: int | None = described("pairs that favour the second side; empty: not counted", "pairs")
    test: str = described("test that gives p: mcnemar, sign, fisher or bootstrap; empty: no p")
    p: float | None = described("two-sided p of the test")
    p_corrected: float | None = described("p, corrected for all comparisons made together", default=None)
    correction: str = described("how p_corrected is computed: holm or bh; empty: not corrected", default="")
    note: str = described("caveat for reading the row, or the reason why it has no p", default="")

    @property
    def excludes_zero(self) -> bool:
        """Whether zero is outside the interval; False without an interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def is_significant(self) -> bool:
        """Whether zero is outside the interval and p, corrected among several comparisons, is below .05."""
        p = self.p if self.p_corrected is None else self.p_corrected
        return self.excludes_zero and p is not None and p < ALPHA


C = TypeVar("C", bound=Comparison)


def corrected(comparisons: Sequence[C], correction: Correction = HOLM) -> list[C]:
    """Correct the p values of comparisons made together. Comparisons without p are kept and not counted."""
    adjusted = iter(correction.adjust([row.p for row in comparisons if row.p is not None]))
    return [
        row if row.p is None else replace(row, p_corrected=next(adjusted), correction=correction.key)
        for row in comparisons
    ]
