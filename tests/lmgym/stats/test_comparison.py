"""One `Comparison` for runs, games, processes and agents."""

from dataclasses import dataclass, replace

import pytest

from lmgym.stats import BENJAMINI_HOCHBERG, Comparison, corrected
from lmgym.text.columns import described, record, table

ROW = Comparison("a", "b", "rate", 10, 0.5, 0.7, 0.2, 0.05, 0.35, 1, 3, "mcnemar", 0.02)


@dataclass(frozen=True)
class Case:
    case: str = described("name of the case")


@dataclass(frozen=True)
class Clustered(Comparison):
    clusters: int | None = described("resampled clusters", default=None)


def test_p_values_are_corrected_together_and_rows_without_p_do_not_count():
    without = replace(ROW, test="", p=None, note="one line")
    rows = corrected([ROW, without, replace(ROW, p=0.03)])
    assert [row.p_corrected for row in rows] == [0.04, None, 0.04]
    assert [row.correction for row in rows] == ["holm", "", "holm"]


def test_the_correction_is_named_in_the_row():
    assert {row.correction for row in corrected([ROW], BENJAMINI_HOCHBERG)} == {"bh"}


def test_subclass_stays_a_subclass_when_corrected():
    (row,) = corrected([Clustered(**record(ROW), clusters=7)])
    assert (row.clusters, row.p_corrected) == (7, 0.02)


@pytest.mark.parametrize(
    ("low", "high", "excludes"),
    [(0.1, 0.2, True), (-0.2, -0.1, True), (0.0, 0.2, False), (None, None, False)],
)
def test_interval_excludes_zero(low, high, excludes):
    assert replace(ROW, low=low, high=high).excludes_zero is excludes


@pytest.mark.parametrize(
    ("low", "p", "p_corrected", "significant"),
    [(0.1, 0.01, None, True), (0.1, 0.5, None, False), (-0.1, 0.01, None, False), (0.1, 0.01, 0.06, False)],
)
def test_a_significant_difference_has_an_interval_without_zero_and_a_small_p(
    low, p, p_corrected, significant
):
    assert replace(ROW, low=low, high=0.3, p=p, p_corrected=p_corrected).is_significant is significant


def test_fields_of_subject_and_comparison_are_the_columns():
    header, rows = table((Case, Clustered), [(Case("greeting"), Clustered(**record(ROW), clusters=7))])
    assert header[:4] == ["case", "first", "second", "measure"]
    assert header[-1] == "clusters"
    assert dict(zip(header, rows[0], strict=True)) == {"case": "greeting", **record(ROW), "clusters": 7}
