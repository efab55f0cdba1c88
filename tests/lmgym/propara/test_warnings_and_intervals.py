"""Warnings, bootstrap intervals, comparison of systems."""

from __future__ import annotations

import time

import numpy as np
import pytest

from lmgym.propara import evaluate
from lmgym.propara.bootstrap import _overall, _resampled, bootstrap, compare, compare_matrices
from lmgym.propara.corrected import bounded_overlap
from lmgym.stats import holm
from tests.lmgym.propara.worlds import LIGHT, shipped, tsv


def codes(answers: str, predictions: str) -> list[tuple]:
    return [(flag.code, flag.step, flag.line) for flag in evaluate(answers, predictions).warnings]


@pytest.mark.parametrize(
    ("answers", "predictions", "expected"),
    [
        (
            "1 1 a DESTROY sun -|1 1 b CREATE - sun",
            "1 1 a DESTROY sun -|1 1 b CREATE - the~sun",
            "pair-above-one",
        ),
        (
            "1 1 a DESTROY sun -|1 1 b CREATE - sun",
            "1 1 a DESTROY sun -|1 1 b CREATE - the~sun",
            "location-variants",
        ),
        ("1 1 a NONE x x", "1 1 a NONE x x", "all-none"),
        ("1 1 a CREATE - x", "1 1 a CREATE - unk", "literal-token"),
        ("1 1 a MOVE x y|1 2 a NONE y y", "1 1 a MOVE x y|1 2 a NONE z z", "chain-break"),
        ("1 1 a MOVE x y|1 2 a NONE y y", "1 1 a MOVE x y|1 2 a NONE z z", "action-state"),
        ("1 1 a MOVE x y|1 2 a NONE y y", "1 1 a MOVE x y", "missing-row"),
        ("1 1 a MOVE x y", "1 1 a MOVE x z|1 1 a MOVE x y", "duplicate-row"),
        ("1 1 a MOVE x y", "1 1 a MOVE x y|1 2 a NONE y y", "extra-row"),
        ("1 1 a MOVE x y", "1 1 a MOVE x y|2 1 a MOVE x y", "extra-row"),
        (
            "1 1 a;~x DESTROY p -|1 1 c DESTROY p -",
            "1 1 a;~x DESTROY p -|1 1 c NONE p p",
            None,
        ),
    ],
)
def test_warnings(answers, predictions, expected):
    found = {code for code, _, _ in codes(tsv(*answers.split("|")), tsv(*predictions.split("|")))}
    assert expected in found if expected else not found


def test_a_pair_below_zero_is_named():
    answers = tsv("1 1 a DESTROY Sun -", "1 1 c CREATE - the~sun")
    predictions = tsv("1 1 a DESTROY sun -", "1 1 c CREATE - a~sun", "2 1 z NONE ? ?")
    assert ("no-score", None, None) in codes(answers, predictions)
    three = tsv("1 1 a DESTROY Sun -", "1 1 c CREATE - the~sun", "1 1 d CREATE - suns")
    two = tsv("1 1 a DESTROY sun -", "1 1 c CREATE - a~sun", "1 1 d CREATE - a~sun")
    assert "pair-below-zero" in {code for code, _, _ in codes(three, two)}


def test_equal_counts_are_named_where_they_hide_a_missed_answer():
    answers = tsv("1 1 a;~x CREATE - p", "1 1 x;~b CREATE - p", "1 1 c CREATE - p", "1 1 d NONE ? ?")
    predictions = tsv("1 1 a;~x CREATE - p", "1 1 x;~b CREATE - p", "1 1 c NONE - -", "1 1 d CREATE - p")
    found = {flag.code: flag.message for flag in evaluate(answers, predictions).warnings}
    assert "equal-counts" not in found
    moved = tsv("1 1 a MOVE x y", "1 1 b MOVE x q")
    other = tsv("1 1 a MOVE x y", "1 1 b MOVE x y")
    report = evaluate(moved, other)
    assert (report.processes[0].scores["moves"].recall, report.corrected.questions["moves"].recall) == (
        pytest.approx(5 / 6),
        pytest.approx(5 / 6),
    )


def test_location_variants_do_not_pay_in_the_corrected_metric():
    answers = tsv("1 1 a DESTROY sun -", "1 1 b CREATE - sun")
    report = evaluate(answers, answers.replace("-\tsun", "-\tthe sun"))
    assert report.f1 > 1
    assert report.corrected.f1 == 1.0


@pytest.mark.parametrize(
    ("answer", "prediction", "overlap"),
    [
        ((("a",),), (("a",), ("b",)), 1 / 2),
        ((("a",), ("b",)), (("a", "b"), ("a",)), 1.0),
        ((("a",), ("a", "b"), ("a", "c")), (("a",), ("a", "d")), 2 / 3),
        ((("a",), ("b",)), (("c",), ("d",)), 0.0),
        (tuple((f"{k}", f"{k + 1}") for k in range(1500)), tuple((f"{k}",) for k in range(1, 1501)), 1.0),
    ],
)
def test_bounded_overlaps_give_each_term_one_partner(answer, prediction, overlap):
    assert bounded_overlap(answer, prediction) == pytest.approx(overlap)


def test_one_answer_serves_one_prediction_in_the_corrected_metric():
    answers = tsv("1 1 a;~x DESTROY p -", "1 1 b DESTROY p -", "1 1 x NONE p p")
    predictions = tsv("1 1 a;~x DESTROY p -", "1 1 b NONE p p", "1 1 x DESTROY p -")
    report = evaluate(answers, predictions)
    assert report.processes[0].scores["inputs"] == (1.0, 1.0)
    assert report.corrected.questions["inputs"] == (0.5, 0.5)
    assert "equal-counts" in {flag.code for flag in report.warnings}


def test_intervals_hold_the_score_and_depend_on_nothing_but_the_seed():
    report = evaluate(shipped("answers"), shipped("hasty"))
    first, second = bootstrap(report, 2_000), bootstrap(report, 2_000)
    assert first == second
    assert first.f1.low < report.f1 < first.f1.high
    assert first.questions["moves"]["recall"].low <= report.questions["moves"].recall


def test_resamples_are_what_drawing_with_replacement_gives():
    """Compare with one resample at a time, averaged as by the reference."""
    values = np.random.default_rng(3).random((7, 8))
    drawn = np.random.default_rng(5).multinomial(7, np.full(7, 1 / 7), size=20)
    precision, _, _ = _overall(_resampled(values, 20, np.random.default_rng(5)))
    for weights, given in zip(drawn, precision, strict=True):
        rows = np.repeat(values, weights, axis=0)
        means = [round(float(rows[:, k].mean()), 3) for k in range(0, 8, 2)]
        assert given == pytest.approx(sum(means) / 4, abs=1.1e-3)


def test_a_system_against_itself_is_neither_better_nor_worse():
    report = evaluate(shipped("answers"), shipped("hasty"))
    (same,) = compare(report, report, resamples=500)
    row = same.overall
    assert (row.difference, row.low, row.high, row.p) == (0.0, 0.0, 0.0, 1.0)
    assert (row.only_first, row.only_second, same.n_equal) == (0, 0, 14)
    assert all(one.p == 1.0 for one in same.questions.values())


def test_differences_are_second_less_first():
    careful, hasty = (evaluate(shipped("answers"), shipped(name)) for name in ("careful", "hasty"))
    (found,) = compare(careful, hasty, resamples=2_000)
    assert found.overall.high < 0
    assert found.overall.p < 0.05
    assert found.overall.only_first > found.overall.only_second
    assert found.differences[12] == 0.0
    (back,) = compare(hasty, careful, resamples=2_000)
    assert back.overall.difference == -found.overall.difference


def test_each_question_has_a_difference_with_its_interval():
    careful, hasty = (evaluate(shipped("answers"), shipped(name)) for name in ("careful", "hasty"))
    (found,) = compare(careful, hasty, resamples=2_000)
    for name, one in found.questions.items():
        assert one.difference == hasty.questions[name].f1 - careful.questions[name].f1
        assert one.low <= one.difference <= one.high
        assert one.low < one.high


def test_p_is_corrected_for_all_comparisons_that_stand_together():
    reports = [evaluate(shipped("answers"), shipped(name)) for name in ("careful", "hasty", "answers")]
    alone = [compare(reports[0], other, resamples=2_000)[0] for other in reports[1:]]
    together = compare(*reports, resamples=2_000)
    assert [one.overall.p for one in together] == [one.overall.p for one in alone]
    assert [one.overall.p_corrected for one in together] == holm([one.overall.p for one in alone])
    each = [one.p for pair in alone for one in pair.questions.values()]
    assert [one.p_corrected for pair in together for one in pair.questions.values()] == holm(each)
    assert alone[0].overall.p_corrected == alone[0].overall.p


def test_reports_about_different_processes_cannot_be_compared():
    with pytest.raises(ValueError, match="have different processes"):
        compare(evaluate(LIGHT, LIGHT), evaluate(shipped("answers"), shipped("hasty")))


def test_ten_thousand_resamples_of_54_processes_are_quick():
    values = np.random.default_rng(0).random((54, 8))
    times = []
    for _ in range(3):
        start = time.process_time()
        _overall(_resampled(values, 10_000, np.random.default_rng(0)))
        times.append(time.process_time() - start)
    assert min(times) < 0.4  # 0.05 s on an idle core; the bound leaves room for a busy one


@pytest.mark.parametrize(("n", "p"), [(1, 1.0), (2, 0.5), (3, 0.25)])
def test_few_processes_do_not_show_that_a_system_is_better(n, p):
    worse = np.full((n, 8), 0.5)
    better = worse + 0.1 + np.arange(n)[:, None] * 0.01
    row = compare_matrices(list(range(n)), ["a", "b"], worse, better)[0].overall
    assert row.p == p
    assert (row.low is None) == (n == 1)
    assert not row.is_significant
