"""Statistics of a run over its items."""

import numpy as np
import pytest

from lmgym.runs.statistics import NO_STATISTICS, STATISTICS, statistics
from lmgym.stats import margin_summary


def test_margins_are_summarised_over_the_items_that_have_one():
    found = statistics(np.array([1.0, 1.0, 0.0, 0.0]), [2.0, 1.0, -1.0, None])
    assert found.mean_margin == pytest.approx(2 / 3)
    assert (found.margin_low, found.margin_high) == (
        margin_summary([2.0, 1.0, -1.0]).margin_low,
        margin_summary([2.0, 1.0, -1.0]).margin_high,
    )


def test_a_run_without_a_rate_has_no_statistics():
    assert {getattr(NO_STATISTICS, name) for name in STATISTICS} == {None}
