"""`agents`: upload cases, run them on a server, and take the report home."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from .client import Client
from .commands import note, say, say_json
from .transport import ApiError
from .values import AgentRun

FORMS = ("table", "json", "junit", "csv")
READINGS = ("document", "reference-compatible")


def add_parsers(names: Any, common: Any) -> None:
    group = names.add_parser("agents", help="agent tests: cases, runs and reports")
    commands = group.add_subparsers(dest="subcommand", required=True)

    card = commands.add_parser("register", parents=[common], help="register a server, and wait for its check")
    card.add_argument("name")
    card.add_argument("--url", required=True, help="its address")
    card.add_argument("--slug", help="default: made of the name")
    card.set_defaults(act=register)

    send = commands.add_parser("upload", parents=[common], help="upload cases into a suite")
    send.add_argument("file", nargs="+", type=Path, help=".hocon files, or a .zip of a folder of them")
    send.add_argument("--suite", required=True, metavar="SLUG", help="made if it is not there")
    send.set_defaults(act=upload)

    start = commands.add_parser("run", parents=[common], help="run the cases, wait and print the report")
    start.add_argument("suite", help="slug")
    start.add_argument("--agent-server", required=True, metavar="SLUG", help="a registered server")
    start.add_argument("--case", action="append", metavar="NAME", help="only this one; may be repeated")
    start.add_argument("--reading", choices=READINGS, help="the rules; default: the documentation's")
    start.add_argument("--early-stop", action="store_true", help="stop once the ratio is decided")
    start.add_argument("--format", default="table", choices=FORMS)
    start.add_argument("-o", "--output", type=Path, help="a file; standard output is then the run's id")
    start.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS")
    start.set_defaults(act=run)

    beside = commands.add_parser("compare", parents=[common], help="runs with a first one, case by case")
    beside.add_argument("first", help="id of the earlier run")
    beside.add_argument("second", nargs="+", help="ids of later runs, each compared with the first")
    beside.set_defaults(act=compare)


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
    files = [(path.name, path.read_bytes()) for path in given.file]
    try:
        client.get(f"agent-suites/{given.suite}/")
    except ApiError as error:
        if error.status != 404:
            raise
        client.make_agent_suite(given.suite, slug=given.suite)
        note(f"made the suite {given.suite}")
    names = client.upload_cases(given.suite, files)
    if given.json:
        say_json(names)
    else:
        for name in names:
            say(name)
    return 0


def run(client: Client, given: Namespace) -> int:
    options: dict[str, Any] = {"early_stop": given.early_stop}
    options |= {"reading": given.reading} if given.reading else {}
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
    """That of `manage.py agenttest`: 0 all passed, 1 some failed, 3 none failed but some have no verdict; 2 where the
    run itself did not end well."""
    if done.state != "done":
        return 2
    if any(row.outcome in ("fail", "timeout") for row in done.cases):
        return 1
    return 0 if all(row.outcome == "pass" for row in done.cases) else 3


def compare(client: Client, given: Namespace) -> int:
    """1 where a case that passed in the first does not pass in another."""
    found = client.compare_agent_runs(given.first, *given.second)
    worse = [
        (row["name"], other["id"])
        for other in found["comparisons"]
        for row in other["cases"]
        if _outcomes(row)[0] == "pass" != (_outcomes(row)[1] or "pass")
    ]
    if given.json:
        say_json(found)
        return 1 if worse else 0
    for other in found["comparisons"]:
        versions = (" → ".join(run["versions"]) or "?" for run in (found["first"], other))
        say("case\tfirst ({})\tsecond ({})\tdifference\tlow\thigh\tp\tp (Holm)".format(*versions))
        for row in other["cases"]:
            sides = "\t".join(_told(row[side]) for side in ("first", "second"))
            differences = [row["difference"], *(row["interval"] or (None, None))]
            figures = ["" if value is None else f"{value:+.2f}" for value in differences]
            figures += ["" if row[name] is None else f"{row[name]:.3f}" for name in ("p", "p_holm")]
            say("\t".join([row["name"], sides, *figures]))
    for name, key in worse:
        note(f"regression: {name}" + (f" in {key}" if len(found["comparisons"]) > 1 else ""))
    return 1 if worse else 0


def _outcomes(row: dict[str, Any]) -> tuple[str, str]:
    first, second = ((row[side] or {}).get("outcome", "") for side in ("first", "second"))
    return first, second


def _told(side: dict[str, Any] | None) -> str:
    return "–" if side is None else f"{side['outcome']} {side['passed']}/{side['made']}"
