"""From an answer to the results of its checks. The same for fresh answers and for stored transcripts. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

from lmgym.agents.cases import Check, Interaction, Reading, TestCase
from lmgym.agents.checks import MISSING, Outcome, Verdict, apply_check, skipped_by, value_at
from lmgym.agents.llm_judge import Opinion, RememberingJudge, VotingJudge
from lmgym.agents.redact import HIDDEN, HIDDEN_NUMBER, Redactor, bounded, cut, hides, mentions, unmarked
from lmgym.agents.results import NOT_CHECKED, CheckResult, IterationResult, TurnResult, outcome_of
from lmgym.agents.thinking import without_thinking
from lmgym.agents.transport import Deadline

UNTOLD = "What is hidden in the transcript cannot be compared like this: run the case again."
WITHHELD = (
    "No verdict: the answer or the expected value contains a secret here, and a verdict could reveal it."
)
WHOLE = frozenset(("value", "not_value", "keywords", "not_keywords"))
"""Tests that take a hidden text as one sign."""
MAX_ERROR = 2_000
BROKEN_OFF = "Not reached: neuro-san ends an iteration where expected value and answer cannot be compared."


class Judge(Protocol):
    def judge(self, criterion: str, sample: str, deadline: Deadline | None = None) -> Opinion:
        """Does the sample meet the criterion? Never raises."""
        ...


def score_turn(
    interaction: Interaction, turn: TurnResult, judge: Judge | None, reading: Reading,
    agent_error: str = "", deadline: Deadline | None = None, *, kept: Collection[str] | None = None,
) -> list[CheckResult]:  # fmt: skip
    """All checks of one interaction. `kept`: of a stored turn, the places whose private data were stored."""
    if interaction.ignores_thinking and turn.text is not None and reading == "document":
        turn = replace(turn, text=without_thinking(turn.text))
    found: list[CheckResult] = []
    for check in interaction.checks:
        if breaks_off(found, reading):
            found.append(without_answer(check, turn, "skipped", BROKEN_OFF))
        else:
            found.append(score_check(check, turn, judge, reading, agent_error, deadline, kept=kept))
    return found


def breaks_off(found: Sequence[CheckResult], reading: Reading) -> bool:
    """Did a check end the iteration? By the code a value that cannot be compared is an uncaught exception; by the
    document it is an error of that check alone."""
    compared = (check for check in found if check.comparison)
    return reading == "reference-compatible" and any(check.outcome == "error" for check in compared)


def score_check(
    check: Check, turn: TurnResult, judge: Judge | None, reading: Reading,
    agent_error: str = "", deadline: Deadline | None = None, *, kept: Collection[str] | None = None,
) -> CheckResult:  # fmt: skip
    if why := skipped_by(check, reading):
        return without_answer(check, turn, "skipped", f"{NOT_CHECKED}{why}.")
    if turn.trouble:
        outcome: Outcome = "timeout" if turn.trouble == "timeout" else "error"
        return without_answer(check, turn, "skipped" if turn.trouble == "stopped" else outcome, turn.error)
    part = {"text": turn.text, "structure": turn.structure, "sly_data": turn.sly_data}[check.part]
    actual = value_at(part, check, reading)
    opinion = None
    if agent_error and reading == "document":
        verdict = Verdict("error", "", f"The agent reported an error: {agent_error}")
    elif kept is not None and check.part == "sly_data" and _cannot_tell(check, actual, kept):
        verdict = Verdict("error", "", "Private data is kept only where it was tested: run the case again.")
    elif check.test in ("gist", "not_gist") and actual is not MISSING and not check.only_present:
        verdict, opinion = _gist(check, actual, judge, reading, deadline)
    else:
        verdict = apply_check(check, actual, reading)
    return CheckResult(
        turn.connection, turn.interaction, check.where, check.test, check.expected,
        None if actual is MISSING else actual, verdict.outcome, verdict.comparison, verdict.message,
        check.element, opinion.as_dict() if opinion else None,
    )  # fmt: skip


def _place(where: str) -> str:
    """The path of a check without its test."""
    return where.rpartition(".")[0]


def _cannot_tell(check: Check, actual: Any, kept: Collection[str]) -> bool:
    """Does the check look at private data that were not stored? Keys always are; hidden values in a stored place are
    secrets."""
    if _place(check.where) in kept:
        return False
    only_keys = isinstance(actual, dict) and check.test in ("keywords", "not_keywords")
    return not only_keys and not check.only_present and hides(actual)


def without_answer(check: Check, turn: TurnResult, outcome: Outcome, message: str) -> CheckResult:
    """A check that could not be made."""
    return CheckResult(
        turn.connection, turn.interaction, check.where, check.test, check.expected, None, outcome, "", message,
        check.element,
    )  # fmt: skip


def sample_of(actual: Any, reading: Reading) -> str:
    """A value as the judge sees it: text, else JSON (in the reference: Python's str)."""
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
    criterion, sample = unmarked(str(check.expected)), unmarked(sample_of(actual, reading))
    opinion = judge.judge(criterion, sample, deadline)
    wanted = "pass" if check.test == "gist" else "fail"
    if opinion.verdict == "error":
        outcome: Outcome = "fail" if reading == "reference-compatible" else "error"
        return Verdict(outcome, f"The judge gave no verdict; expected {wanted}", opinion.reason), opinion
    comparison = f"The judge says {opinion.verdict}; expected {wanted}"
    return Verdict("pass" if opinion.verdict == wanted else "fail", comparison, opinion.reason), opinion


def rescore(
    case: TestCase, before: IterationResult, judge: VotingJudge | None, reading: Reading, clean: Redactor,
    named_before: Collection[str] = (), *, ask_judge: bool = False,
) -> IterationResult:  # fmt: skip
    """Score stored answers by the current checks of `case`. Turns that were never reached stay so. `clean` hides
    secrets in expectations as in the transcript, so that both can be compared. `named_before`: variables that the case
    named when the answers were given. What the same judge said of an answer stands, unless `ask_judge`."""
    if not before.turns:
        return before
    checks: list[CheckResult] = []
    trouble = ""
    several = len({*case.variables, *named_before}) > 1
    turns = tuple(replace(cleaned_turn(turn, clean), reused=True, waited=0.0) for turn in before.turns)
    known = {(turn.connection, turn.interaction): turn for turn in turns}
    for place in range(len(case.connections)):
        for index, interaction in enumerate(case.interactions):
            absent = TurnResult(
                place, index, interaction.text, trouble="stopped", error="There is no transcript of this."
            )
            turn = absent if trouble == BROKEN_OFF else known.get((place, index), absent)
            agent_error = "" if turn.trouble else turn.error
            kept = _kept(before, index)
            veiled = veil_checks(interaction, clean)
            remembering = judge and RememberingJudge(judge, [] if ask_judge else _opinions(before, turn))
            found = score_turn(veiled, turn, remembering, reading, agent_error, kept=kept)
            checks += [cleaned(without_secrets(check, several=several), clean) for check in found]
            trouble = trouble or turn.trouble or (BROKEN_OFF if breaks_off(found, reading) else "")
    return replace(before, outcome=outcome_of(checks, trouble), checks=tuple(checks), turns=turns)


def _opinions(before: IterationResult, turn: TurnResult) -> list[dict[str, Any]]:
    """What a judge said of the answer of this turn."""
    place = (turn.connection, turn.interaction)
    here = (check for check in before.checks if (check.connection, check.interaction) == place)
    return [check.judge for check in here if check.judge is not None]


def _kept(before: IterationResult, interaction: int) -> set[str]:
    """Places that had values to compare, whose private data are therefore stored."""
    compared = [check for check in before.checks if check.outcome in ("pass", "fail")]
    return {_place(check.where) for check in compared if check.interaction == interaction}


def veil_checks(interaction: Interaction, veil: Redactor) -> Interaction:
    """The interaction with hidden texts in what its checks expect, as they are hidden in answers."""
    checks = tuple(replace(check, expected=veil(check.expected)) for check in interaction.checks)
    return replace(interaction, checks=checks)


def veil_answer(turn: TurnResult, veil: Redactor) -> TurnResult:
    return replace(turn, text=veil(turn.text), structure=veil(turn.structure), sly_data=veil(turn.sly_data))


def without_secrets(check: CheckResult, *, several: bool = False) -> CheckResult:
    """No verdict where it would say something about what is hidden, or could be wrong because of it.

    People who may change cases read verdicts and must not read secrets, so checks are made on texts in which every
    secret is one sign. What is found there is there: a keyword beside a secret, or a secret as a whole. A text that is
    not found may be part of a secret, and what patterns, schemas and orders say of a sign is nothing. `several`: the
    signs of different secrets are the same."""
    if check.outcome not in ("pass", "fail", "error") or check.judge is not None or not check.comparison:
        return check
    looks_at_keys = isinstance(check.actual, dict) and check.test in ("keywords", "not_keywords")
    compared = list(check.actual) if looks_at_keys else check.actual
    expected, actual = mentions(HIDDEN, check.expected), mentions(HIDDEN, compared)
    if check.actual is None or not (expected or actual):
        return check
    why = ""
    if check.test not in WHOLE:
        why = WITHHELD if check.expected is not None else ""
    elif expected:
        why = UNTOLD if actual and (several or mentions(HIDDEN_NUMBER, check.actual)) else ""
    else:
        is_found = check.outcome == ("fail" if check.test.startswith("not_") else "pass")
        why = "" if is_found and "•" not in str(check.expected) else WITHHELD
    return replace(check, outcome="error", comparison="", message=why) if why else check


def cleaned(check: CheckResult, clean: Redactor) -> CheckResult:
    """The check as it may be stored."""
    judge = check.judge
    return replace(
        check,
        expected=bounded(clean(check.expected)),
        actual=bounded(clean(check.actual)),
        comparison=clean(check.comparison),
        message=cut(clean(check.message)),
        judge=judge and {**judge, "reason": clean(judge["reason"]), "raw": clean(judge["raw"])},
    )


def cleaned_turn(turn: TurnResult, clean: Redactor) -> TurnResult:
    """The turn as it may be stored."""
    return replace(
        turn,
        said=clean(turn.said),
        text=clean(turn.text),
        structure=clean(turn.structure),
        sly_data=clean(turn.sly_data),
        sent=clean(turn.sent),
        messages=tuple(clean(turn.messages)),
        error=cut(clean(turn.error), MAX_ERROR),
    )
