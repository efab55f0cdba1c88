"""A short form of benchmarks/chaos: a few faults, one after the other, with a model that loads instantly."""

from __future__ import annotations

import pytest

from benchmarks.chaos.bench import bench

pytestmark = [pytest.mark.process, pytest.mark.long]
FAULTS = ["delete a run", "kill a worker", "lock the database", "set the clock"]


def test_faults_lose_nothing_double_nothing_and_change_nothing():
    found = bench(len(FAULTS), kinds=FAULTS, model="demo-ngram", suites=["npi"])
    assert sorted(found.took) == FAULTS
    assert (found.lost, found.doubled, found.different) == (0, 0, 0)
    assert (found.runs >= 3, found.deleted) == (True, 1)
