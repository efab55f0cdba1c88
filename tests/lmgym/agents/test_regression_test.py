"""The test for falling pass rates: exact, per case and pooled, with a correction for both."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import fisher_exact

from lmgym.agents import regression_test
from lmgym.agents.regression_test import (
    Limit,
    Regression,
    Stratum,
    compare_with_baseline,
    limits,
    min_iterations,
)


def test_a_single_case_is_fishers_one_sided_exact_test():
    found = compare_with_baseline([Stratum((9, 10), (4, 10))])
    assert found.p == pytest.approx(fisher_exact([[4, 6], [9, 1]], alternative="less").pvalue)
    assert (found.before, found.now, found.cases) == (0.9, 0.4, 1)


def test_cases_of_different_difficulty_are_not_pooled_into_one_table():
    """An easy case now has more iterations and a hard one fewer: pooling would show a change where there is
    none."""
    strata = [Stratum((50, 50), (5, 5)), Stratum((0, 5), (0, 50))]
    assert compare_with_baseline(strata).p == 1.0
    assert compare_with_baseline([Stratum((50, 55), (5, 55))]).p < 1e-10


def test_evidence_of_several_cases_accumulates_and_cases_without_verdict_are_left_out():
    """With several cases p is doubled, because single cases are tested as well."""
    one = [Stratum((3, 3), (0, 3))]
    assert compare_with_baseline(one).p == pytest.approx(1 / 20)
    assert compare_with_baseline(one * 3).p == pytest.approx(2 / 20**3)
    found = compare_with_baseline([*one, Stratum((0, 0), (0, 3), "new"), Stratum((3, 3), (0, 0), "gone")])
    assert (found.p, found.cases, found.lost) == (compare_with_baseline(one).p, 1, ("gone",))
    assert compare_with_baseline([]).p is None


DEAD = Stratum((50, 50), (0, 10), "dead")


@pytest.mark.parametrize(
    "others",
    [[Stratum((30, 50), (6, 10))] * 9, [Stratum((25, 50), (8, 10))] * 4],
    ids=["as before", "better"],
)
def test_one_dead_case_among_flaky_ones_is_reported(others):
    found = compare_with_baseline([*others, DEAD])
    assert not found.is_significant
    assert [(case.name, case.before, case.now) for case in found.regressed] == [("dead", (50, 50), (0, 10))]
    assert found.regressed[0].p < 1e-9


def test_single_cases_are_corrected_by_holm():
    """Alone, the case has p = 1/816; among ten cases, p is multiplied by 10, and by 2 for the pooled test."""
    one = Stratum((15, 15), (0, 3), "one")
    assert compare_with_baseline([one], alpha=0.01).regressed[0].p == pytest.approx(1 / 816)
    found = compare_with_baseline([one, *[Stratum((15, 15), (3, 3))] * 9], alpha=0.03)
    assert found.regressed[0].p == pytest.approx(2 * 10 / 816)


def test_a_stored_result_round_trips_and_may_lack_case_results():
    found = compare_with_baseline([DEAD, Stratum((3, 3), (0, 0), "gone")])
    again = Regression.from_dict(json.loads(json.dumps(found.as_dict())))
    assert (again.regressed_sentence, again.lost_sentence) == (found.regressed_sentence, found.lost_sentence)
    assert "dead (50/50 before, 0/10 now)" in again.regressed_sentence
    assert Regression.from_dict({"before": 1.0, "now": 0.5, "p": 0.1, "cases": 2}).regressed == ()


def test_limits_per_case_and_for_cases_falling_together():
    assert limits([1] * 20) == [Limit(1, 20, max_passed=None, together=5)]
    assert limits([1] * 4) == [Limit(1, 4, max_passed=None, together=None)]
    assert limits([20] * 12) == [Limit(20, 12, max_passed=14, together=1)]
    assert min_iterations(1) == min_iterations(2) == 4
    assert min_iterations(20) == 5


@pytest.mark.parametrize(("n", "cases"), [(20, 12), (5, 20), (6, 3), (10, 1)])
def test_the_limit_per_case_is_where_the_test_becomes_significant(n, cases):
    (limit,) = limits([n] * cases)
    rest = [Stratum((5 * n, 5 * n), (n, n))] * (cases - 1)
    assert compare_with_baseline([Stratum((5 * n, 5 * n), (limit.max_passed, n)), *rest]).regressed
    assert not compare_with_baseline([Stratum((5 * n, 5 * n), (limit.max_passed + 1, n)), *rest]).regressed


def test_the_limit_together_is_where_the_pooled_test_becomes_significant():
    fell, stood = Stratum((5, 5), (0, 1)), Stratum((5, 5), (1, 1))
    assert compare_with_baseline([fell] * 5 + [stood] * 15).is_significant
    assert not compare_with_baseline([fell] * 4 + [stood] * 16).is_significant


def test_a_rise_is_not_significant():
    assert compare_with_baseline([Stratum((1, 10), (9, 10))]).p == pytest.approx(1.0, abs=1e-3)


def test_false_alarm_rate_is_at_most_alpha():
    rng = np.random.default_rng(1)
    found = [
        compare_with_baseline(
            [
                Stratum((int(rng.binomial(15, rate)), 15), (int(rng.binomial(3, rate)), 3))
                for rate in (0.3, 0.6, 0.8, 0.95)
            ],
            alpha=0.05,
        )
        for _ in range(400)
    ]
    alarms = sum(bool(one.p < 0.05 or one.regressed) for one in found)
    assert alarms <= 400 * 0.05 + 3 * (400 * 0.05 * 0.95) ** 0.5


def test_the_normal_approximation_for_many_iterations_agrees_with_the_exact_test(monkeypatch):
    strata = [Stratum((4500, 5000), (4400, 5000)), Stratum((300, 500), (290, 500))]
    exact = compare_with_baseline(strata).p
    monkeypatch.setattr(regression_test, "MAX_EXACT", 11_000 - 1)
    approximate = compare_with_baseline(strata).p
    assert approximate != exact
    assert approximate == pytest.approx(exact, rel=0.02)
