"""From an answer to the results of its checks. The same for fresh answers and for stored transcripts. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Protocol

from gym.conversations import stock
from gym.conversations.cases import Check, Interaction, Reading, TestCase
from gym.conversations.judging import Opinion
from gym.conversations.redact import hides
from gym.conversations.results import CheckResult, IterationResult, TurnResult, outcome_of
from gym.conversations.stock import MISSING, Outcome, Verdict
from gym.conversations.transport import Deadline


class Judge(Protocol):
    def judge(self, criterion: str, sample: str, deadline: Deadline | None = None) -> Opinion:
        """Does the sample meet the criterion? Never raises."""
        ...


def score_turn(
    interaction: Interaction, turn: TurnResult, judge: Judge | None, reading: Reading,
    agent_error: str = "", deadline: Deadline | None = None, *, stored: bool = False,
) -> list[CheckResult]:  # fmt: skip
    """All checks of one interaction. `stored`: the turn comes from a transcript, where not everything was kept."""
    return [
        score_check(check, turn, judge, reading, agent_error, deadline, stored=stored)
        for check in interaction.checks
    ]


def score_check(
    check: Check, turn: TurnResult, judge: Judge | None, reading: Reading,
    agent_error: str = "", deadline: Deadline | None = None, *, stored: bool = False,
) -> CheckResult:  # fmt: skip
    if why := stock.skipped_by(check, reading):
        return without_answer(check, turn, "skipped", f"Not checked: {why}.")
    if turn.trouble:
        outcome: Outcome = "timeout" if turn.trouble == "timeout" else "error"
        return without_answer(check, turn, "skipped" if turn.trouble == "stopped" else outcome, turn.error)
    part = {"text": turn.text, "structure": turn.structure, "sly_data": turn.sly_data}[check.part]
    actual = stock.value_at(part, check, reading)
    opinion = None
    if stored and check.part == "sly_data" and _cannot_tell(check, actual):
        verdict = Verdict("error", "", "Private data is kept only where it was tested: run the case again.")
    elif check.test in ("gist", "not_gist") and actual is not MISSING and not check.only_present:
        verdict, opinion = _gist(check, actual, judge, reading, deadline)
    else:
        verdict = stock.apply(check, actual, reading)
    if agent_error and reading == "document" and (verdict.outcome == "fail" or check.test.startswith("not_")):
        verdict = Verdict("error", verdict.comparison, f"The agent reported an error: {agent_error}")
    return CheckResult(
        turn.connection, turn.interaction, check.where, check.test, check.expected,
        None if actual is MISSING else actual, verdict.outcome, verdict.comparison, verdict.message,
        check.element, opinion.as_dict() if opinion else None,
    )  # fmt: skip


def _cannot_tell(check: Check, actual: Any) -> bool:
    """Does the check look at private data that was not kept? Keys always are."""
    only_keys = isinstance(actual, dict) and check.test in ("keywords", "not_keywords")
    return not only_keys and not check.only_present and hides(actual)


def without_answer(check: Check, turn: TurnResult, outcome: Outcome, message: str) -> CheckResult:
    """A check that could not be made."""
    return CheckResult(
        turn.connection, turn.interaction, check.where, check.test, check.expected, None, outcome, "", message,
        check.element,
    )  # fmt: skip


def sample_of(actual: Any, reading: Reading) -> str:
    """What the judge sees of a value: text as it is, else JSON (in the reference: as Python prints it)."""
    if isinstance(actual, str):
        return actual
    return str(actual) if reading == "reference-compatible" else json.dumps(actual, ensure_ascii=False)


def _gist(
    check: Check, actual: Any, judge: Judge | None, reading: Reading, deadline: Deadline | None
) -> tuple[Verdict, Opinion | None]:
    if judge is None:
        return Verdict("error", "", "No judge is configured, so gist cannot be checked."), None
    if deadline is not None and deadline.passed:
        return Verdict("timeout", "", "There was no time left to ask the judge."), None
    opinion = judge.judge(str(check.expected), sample_of(actual, reading), deadline)
    wanted = "pass" if check.test == "gist" else "fail"
    comparison = f"judge says {opinion.verdict}, wanted {wanted}"
    if opinion.verdict == "error":
        outcome: Outcome = "fail" if reading == "reference-compatible" else "error"
        return Verdict(outcome, comparison, f"The judge gave no verdict: {opinion.reason}"), opinion
    return Verdict("pass" if opinion.verdict == wanted else "fail", comparison, opinion.reason), opinion


def rescore(
    case: TestCase, before: IterationResult, judge: Judge | None, reading: Reading
) -> IterationResult:
    """The same answers, the checks of `case` as it is now. Turns that were never reached stay so."""
    checks: list[CheckResult] = []
    trouble = ""
    known = {(turn.connection, turn.interaction): turn for turn in before.turns}
    for place in range(len(case.connections)):
        for index, interaction in enumerate(case.interactions):
            absent = TurnResult(
                place, index, interaction.text, trouble="stopped", error="There is no transcript of this."
            )
            turn = known.get((place, index), absent)
            agent_error = "" if turn.trouble else turn.error
            checks += score_turn(interaction, turn, judge, reading, agent_error, stored=True)
            trouble = trouble or turn.trouble
    if not before.turns:
        return before
    return replace(before, outcome=outcome_of(checks, trouble), checks=tuple(checks))
