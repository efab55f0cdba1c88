"""Profiles of lags: spill-over, and columns that are shifted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lmgym.people.lags import lag_profile
from lmgym.people.predictors import unit_surprisals, units_of
from tests.lmgym.people.worlds import read, run, suite


def test_the_profile_peaks_where_the_times_belong():
    document = suite(12)
    result = run(document)
    units = units_of(document, "word", "")
    bits = unit_surprisals(document, units, result.sentences)
    people = read(document, result, 4, spill=0.0)

    def peak(observations):
        profile = lag_profile(observations, document, units, bits, lags=(-1, 0, 1))
        assert len({one.n for one in profile}) == 1
        return max(profile, key=lambda one: one.pearson).lag

    assert peak(people) == 0
    late = replace(people, word=(people.word + 1).astype(np.int16))
    assert peak(late.take(late.word <= 5)) == 1
