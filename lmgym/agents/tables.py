"""Table rows for agent tests: one frozen dataclass per table, with the column names as field names.

`lmgym.text.columns` converts them to headers, rows and JSON; docs/names.md lists them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmgym.agents.pass_rates import AtK
from lmgym.agents.run_comparison import ComparedCase, ComparedCheck, RateComparison
from lmgym.text.columns import described


@dataclass(frozen=True)
class IterationRow:
    """An iteration of a run. The last five columns describe the first check that did not pass, or the turn that got no
    answer."""

    case: str = described("name of the case; on the command line, the path of its file")
    agent: str = described("agent tested")
    iteration: int = described("number of the iteration, from 1")
    outcome: str = described("pass, fail, error, timeout or skipped")
    seconds: float = described("duration", "seconds")
    waited: float = described(
        "time for which servers were busy; not included in `seconds` of turns", "seconds"
    )
    total_tokens: int | None = described("tokens of agent and judge; empty: not reported", "tokens")
    total_cost: float | None = described("cost of agent and judge; empty: not reported", "US dollars")
    checks_made: int = described(
        "checks that were made; without an answer or a judge, none is made", "checks"
    )
    checks_passed: int = described("checks that passed", "checks")
    failed_turn: int | None = described("number of the turn that did not pass, from 1")
    failed_check: str | None = described("path of the check that did not pass")
    criterion: str | None = described("expected value, or the judge’s criterion")
    answer: str | None = described("answer to that turn, at most its first 2,000 characters")
    reason: str | None = described("why the check or turn did not pass")


@dataclass(frozen=True)
class TrendRow:
    """A run in a trend."""

    run: str = described("id of the run")
    created: str = described("when the run was queued", "ISO 8601")
    server: str = described("name of the server")
    version: str = described("version reported by the server; several versions are joined by arrows")
    passed: int = described("iterations that passed", "iterations")
    n: int = described("iterations with a verdict", "iterations")
    errors: int = described("iterations without a verdict", "iterations")
    rate: float | None = described("pass rate", "0 to 1")
    low: float | None = described("lower limit of the rate’s 95% interval (Wilson)", "0 to 1")
    high: float | None = described("upper limit of the rate’s 95% interval", "0 to 1")


@dataclass(frozen=True)
class CaseTrendRow(TrendRow):
    """A run in the trend of one case (`agent-trend`)."""

    required_rate: float = described("rate that the case requires", "0 to 1")
    outcome: str = described("outcome of the case in the run")
    text_as_now: bool = described("whether the run used the case’s current text")
    early_stop: bool = described(
        "whether iterations stopped once the ratio was decided; if so, the rate has no interval"
    )


@dataclass(frozen=True)
class SuiteTrendRow(TrendRow):
    """A run in the trend of one suite (`agent-suite-trend`), limited to the cases that all runs in the trend share."""

    run_number: int = described("number of the run in the trend, from 1")


TABLES: dict[str, tuple[type, ...]] = {
    "Agent tests: iterations of a run": (IterationRow,),
    "Agent tests: cases compared": (ComparedCase, RateComparison),
    "Agent tests: checks compared": (ComparedCheck, RateComparison),
    "Agent tests: pass@k": (AtK,),
    "Agent tests: a case over time": (CaseTrendRow,),
    "Agent tests: a suite over time": (SuiteTrendRow,),
}
"""Tables by title, listed in docs/names.md."""
