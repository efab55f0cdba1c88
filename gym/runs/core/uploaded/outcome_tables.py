"""Files that hold outcomes alone: `model,suite,item,correct`, and our own download of outcomes."""

from __future__ import annotations

from collections.abc import Collection

from gym.lib.problems import Report
from gym.runs.core.uploaded.contents import OutcomePart, OutcomeRow, Uploaded
from gym.runs.core.uploaded.table import once, read_table, truth, whole

ROLES = {
    "item": ("item", "item_number", "item_no", "item_id"),
    "correct": ("correct", "held", "passed", "success", "result"),
    "model": ("model", "model_name"),
    "suite": ("suite", "suite_name", "test_suite"),
    "prediction": ("prediction", "prediction_name"),
    "number": ("prediction_number",),
    "outcome": ("outcome",),
}


def read_outcomes(text: str, report: Report) -> Uploaded:
    """One part per model and suite, in the file's order. Raises `FormatError`."""
    table = read_table(text, ROLES, ("item", "correct"), report)
    parts: dict[tuple[str, str], OutcomePart] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        item = whole(table, row, "item", "item number", report)
        correct = truth(table, row, "correct", report)
        if item is None or correct is None:
            continue
        suite, model, prediction = (
            table.text(row, role).strip()[:200] for role in ("suite", "model", "prediction")
        )
        known = False if table.text(row, "outcome").strip() == "not evaluable" else correct
        given = "number" in table.roles and table.text(row, "number").strip()
        number = whole(table, row, "number", "prediction number", report) if given else None
        key = (suite, model, prediction, number, item)
        what = f"item {item}" + (f" of {suite}" if suite else "") + (f" for {model}" if model else "")
        if not once(seen, key, row, lambda what=what: what, report):  # type: ignore[misc]
            continue
        part = parts.setdefault((suite, model), OutcomePart(suite, model, []))
        part.rows.append(OutcomeRow(row.where, item, known, prediction, number))
    report.raise_problems()
    return Uploaded("outcomes", tuple(parts.values()), tuple(report.notices))


def numbering(found: Collection[int], items: Collection[int], report: Report) -> int | None:
    """What to add to the file's item numbers to have the suite's: 0 or 1. None, with a problem, when no way fits.

    Published result files count items from 0, suites from 1.
    """
    given, wanted = set(found), set(items)
    for shift in (0, 1):
        if {number + shift for number in given} == wanted:
            return shift
    fits = [shift for shift in (0, 1) if {number + shift for number in given} <= wanted]
    if len(fits) == 2:
        message = f"{len(given)} of the suite's {len(wanted)} items are there, counted from 0 or from 1"
        report.problem("file", message, "Give every item: then it is clear which one is meant.")
    elif fits:
        missing = sorted(wanted - {number + fits[0] for number in given})
        report.problem("file", f"no outcome for item {_some(missing)}", "Give every item of the suite.")
    else:
        unknown = sorted(given - wanted)
        message = f"the suite has no item {_some(unknown)}; it has {_some(sorted(wanted))}"
        report.problem("file", message, "Is this the right suite, and the right version of it?")
    return None


def _some(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    shown = ", ".join(map(str, numbers[:12]))
    return f"{shown} and {len(numbers) - 12} more" if len(numbers) > 12 else shown
