"""`lmgym agents compare`: the corrected p decides its exit status."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lmgym.agents.run_comparison import RunOutcomes, compare_runs
from lmgym.cli.agents import parser
from lmgym.text.columns import record


class Answers:
    """Client whose server compares these cases: {name: (outcome, passed, n, outcome, passed, n)}."""

    def __init__(self, cases, early_stop=False) -> None:
        first, second = (
            RunOutcomes(
                side, side, side, early_stop,
                {name: Case(*row[at : at + 3], early_stop=early_stop) for name, row in cases.items()},
            )
            for side, at in (("earlier", 0), ("later", 3))
        )  # fmt: skip
        [pair] = compare_runs(first, [second]).pairs
        rows = [record(row.facts, row.comparison) for row in pair.cases]
        other = {"id": "later", "versions": ["2"], "total": record(pair.total), "cases": rows}
        self.compared = {"first": {"id": "earlier", "versions": ["1"]}, "comparisons": [other]}

    def compare_agent_runs(self, first, *others):
        return self.compared


@dataclass(frozen=True)
class Case:
    outcome: str
    passed: int
    n: int
    errors: int = 0
    early_stop: bool = False
    text: str = "case"


@pytest.fixture
def status_of(capsys):
    def status(cases, *words, **more):
        given = parser("lmgym agents").parse_args(["compare", "earlier", "later", *words])
        found = given.act(Answers(cases, **more), given)
        return found, *capsys.readouterr()

    return status


def test_a_missed_ratio_without_a_lower_rate_is_a_remark(status_of):
    status, out, err = status_of({"edge_rate": ("pass", 17, 20, "fail", 15, 20)})
    assert status == 0
    assert err == "ratio missed: edge_rate: 17/20, then 15/20, not significantly lower, p (Holm) 0.695\n"
    assert out.splitlines()[1].endswith("0.695\t0.695")


def test_a_lower_rate_is_a_regression_also_where_the_ratio_is_reached(status_of):
    status, _, err = status_of({"big_fall": ("pass", 20, 20, "pass", 10, 20)})
    assert (status, err) == (1, "regression: big_fall: 20/20, then 10/20, p (Holm) < 0.001\n")


def test_alpha_decides_what_a_regression_is(status_of):
    cases = {"big_fall": ("pass", 20, 20, "pass", 10, 20)}
    assert status_of(cases, "--alpha", "1e-6")[0] == 0
    assert status_of({"edge_rate": ("pass", 17, 20, "fail", 15, 20)}, "--alpha", "0.7")[0] == 1
    for wrong in ("0", "1", "nan", "much"):
        with pytest.raises(SystemExit, match="2"):
            status_of(cases, "--alpha", wrong)


def test_the_p_is_the_corrected_one(status_of):
    """The p is 0.020 for a single case, and ten times that among ten cases."""
    fell, same = ("pass", 20, 20, "pass", 14, 20), ("pass", 20, 20, "pass", 20, 20)
    assert status_of({"fell": fell}, "--alpha", "0.025")[0] == 1
    ten = {"fell": fell, **{f"same{number}": same for number in range(9)}}
    assert status_of(ten, "--alpha", "0.025")[0] == 0


def test_many_small_falls_are_one_of_all_cases_together(status_of):
    cases = {
        f"case{number}": ("pass", 1, 1, "pass" if number < 8 else "fail", int(number < 8), 1)
        for number in range(20)
    }
    status, out, err = status_of(cases)
    assert out.splitlines()[-1].startswith("all cases\t20/20\t8/20\t-0.60\t")
    assert (status, err.splitlines()[0]) == (1, "regression: all cases: 20/20, then 8/20, p (Holm) < 0.001")
    assert "ratio missed: case8: 1/1, then 0/1, not significantly lower, p (Holm) 1.000" in err


def test_a_better_run_and_a_case_of_one_run_are_nothing_to_say(status_of):
    assert status_of({"better": ("fail", 2, 20, "pass", 20, 20)})[::2] == (0, "")


def test_a_missed_ratio_without_any_p_is_no_success(status_of):
    status, _, err = status_of({"early": ("pass", 1, 1, "fail", 0, 2)}, early_stop=True)
    assert status == 3
    assert err == (
        "not tested: early: passed, then fail; no p: with early stopping the number of iterations is not fixed\n"
    )


def test_a_case_in_which_nothing_was_checked_has_no_verdict(status_of):
    status, _, err = status_of({"typo": ("pass", 5, 5, "skipped", 5, 5)})
    assert (status, err) == (3, "no verdict: typo\n")
