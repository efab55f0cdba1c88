"""Score answers, new or from stored transcripts, by the checks of a case."""

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

NOT_COMPARABLE = "This test cannot be applied to values hidden in the transcript. Run the case again."
WITHHELD = "No verdict: the answer or the expected value contains a secret, which a verdict could reveal."
WHOLE = frozenset(("value", "not_value", "keywords", "not_keywords"))
"""Tests that can match a secret represented by a placeholder; other tests get no verdict."""
MAX_ERROR = 2_000
BROKEN_OFF = (
    "Not reached: neuro-san ends an iteration if the expected value and the answer cannot be compared."
)


class Judge(Protocol):
    def judge(self, criterion: str, sample: str, deadline: Deadline | None = None) -> Opinion:
        """Return an opinion on whether the sample meets the criterion. Never raises."""
        ...


def score_turn(
    interaction: Interaction, turn: TurnResult, judge: Judge | None, reading: Reading,
    agent_error: str = "", deadline: Deadline | None = None, *, stored_paths: Collection[str] | None = None,
) -> list[CheckResult]:  # fmt: skip
    """Run all of an interaction's checks. `stored_paths`: for a stored turn, paths of private data that were stored."""
    if interaction.ignores_thinking and turn.text is not None and reading == "document":
        turn = replace(turn, text=without_thinking(turn.text))
    results: list[CheckResult] = []
    for check in interaction.checks:
        if breaks_off(results, reading):
            results.append(without_answer(check, turn, "skipped", BROKEN_OFF))
        else:
            results.append(
                score_check(check, turn, judge, reading, agent_error, deadline, stored_paths=stored_paths)
            )
    return results


def breaks_off(results: Sequence[CheckResult], reading: Reading) -> bool:
    """Return True if a check ended the iteration. neuro-san's code does not catch the exception for a value that cannot
    be compared; according to its documentation, only that check ends with an error.
    """
    compared = (check for check in results if check.comparison)
    return reading == "reference-compatible" and any(check.outcome == "error" for check in compared)


def score_check(
    check: Check, turn: TurnResult, judge: Judge | None, reading: Reading,
    agent_error: str = "", deadline: Deadline | None = None, *, stored_paths: Collection[str] | None = None,
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
    elif (
        stored_paths is not None and check.part == "sly_data" and _was_not_stored(check, actual, stored_paths)
    ):
        verdict = Verdict(
            "error",
            "",
            "Private data (sly_data) is stored only if a check tests it, and none tested this. Run the case again.",
        )
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
    """Return the path of a check without its test."""
    return where.rpartition(".")[0]


def _was_not_stored(check: Check, actual: Any, stored_paths: Collection[str]) -> bool:
    """Return True if the check compares private data that were not stored. An object is stored with all its keys;
    hidden values at a stored path are secrets.
    """
    if _place(check.where) in stored_paths:
        return False
    only_keys = isinstance(actual, dict) and check.test in ("keywords", "not_keywords")
    return not only_keys and not check.only_present and hides(actual)


def without_answer(check: Check, turn: TurnResult, outcome: Outcome, message: str) -> CheckResult:
    """Return the result of a check that could not be made."""
    return CheckResult(
        turn.connection, turn.interaction, check.where, check.test, check.expected, None, outcome, "", message,
        check.element,
    )  # fmt: skip


def sample_of(actual: Any, reading: Reading) -> str:
    """Format a value for the judge: text unchanged, other values as JSON (in neuro-san: Python's str)."""
    if isinstance(actual, str):
        return actual
    return str(actual) if reading == "reference-compatible" else json.dumps(actual, ensure_ascii=False)


def _gist(
    check: Check, actual: Any, judge: Judge | None, reading: Reading, deadline: Deadline | None
) -> tuple[Verdict, Opinion | None]:
    if judge is None:
        return Verdict("error", "", "No judge is configured, so gist cannot be checked."), None
    if deadline is not None and deadline.passed:
        return Verdict("timeout", "", "No time was left for the judge."), None
    criterion, sample = unmarked(str(check.expected)), unmarked(sample_of(actual, reading))
    opinion = judge.judge(criterion, sample, deadline)
    expected = "pass" if check.test == "gist" else "fail"
    if opinion.verdict == "error":
        outcome: Outcome = "fail" if reading == "reference-compatible" else "error"
        return Verdict(outcome, f"The judge gave no verdict; expected {expected}", opinion.reason), opinion
    comparison = f"The judge says {opinion.verdict}; expected {expected}"
    return Verdict("pass" if opinion.verdict == expected else "fail", comparison, opinion.reason), opinion


def rescore(
    case: TestCase, before: IterationResult, judge: VotingJudge | None, reading: Reading, clean: Redactor,
    named_before: Collection[str] = (), *, ask_judge: bool = False,
) -> IterationResult:  # fmt: skip
    """Score stored answers by the current checks of a case. Turns not reached in the original run stay unreached.

    Args:
        before: the stored iteration.
        clean: function that hides secrets in expectations as in the transcript, so that both can be compared.
        named_before: variables named in the case when the answers were recorded.
        ask_judge: ask the judge again instead of reusing its earlier verdicts.
    """
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
                place,
                index,
                interaction.text,
                trouble="stopped",
                error="This turn has no transcript.",
            )
            turn = absent if trouble == BROKEN_OFF else known.get((place, index), absent)
            agent_error = "" if turn.trouble else turn.error
            stored_paths = _stored_paths(before, index)
            veiled = veil_checks(interaction, clean)
            remembering = judge and RememberingJudge(judge, [] if ask_judge else _opinions(before, turn))
            results = score_turn(veiled, turn, remembering, reading, agent_error, stored_paths=stored_paths)
            checks += [cleaned(without_secrets(check, several=several), clean) for check in results]
            trouble = trouble or turn.trouble or (BROKEN_OFF if breaks_off(results, reading) else "")
    return replace(before, outcome=outcome_of(checks, trouble), checks=tuple(checks), turns=turns)


def _opinions(before: IterationResult, turn: TurnResult) -> list[dict[str, Any]]:
    """Return the stored opinions of the judge on a turn's answer."""
    place = (turn.connection, turn.interaction)
    here = (check for check in before.checks if (check.connection, check.interaction) == place)
    return [check.judge for check in here if check.judge is not None]


def _stored_paths(before: IterationResult, interaction: int) -> set[str]:
    """Return the paths that had values to compare and whose private data were therefore stored."""
    compared = [check for check in before.checks if check.outcome in ("pass", "fail")]
    return {_place(check.where) for check in compared if check.interaction == interaction}


def veil_checks(interaction: Interaction, veil: Redactor) -> Interaction:
    """Hide secrets in an interaction's expectations in the same form as in answers."""
    checks = tuple(replace(check, expected=veil(check.expected)) for check in interaction.checks)
    return replace(interaction, checks=checks)


def veil_answer(turn: TurnResult, veil: Redactor) -> TurnResult:
    return replace(turn, text=veil(turn.text), structure=veil(turn.structure), sly_data=veil(turn.sly_data))


def without_secrets(check: CheckResult, *, several: bool = False) -> CheckResult:
    """Withhold a verdict that could reveal a hidden value, or could be wrong because of it.

    Users who can edit cases read verdicts but must not learn secrets, so checks compare texts in which every secret is
    replaced by a placeholder. A match with a whole secret, or with a keyword next to one, is reliable. If only the
    answer contains a secret, a mismatch is not, because the expected text may be part of the secret. Patterns, schemas
    and orderings are meaningless for a placeholder. `several`: different secrets may have the same placeholder.
    """
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
        why = NOT_COMPARABLE if actual and (several or mentions(HIDDEN_NUMBER, check.actual)) else ""
    else:
        is_found = check.outcome == ("fail" if check.test.startswith("not_") else "pass")
        why = "" if is_found and "•" not in str(check.expected) else WITHHELD
    return replace(check, outcome="error", comparison="", message=why) if why else check


def cleaned(check: CheckResult, clean: Redactor) -> CheckResult:
    """Return the check with secrets hidden, for storage."""
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
    """Return the turn with secrets hidden, for storage."""
    return replace(
        turn,
        user_text=clean(turn.user_text),
        text=clean(turn.text),
        structure=clean(turn.structure),
        sly_data=clean(turn.sly_data),
        sent=clean(turn.sent),
        messages=tuple(clean(turn.messages)),
        error=cut(clean(turn.error), MAX_ERROR),
    )
