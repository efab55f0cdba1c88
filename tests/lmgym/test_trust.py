"""The published cases of docs/trust.md: LM Gym's answers, and the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.trust import __main__ as command
from benchmarks.trust.case import MINICONS, Ask, Case, is_right, minicons, title_of, token_sum
from benchmarks.trust.cases import CASES
from benchmarks.trust.programs import Answer, Program
from benchmarks.trust.report import cell
from tests.lmgym.conftest import ROOT


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_lm_gym_gives_the_right_value(function: Callable[[Path], Case], tmp_path: Path) -> None:
    case = function(tmp_path)
    assert is_right(case, case.ours), (case.right, case.ours)


def test_the_page_has_all_fifteen_cases_in_order() -> None:
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    titles = [title_of(function) for function in CASES]
    assert len(titles) == 15
    assert re.findall(r"^### \d+\. (.*)", page, re.MULTILINE) == titles
    assert re.findall(r"^\| \d+\. (.*?) \|", page, re.MULTILINE) == titles


def wrong(root: Path) -> Case:
    """A wrong answer."""
    calls = (minicons(root, "token_score", "a"), minicons(root, "token_score", "a", bos_token=True))
    asks = (Ask(MINICONS, calls[0], token_sum), Ask(MINICONS, calls[1], token_sum, "with `bos_token=True`"))
    return Case(wrong, right=1.0, ours=None, call="lmgym.score()", asks=asks)


def test_a_wrong_answer_of_lm_gym_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "CASES", (wrong,))
    monkeypatch.setattr(sys, "argv", ["trust", "--minicons", "", "--lm-eval", ""])
    assert command.main() == 1
    assert "LM Gym is wrong: A wrong answer" in capsys.readouterr().err


def test_a_cell_has_the_first_answer_and_the_call_that_gives_the_right_one(tmp_path: Path) -> None:
    case = wrong(tmp_path)
    first, second = case.asks
    assert cell(case, MINICONS, Program("", {})) == "not installed"
    program = Program("1.0", {first: Answer(None, "IndexError: 5"), second: Answer(1.0004)})
    assert cell(case, MINICONS, program) == "**no value (IndexError)**; right with `bos_token=True`"
