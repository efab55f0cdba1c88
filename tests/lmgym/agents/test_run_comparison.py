"""Comparison of runs by case and by check; iterations with the same answers are pairs."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lmgym.agents import run_comparison
from lmgym.agents.run_comparison import RunOutcomes, check_key, compare_runs, numbered
from lmgym.stats import holm
from lmgym.stats.comparison import FISHER, MCNEMAR


@dataclass(frozen=True)
class Case:
    passed: int
    n: int
    errors: int = 0
    outcome: str = "pass"
    early_stop: bool = False
    text: str = "case"


def run(name: str, answers: int, cases: dict[str, Case], **more: object) -> RunOutcomes[str, Case]:
    return RunOutcomes(name, name, answers, False, cases, **more)  # type: ignore[arg-type]


def test_cases_of_one_name_are_compared_and_p_is_corrected_over_all_rows() -> None:
    first = run("old", 1, {"a": Case(0, 8), "b": Case(4, 8, errors=1)})
    found = compare_runs(first, [run("new", 2, {"a": Case(8, 8, text="other"), "c": Case(1, 1)})])
    [pair] = found.pairs
    assert [
        (row.name, row.facts.same_text, [row.comparison.first_count, row.comparison.second_count])
        for row in pair.cases
    ] == [
        ("a", False, ["0/8", "8/8"]),
        ("b", False, ["4/8, 1 error", ""]),
        ("c", False, ["", "1/1"]),
    ]
    assert pair.total.test == FISHER.key
    assert (pair.total.first_passed, pair.total.first_n, pair.total.second_passed) == (0, 8, 8)
    known = [row.comparison for row in pair.cases if row.comparison.p is not None]
    assert [row.p_corrected for row in known] == holm([row.p for row in known])
    header, rows = found.cases_table()
    assert dict(zip(header, rows[0], strict=True))["second_passed"] == 8


def test_scorings_of_the_same_answers_are_paired_by_iteration() -> None:
    first = run("old", 1, {"a": Case(1, 2)}, iterations={"a": {1: True, 2: False, 3: True}})
    second = run("new", 1, {"a": Case(2, 2)}, iterations={"a": {1: True, 2: True}})
    [pair] = compare_runs(first, [second]).pairs
    total = pair.total
    assert (total.test, total.only_first, total.only_second) == (MCNEMAR.key, 0, 1)
    assert (total.n, total.second_passed, total.second_n) == (2, 2, 2)


def test_checks_that_differ_most_come_first_and_too_many_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_comparison, "MAX_CHECKS", 20)
    keys = [check_key("a", 0, turn, "response.text", None) for turn in range(25)]
    ours = {key: {1: True, 2: True} for key in keys}
    theirs = {key: {1: True, 2: True} for key in keys} | {keys[-1]: {1: False, 2: False}}
    [pair] = compare_runs(run("old", 1, {}, verdicts=ours), [run("new", 2, {}, verdicts=theirs)]).pairs
    assert len(pair.checks) == 20
    assert (pair.checks[0].facts.interaction, pair.checks[0].comparison.difference) == (24, -1.0)


def test_names_that_are_alike_get_a_number() -> None:
    assert numbered(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]
