"""p values from resamples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from lmgym.stats import two_sided_p


@pytest.mark.parametrize("units", [1, 2, 3, 6, 10])
def test_few_units_that_agree_give_the_p_of_a_sign_test(units: int) -> None:
    assert two_sided_p(np.full(9_999, 0.1), units) == pytest.approx(binomtest(units, units).pvalue)


def test_many_units_give_twice_the_share_of_resamples_beyond_zero() -> None:
    differences = np.r_[np.full(30, -1.0), np.full(970, 1.0)]
    assert two_sided_p(differences, 100) == 0.06
    assert two_sided_p(np.full(999, 1.0), 100) == 0.002
    assert two_sided_p(np.zeros(999), 100) == 1.0
