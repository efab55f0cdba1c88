"""Reports of results as a table for terminals, JSON or JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from lmgym.agents.failures import WRONG, check_line, lines_of
from lmgym.agents.pass_rates import Evidence, evidence
from lmgym.agents.results import CaseResult, IterationResult
from lmgym.text import count

FORMATS = ("table", "json", "junit")
NO_VERDICT = 3
"""Exit status if a server or judge could not be reached."""
UNCHECKED = 2
"""Exit status if no check of a case was made; the same as for files that cannot be read."""
UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Named = Sequence[tuple[str, CaseResult]]


def render(results: Named, form: str) -> str:
    """Format (name, result) pairs; `form` is one of FORMATS."""
    return {"table": table, "json": as_json, "junit": junit}[form](results)


def json_parts(head: dict[str, Any], results: Iterable[tuple[str, CaseResult]]) -> Iterator[str]:
    """Yield, piece by piece, the JSON for `head` with an added list `cases`."""
    yield json.dumps(head, ensure_ascii=False, indent=2).removesuffix("\n}") + ',\n  "cases": ['
    for number, (name, result) in enumerate(results):
        row = json.dumps({"name": name, **result.as_dict()}, ensure_ascii=False, indent=2, allow_nan=False)
        yield (",\n" if number else "\n") + row
    yield "\n  ]\n}"


def as_json(results: Named) -> str:
    rows = [{"file": name, **result.as_dict()} for name, result in results]
    return json.dumps({"results": rows, "passed": all_passed(results)}, ensure_ascii=False, indent=2) + "\n"


def all_passed(results: Named) -> bool:
    return all(result.outcome == "pass" for _, result in results)


def exit_status(results: Named) -> int:
    """Return the exit status. 0: all cases passed. 1: some did not pass. 2: none of a case's checks was made.
    3: the cases that did not pass have no verdict, because a server or judge could not be reached.
    """
    if any(result.unchecked for _, result in results):
        return UNCHECKED
    missed = {result.outcome for _, result in results} - {"pass"}
    return 0 if not missed else NO_VERDICT if missed == {"error"} else 1


def table(results: Named) -> str:
    """Format one line per case, followed by its failures by turn and answer with their iterations."""
    lines = []
    for name, result in results:
        if result.error:
            lines += [f"{result.outcome.upper():8}{name}", f"        {result.error}"]
            continue
        facts = f"{count(result.checks_made, 'check')} run{_waited(result)}"
        if result.outcome != "skipped":
            counted = _evidence(result).count_with_interval
            facts = f"{counted}, {result.needed}/{result.ratio.iterations} needed, {facts}"
        lines.append(f"{result.outcome.upper():8}{name}  {result.agent}  {facts}")
        if result.unchecked:
            lines.append(f"        {result.unchecked}")
        if result.unsatisfiable:
            lines.append(f"        Run once, because no iteration can pass. {result.unsatisfiable}")
        lines += [f"        {line}" for line in lines_of(result)]
    passed = sum(result.outcome == "pass" for _, result in results)
    lines.append(f"{passed} of {count(len(results), 'case')} passed")
    return "\n".join(_terminal(line) for line in lines) + "\n"


def _waited(result: CaseResult) -> str:
    return f", {result.waited:,.1f} s waiting for a busy server" if result.waited else ""


def _evidence(result: CaseResult) -> Evidence:
    return evidence(
        result.passed, result.n, result.ratio.rate, errors=result.errors, early_stop=result.early_stop
    )


def _terminal(text: str) -> str:
    """Replace control characters, which could let answers manipulate the terminal."""
    return CONTROL.sub("\ufffd", text)


def explain(iteration: IterationResult) -> list[str]:
    """Return why an iteration did not pass, one line per check."""
    lines = [check_line(check) for check in iteration.checks if check.outcome in WRONG]
    if not lines and iteration.message:
        lines.append(f"{iteration.outcome}: {iteration.message}")
    return lines


def junit(results: Named) -> str:
    return "".join(junit_parts(results))


def junit_parts(results: Iterable[tuple[str, CaseResult]], version: str = "") -> Iterator[str]:
    """Yield one testsuite per case, with a testcase per iteration and a testcase for the ratio, which is decisive."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="agenttest">\n'
    for name, result in results:
        suite = _suite(name, result, version)
        ET.indent(suite)
        yield ET.tostring(suite, encoding="unicode") + "\n"
    yield "</testsuites>\n"


KINDS = {"fail": "failure", "skipped": "skipped"}
"""JUnit elements by outcome. All other outcomes except pass are errors."""


def _suite(name: str, result: CaseResult, version: str) -> ET.Element:
    suite = ET.Element("testsuite", name=_xml(name), time=f"{result.seconds:.3f}")
    _add_properties(suite, result, version)
    verdict = ET.SubElement(
        suite, "testcase", name=f"success_ratio {result.ratio.text}", classname=_xml(name)
    )
    if result.outcome != "pass":
        counted = f"{_evidence(result).sentence}, {result.needed} needed"
        _outcome(verdict, result.outcome, result.error or result.unchecked or counted, lines_of(result))
    for iteration in result.iterations:
        made = ET.SubElement(
            suite, "testcase", name=f"iteration {iteration.number}", classname=_xml(name),
            time=f"{iteration.seconds:.3f}",
        )  # fmt: skip
        if result.unchecked and iteration.outcome == "pass":
            _outcome(made, "skipped", result.unchecked, [])
        elif iteration.outcome != "pass":
            # The ratio above is decisive: a failed iteration is not a failed test if enough others pass.
            lines = explain(iteration)
            if result.outcome == "pass":
                _outcome(made, "skipped", f"{iteration.outcome}, but enough other iterations passed", lines)
            else:
                _outcome(made, iteration.outcome, lines[0] if lines else iteration.outcome, lines)
    suite.set("tests", str(1 + len(result.iterations)))
    for key, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{kind}"))))
    return suite


def _outcome(testcase: ET.Element, outcome: str, message: str, lines: list[str]) -> None:
    """Add the reason why a testcase did not pass: a short message, and `lines` as the body."""
    note = ET.SubElement(testcase, KINDS.get(outcome, "error"), message=_xml(message), type=outcome)
    note.text = _xml("\n".join(lines)) or None


def _add_properties(suite: ET.Element, result: CaseResult, version: str) -> None:
    """Add version, tokens, cost and waiting time where known. A missing property means unknown, not 0."""
    known = {"server_version": _xml(version)} if version else {}
    for key in ("total_tokens", "total_cost"):
        if result.tokens[key] is not None:
            known[key] = f"{result.tokens[key]:.10g}"
    if result.waited:
        known["waited_seconds"] = f"{result.waited:.3f}"
    if known:
        properties = ET.SubElement(suite, "properties")
        for key, value in known.items():
            ET.SubElement(properties, "property", name=key, value=value)


def _xml(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)
