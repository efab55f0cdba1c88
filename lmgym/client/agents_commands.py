"""`agents`: upload cases, run them on a server, and take the report home."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any

from .agent_tests import case_files
from .client import Client
from .commands import note, say, say_json
from .transport import ApiError
from .values import AgentRun

FORMS = ("table", "json", "junit", "csv")
READINGS = ("document", "reference-compatible")
PLACES = ("second", "third", "fourth", "fifth")


def add_parsers(names: Any, common: Any) -> None:
    group = names.add_parser("agents", help="agent tests: cases, runs and reports")
    commands = group.add_subparsers(dest="subcommand", required=True)

    card = commands.add_parser("register", parents=[common], help="register a server, and wait for its check")
    card.add_argument("name")
    card.add_argument("--url", required=True, help="its address")
    card.add_argument("--slug", help="default: made of the name")
    card.set_defaults(act=register)

    send = commands.add_parser("upload", parents=[common], help="upload cases into a suite")
    send.add_argument("file", nargs="+", type=Path, help="case files, folders of them, or a .zip of a folder")
    send.add_argument("--suite", required=True, metavar="SLUG", help="made if it is not there")
    send.set_defaults(act=upload)

    start = commands.add_parser("run", parents=[common], help="run the cases, wait and print the report")
    start.add_argument("suite", help="slug")
    start.add_argument("--agent-server", required=True, metavar="SLUG", help="a registered server")
    start.add_argument("--case", action="append", metavar="NAME", help="only this one; may be repeated")
    start.add_argument(
        "--reading",
        choices=READINGS,
        help="the rules of the documentation (default), or those of neuro-san 0.7.15 (reference-compatible)",
    )
    start.add_argument("--iterations", type=int, metavar="N", help="of each case; default: as the case says")
    start.add_argument("--parallel", type=int, metavar="N", help="iterations under way at the same time")
    start.add_argument("--early-stop", action="store_true", help="stop once the ratio is decided")
    start.add_argument("--format", default="table", choices=FORMS)
    start.add_argument("-o", "--output", type=Path, help="a file; standard output is then the run's id")
    start.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS")
    start.set_defaults(act=run)

    beside = commands.add_parser("compare", parents=[common], help="runs with a first one, case by case")
    beside.add_argument("first", help="id of the earlier run")
    beside.add_argument("second", nargs="+", help="ids of later runs, each compared with the first")
    beside.add_argument(
        "--alpha",
        type=_alpha,
        default=0.05,
        metavar="P",
        help="exit with 1 where a rate is lower with p (Holm) below this; default: 0.05",
    )
    beside.set_defaults(act=compare)


def _alpha(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ArgumentTypeError(f"a number between 0 and 1 is needed, not {text!r}")
    return value


def register(client: Client, given: Namespace) -> int:
    """2 where the check finds that it cannot be talked to."""
    card = {"slug": given.slug} if given.slug else {}
    slug = client.register_agent_server(given.name, given.url, **card)
    state = client.wait_for_agent_server(slug)
    found = client.get(f"agent-servers/{slug}/")
    if given.json:
        say_json(found)
    else:
        say(f"{slug}\t{state}\t{found['version']}\t{', '.join(found['agents'])}")
    if state == "broken":
        note(found["state_reason"])
    return 0 if state == "ready" else 2


def upload(client: Client, given: Namespace) -> int:
    """A suite that was made for cases that are then refused is deleted again."""
    files = case_files(given.file)
    is_new = False
    try:
        client.get(f"agent-suites/{given.suite}/")
    except ApiError as error:
        if error.status != 404:
            raise
        client.make_agent_suite(given.suite, slug=given.suite)
        is_new = True
    try:
        names = client.upload_cases(given.suite, files)
    except ApiError:
        if is_new:
            with suppress(ApiError):  # why the cases were refused is what matters
                client.delete_agent_suite(given.suite)
        raise
    if is_new:
        note(f"made the suite {given.suite}")
    if given.json:
        say_json(names)
    else:
        for name in names:
            say(name)
    return 0


def run(client: Client, given: Namespace) -> int:
    options: dict[str, Any] = {"early_stop": given.early_stop}
    asked = {name: getattr(given, name) for name in ("reading", "iterations", "parallel")}
    options |= {name: value for name, value in asked.items() if value is not None}
    made = client.start_agent_run(given.suite, given.agent_server, cases=given.case, **options)
    note(f"run {made.id} of {given.suite} on {given.agent_server} queued")
    done = client.wait_for_agent_run(made.id, seconds=given.timeout)
    note(f"{done.server} {' → '.join(done.versions)}: {done.state}")
    form = "json" if given.json else given.format
    report = _table(done).encode() if form == "table" else client.agent_report(done.id, form)
    if given.output is not None:
        given.output.write_bytes(report)
        say(done.id)
    else:
        sys.stdout.write(report.decode("utf-8"))
    return _status(done)


def _table(done: AgentRun) -> str:
    head = "case\toutcome\tpassed\tmade\terrors\n"
    rows = (f"{row.name}\t{row.outcome}\t{row.passed}\t{row.made}\t{row.errors}\n" for row in done.cases)
    return head + "".join(rows)


def _status(done: AgentRun) -> int:
    """That of `manage.py agenttest`: 0 all passed, 1 some failed, 3 none failed but some have no verdict; 2 where no
    check of a case was made, or the run itself did not end well."""
    unchecked = [row.name for row in done.cases if row.is_unchecked]
    for name in unchecked:
        note(f"no check was made: {name}")
    if done.state != "done" or unchecked:
        return 2
    if any(row.outcome in ("fail", "timeout") for row in done.cases):
        return 1
    return 0 if all(row.outcome == "pass" for row in done.cases) else 3


def compare(client: Client, given: Namespace) -> int:
    """1 where the rate of a case, or of all cases together, is lower than in the first run at the corrected p; else 3
    where a case has no verdict, or missed its ratio and has no p."""
    found = client.compare_agent_runs(given.first, *given.second)
    several = len(found["comparisons"]) > 1
    notes: list[tuple[str, str]] = []
    for other in found["comparisons"]:
        for row in _rows(other):
            if change := _change(row, given.alpha):
                kind, why = change
                place = f" in {other['id']}" if several else ""
                notes.append((kind, f"{row['name']}{place}{why}"))
    kinds = {kind for kind, _ in notes}
    status = 1 if REGRESSION in kinds else 3 if kinds & {NO_VERDICT, NOT_TESTED} else 0
    if given.json:
        say_json(found)
        return status
    for place, other in zip(PLACES, found["comparisons"], strict=False):
        versions = (" → ".join(run["versions"]) or "?" for run in (found["first"], other))
        head = "case\tfirst ({})\t{} ({})\tdifference\tlow\thigh\tp\tp (Holm)"
        first, second = versions
        say(head.format(first, place, second))
        for row in _rows(other):
            sides = "\t".join(_told(row[side]) for side in ("first", "second"))
            differences = [row["difference"], *(row["interval"] or (None, None))]
            figures = ["" if value is None else f"{value:+.2f}" for value in differences]
            figures += [_p(row[name]) for name in ("p", "p_holm")]
            say("\t".join([row["name"], sides, *figures]))
    for kind in KINDS:
        for line in (line for found_kind, line in notes if found_kind == kind):
            note(f"{kind}: {line}")
    return status


REGRESSION, NO_VERDICT, NOT_TESTED, MISSED = KINDS = (
    "regression",
    "no verdict",
    "not tested",
    "ratio missed",
)
"""What is said of a case. A missed ratio is a remark: two runs with the same rate may fall on both sides of it."""


def _rows(other: dict[str, Any]) -> list[dict[str, Any]]:
    """The cases, and all of them together where there are several."""
    cases: list[dict[str, Any]] = other["cases"]
    if sum(row["difference"] is not None for row in cases) < 2:
        return cases
    total = other["total"]
    sides = zip(("first", "second"), total["errors"], strict=True)
    counts = {
        side: {"outcome": "", "passed": total[side][0], "made": total[side][1], "errors": errors}
        for side, errors in sides
    }
    return [*cases, {**total, **counts, "name": "all cases"}]


def _change(row: dict[str, Any], alpha: float) -> tuple[str, str] | None:
    """One of KINDS and why, for a case that both runs have; None where there is nothing to say. What decides is the
    rate, whose p the table shows, and not on which side of the required ratio it fell."""
    first, second = row["first"], row["second"]
    if first is None or second is None:
        return None
    p, counts = row["p_holm"], f"{_count(first)}, then {_count(second)}"
    if p is not None and p < alpha and row["difference"] < 0:
        return REGRESSION, f": {counts}, p (Holm) {_p(p)}"
    if {"error", "skipped"} & {first["outcome"], second["outcome"]}:
        return NO_VERDICT, ""
    if first["outcome"] != "pass" or second["outcome"] == "pass":
        return None
    if p is None:
        return NOT_TESTED, f": passed, then {second['outcome']}; {row['test']}"
    return MISSED, f": {counts}, not significantly lower, p (Holm) {_p(p)}"


def _count(side: dict[str, Any]) -> str:
    return f"{side['passed']}/{side['made']}"


def _told(side: dict[str, Any] | None) -> str:
    if side is None:
        return "–"
    errors = f"{side['errors']} error{'' if side['errors'] == 1 else 's'}"
    if side["errors"] and not side["made"]:
        return f"no verdict: {errors}"
    told = f"{side['outcome']} {_count(side)}".strip()
    return f"{told}, {errors}" if side["errors"] else told


def _p(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
