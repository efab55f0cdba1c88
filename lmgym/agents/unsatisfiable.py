"""Detect, before the agent is called, cases that no iteration can pass."""

from __future__ import annotations

from lmgym.agents.case_reader import kind
from lmgym.agents.cases import ORDERED, UNSUPPORTED, Check, Reading, TestCase
from lmgym.agents.checks import skipped_by


def unsatisfiable_reason(case: TestCase, reading: Reading, *, has_judge: bool) -> str:
    """Return why no iteration can pass; empty if an iteration may pass.

    Such a case is run only once, for a transcript. The reference-compatible reading runs all iterations, as neuro-san
    does.
    """
    if reading == "reference-compatible":
        return ""
    for connection in case.connections:
        if connection in UNSUPPORTED:
            return f"Connections over {connection} are not supported; use http."
    for number, turn in enumerate(case.interactions, 1):
        for check in turn.checks:
            if not skipped_by(check, reading) and (why := _failure_reason(check, has_judge)):
                return f"Turn {number}, {check.where.removeprefix('response.')}: {why}"
    return ""


def _failure_reason(check: Check, has_judge: bool) -> str:
    if check.part == "text" and check.path:
        return "The text of an answer has no keys."
    if check.only_present:
        return ""
    if check.test in ("gist", "not_gist"):
        return "" if has_judge else "No judge is configured, so gist cannot be checked."
    if check.part != "text" or isinstance(check.expected, str):
        return ""
    if check.test in ORDERED:
        return f"Text and {kind(check.expected)} cannot be ordered."
    if check.test in ("keywords", "not_keywords"):
        return f"Text cannot be searched for {kind(check.expected)}."
    return f"Text never equals {kind(check.expected)}." if check.test == "value" else ""
