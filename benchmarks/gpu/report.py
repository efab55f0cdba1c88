"""Format the results as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.gpu.steps import PARTS, Result

STATES = {
    "passed": "passed",
    "failed": "FAILED",
    "timeout": "ended: out of time",
    "skipped": "skipped",
    "later": "not run yet: no time was left",
}


def report(results: Mapping[str, Any]) -> str:
    """Format the facts, a line for each step, and the measurements of each step."""
    about, steps = results["facts"], results["steps"]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    where = about.get("gpu", f"the CPU, {about['cores']} cores")
    lines = [
        f"# {where}, {about['date']}",
        "",
        f"Device {about['device']}, {about.get('memory_gb', '–')} GB, driver {about.get('driver', '–')}, CUDA "
        f"{about['cuda']}, Python {about['python']}, commit {about['commit']}; {packages}.",
        "",
        *table(
            ["part", "step", "result", "s"],
            (
                [
                    result["part"],
                    key.split(": ", 1)[1],
                    STATES[result["state"]] + _why(result),
                    result.get("seconds", ""),
                ]
                for key, result in steps.items()
            ),
        ),
    ]
    for part in PARTS:
        for key, result in steps.items():
            if result["part"] == part and (shown := _shown(result)):
                lines += ["", f"## {key}", "", *shown]
    return "\n".join(lines) + "\n"


def _why(result: Result) -> str:
    return f" ({result['why']})" if result.get("why") else ""


def _shown(result: Result) -> list[str]:
    lines: list[str] = []
    if "tests" in result:
        lines += _tests(result["tests"])
    if "table" in result:
        lines += [result["table"]]
    if "values" in result:
        lines += table(["what", "value"], result["values"].items())
    if result.get("unread"):
        lines += ["", result["unread"]]
    if result.get("tail"):
        lines += ["", "```", result["tail"].strip()[-1500:], "```"]
    return lines


def _tests(rows: list[dict[str, str]]) -> list[str]:
    """Format a table of the tests with a column for each recorded property, or with a single column for all
    of them if there are many.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) > 12:  # the tests recorded different properties: one line each
        cells = (
            [
                row["test"],
                row["outcome"],
                row["seconds"],
                "; ".join(f"{k}: {v}" for k, v in row.items() if k not in FIXED),
            ]
            for row in rows
        )
        return table([*FIXED, "recorded"], cells)
    return table(names, ([row.get(name, "") for name in names] for row in rows))


FIXED = ("test", "outcome", "seconds")


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    titles = list(head)
    body = [f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows]
    return [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *body]
