"""Results for other programs and for terminals: a table, JSON, JUnit XML. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from gym.conversations.figures import evidence
from gym.conversations.results import CaseResult, IterationResult

FORMATS = ("table", "json", "junit")
UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Named = Sequence[tuple[str, CaseResult]]


def render(results: Named, form: str) -> str:
    """`results` are (name, result) pairs."""
    return {"table": table, "json": as_json, "junit": junit}[form](results)


def as_json(results: Named) -> str:
    rows = [{"file": name, **result.as_dict()} for name, result in results]
    return json.dumps({"results": rows, "passed": all_passed(results)}, ensure_ascii=False, indent=2) + "\n"


def all_passed(results: Named) -> bool:
    return all(result.outcome == "pass" for _, result in results)


def table(results: Named) -> str:
    """One line per case, and one per check that did not pass, with how often."""
    lines = []
    for name, result in results:
        found = evidence(result.passed, result.n, result.ratio.rate)
        interval = f" [{found.interval.low:.2f}, {found.interval.high:.2f}]" if found.interval else ""
        ratio = f"{result.passed}/{result.n}{interval}, {result.required}/{result.ratio.iterations} needed"
        lines.append(
            f"{result.outcome.upper():8}{name}  {result.agent}  {ratio}, {result.n_checks} checks made"
        )
        if result.error:
            lines.append(f"        {result.error}")
        lines += [f"        {line}" for line in _complaints(result)]
    passed = sum(result.outcome == "pass" for _, result in results)
    lines.append(f"{passed} of {len(results)} cases passed")
    return "\n".join(_terminal(line) for line in lines) + "\n"


def _terminal(text: str) -> str:
    """Nothing an answer holds may steer the terminal."""
    return CONTROL.sub("\ufffd", text)


def _complaints(result: CaseResult) -> list[str]:
    counted: dict[str, int] = {}
    for iteration in result.iterations:
        for line in explain(iteration):
            counted[line] = counted.get(line, 0) + 1
    return [f"{line}" + (f" ({n} times)" if n > 1 else "") for line, n in counted.items()]


def explain(iteration: IterationResult) -> list[str]:
    """Why an iteration did not pass, a line per check."""
    lines = []
    for check in iteration.checks:
        if check.outcome in ("fail", "error", "timeout"):
            said = " ".join(part for part in (check.comparison, check.message) if part)
            lines.append(f"{check.outcome}: interactions[{check.interaction}].{check.where}: {said}")
    if not lines and iteration.message:
        lines.append(f"{iteration.outcome}: {iteration.message}")
    return lines


def junit(results: Named) -> str:
    """One testsuite per case, one testcase per iteration, and one for the ratio, which decides."""
    root = ET.Element("testsuites", name="agenttest")
    for name, result in results:
        suite = ET.SubElement(root, "testsuite", name=_xml(name), time=f"{result.seconds:.3f}")
        verdict = ET.SubElement(
            suite, "testcase", name=f"success_ratio {result.ratio.text}", classname=_xml(name)
        )
        bad = {"failures": 0, "errors": 0, "skipped": 0}
        if result.outcome != "pass":
            kind = {"fail": "failure", "skipped": "skipped"}.get(result.outcome, "error")
            message = (
                result.error or f"{result.passed} of {result.n} iterations passed, {result.required} needed"
            )
            ET.SubElement(verdict, kind, message=_xml(message), type=result.outcome)
            bad[{"failure": "failures", "error": "errors"}.get(kind, "skipped")] += 1
        for iteration in result.iterations:
            made = ET.SubElement(
                suite, "testcase", name=f"iteration {iteration.number}", classname=_xml(name),
                time=f"{iteration.seconds:.3f}",
            )  # fmt: skip
            if iteration.outcome != "pass":
                # One iteration that fails is no failed test as long as enough succeed: the ratio above decides.
                note = ET.SubElement(made, "system-out")
                note.text = _xml("\n".join([iteration.outcome, *explain(iteration)]))
        suite.set("tests", str(1 + len(result.iterations)))
        for key, count in bad.items():
            suite.set(key, str(count))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)
