"""What can be known before an agent is asked: that no iteration of a case can pass. Pure."""

from __future__ import annotations

from lmgym.agents.case_reader import kind
from lmgym.agents.cases import ORDERED, UNSUPPORTED, Check, Reading, TestCase
from lmgym.agents.checks import skipped_by


def unsatisfiable_reason(case: TestCase, reading: Reading, *, has_judge: bool) -> str:
    """A sentence, or an empty text where an iteration may pass. Such a case is asked once, for a transcript; by the
    rules of neuro-san as often as there."""
    if reading == "reference-compatible":
        return ""
    for connection in case.connections:
        if connection in UNSUPPORTED:
            return f"Connections by {connection} are not supported; use http."
    for number, turn in enumerate(case.interactions, 1):
        for check in turn.checks:
            if not skipped_by(check, reading) and (why := _never_passes(check, has_judge)):
                return f"Turn {number}, {check.where.removeprefix('response.')}: {why}"
    return ""


def _never_passes(check: Check, has_judge: bool) -> str:
    if check.part == "text" and check.path:
        return "The text of an answer has no keys."
    if check.only_present:
        return ""
    if check.test in ("gist", "not_gist"):
        return "" if has_judge else "No judge is configured, so gist cannot be checked."
    if check.part != "text" or isinstance(check.expected, str):
        return ""
    if check.test in ORDERED:
        return f"Text and {kind(check.expected)} have no order."
    if check.test in ("keywords", "not_keywords"):
        return f"Text cannot be searched for {kind(check.expected)}."
    return f"Text never equals {kind(check.expected)}." if check.test == "value" else ""
