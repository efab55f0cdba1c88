"""`lmgym agents`: tests of agents, locally and on a site."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lmgym.agents import cli as local
from lmgym.cli import at_site
from lmgym.cli.shared import BELOW, DONE, NO_VERDICT, WRONG, as_json, note, print_line, write
from lmgym.cli.waiting import add_waiting
from lmgym.client import AgentRun, ApiError, Client
from lmgym.client.agent_tests import case_files

FORMS = ("table", "json", "junit", "csv")
READINGS = ("document", "reference-compatible")
ORDINALS = ("second", "third", "fourth", "fifth")


def parser(prog: str) -> ArgumentParser:
    return local.parser(prog, _add_site_commands)


def main(argv: Sequence[str], prog: str = "lmgym agents") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    if argv and argv[0] in local.COMMANDS:
        return local.main(argv, prog)
    return at_site.run(parser(prog), argv)


def _added(names: Any, name: str, act: at_site.Act, text: str) -> ArgumentParser:
    made: ArgumentParser = names.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    at_site.add_site(made)
    made.set_defaults(act=act)
    return made


def _add_site_commands(names: Any) -> None:
    card = _added(names, "register", register, "on a site: register a server and wait for its check")
    card.add_argument("name")
    card.add_argument("--url", required=True, help="URL of the server")
    card.add_argument("--slug", help="default: derived from the name")

    send = _added(names, "upload", upload, "on a site: upload cases into a suite")
    send.add_argument("file", nargs="+", type=Path, help="case files, folders of them, or a .zip of a folder")
    send.add_argument("--suite", required=True, metavar="SLUG", help="created if it does not exist")

    start = _added(names, "run", run, "on a site: run the cases, wait and print the report")
    start.add_argument("suite", help="slug")
    start.add_argument("--agent-server", required=True, metavar="SLUG", help="a registered server")
    start.add_argument(
        "--case",
        action="append",
        metavar="NAME",
        help="run only this case; may be repeated; default: all cases",
    )
    start.add_argument(
        "--reading",
        choices=READINGS,
        help="follow neuro-san's documentation (document, the default) or neuro-san 0.7.15 (reference-compatible)",
    )
    start.add_argument(
        "--iterations", type=int, metavar="N", help="iterations of each case; default: set by the case"
    )
    start.add_argument("--parallel", type=int, metavar="N", help="iterations to run at the same time")
    start.add_argument(
        "--early-stop", action="store_true", help="stop a case as soon as its pass ratio is decided"
    )
    start.add_argument(
        "-o", "--output", type=Path, help="file for the report; the command then prints the run's id"
    )
    add_waiting(start)

    versus = _added(names, "compare", compare, "on a site: compare runs with an earlier run, case by case")
    versus.add_argument("first", help="id of the earlier run")
    versus.add_argument("second", nargs="+", help="ids of later runs, each compared with the first")
    versus.add_argument(
        "--alpha",
        type=_alpha,
        default=0.05,
        metavar="P",
        help="exit with status 1 if a rate is lower with p (Holm) below this value; default: 0.05",
    )
    for command in (card, send, start, versus):
        forms = FORMS if command is start else FORMS[:2]
        command.add_argument("--format", choices=forms, default="table")


def _alpha(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ArgumentTypeError(f"expected a number between 0 and 1, not {text!r}")
    return value


def register(client: Client, arguments: Namespace) -> int:
    """Register a server. Return WRONG if its check fails."""
    card = {"slug": arguments.slug} if arguments.slug else {}
    slug = client.register_agent_server(arguments.name, arguments.url, **card)
    state = client.wait_for_agent_server(slug)
    server = client.get(f"agent-servers/{slug}/")
    if arguments.format == "json":
        write(as_json(server), None)
    else:
        print_line(f"{slug}\t{state}\t{server['version']}\t{', '.join(server['agents'])}")
    if state == "broken":
        note(server["state_reason"])
    return DONE if state == "ready" else WRONG


def upload(client: Client, arguments: Namespace) -> int:
    """Upload cases, creating the suite if needed. A new suite is deleted again if the cases are rejected."""
    files = case_files(arguments.file)
    is_new = False
    try:
        client.get(f"agent-suites/{arguments.suite}/")
    except ApiError as error:
        if error.status != 404:
            raise
        client.make_agent_suite(arguments.suite, slug=arguments.suite)
        is_new = True
    try:
        names = client.upload_cases(arguments.suite, files)
    except ApiError:
        if is_new:
            with suppress(ApiError):  # the error to report is why the cases were rejected
                client.delete_agent_suite(arguments.suite)
        raise
    if is_new:
        note(f"created the suite {arguments.suite}")
    if arguments.format == "json":
        write(as_json(names), None)
    else:
        for name in names:
            print_line(name)
    return DONE


def run(client: Client, arguments: Namespace) -> int:
    options: dict[str, Any] = {"early_stop": arguments.early_stop}
    optional = {name: getattr(arguments, name) for name in ("reading", "iterations", "parallel")}
    options |= {name: value for name, value in optional.items() if value is not None}
    queued = client.start_agent_run(arguments.suite, arguments.agent_server, cases=arguments.case, **options)
    note(f"run {queued.id} of {arguments.suite} on {arguments.agent_server} queued")
    done = client.wait_for_agent_run(queued.id, seconds=arguments.timeout)
    note(f"{done.server} {' → '.join(done.versions)}: {done.state}")
    report = (
        _table(done).encode()
        if arguments.format == "table"
        else client.agent_report(done.id, arguments.format)
    )
    write(report, arguments.output)
    if arguments.output is not None:
        print_line(done.id)
    return _status(done)


def _table(done: AgentRun) -> str:
    head = "case\toutcome\tpassed\tn\terrors\n"
    rows = (f"{row.name}\t{row.outcome}\t{row.passed}\t{row.n}\t{row.errors}\n" for row in done.cases)
    return head + "".join(rows)


def _status(done: AgentRun) -> int:
    """Return the exit status, like `agenttest`: DONE if all cases passed, BELOW if some failed or timed out,
    NO_VERDICT if the cases that did not pass have no verdict, WRONG if a case ran none of its checks or the
    run itself failed."""
    unchecked = [row.name for row in done.cases if row.is_unchecked]
    for name in unchecked:
        note(f"no checks were run: {name}")
    if done.state != "done" or unchecked:
        return WRONG
    if any(row.outcome in ("fail", "timeout") for row in done.cases):
        return BELOW
    return DONE if all(row.outcome == "pass" for row in done.cases) else NO_VERDICT


def compare(client: Client, arguments: Namespace) -> int:
    """Print the comparison and return the exit status.

    The status is BELOW if the pass rate of a case, or of all cases together, is significantly lower than in the first
    run (corrected p); otherwise NO_VERDICT if a case has no verdict, or missed its ratio and has no p.
    """
    compared = client.compare_agent_runs(arguments.first, *arguments.second)
    several = len(compared["comparisons"]) > 1
    notes: list[tuple[str, str]] = []
    for other in compared["comparisons"]:
        for row in _rows(other):
            if change := _change(row, arguments.alpha):
                kind, reason = change
                run_id = f" in {other['id']}" if several else ""
                notes.append((kind, f"{row['case']}{run_id}{reason}"))
    kinds = {kind for kind, _ in notes}
    status = BELOW if REGRESSION in kinds else NO_VERDICT if kinds & {UNDECIDED, NOT_TESTED} else DONE
    if arguments.format == "json":
        write(as_json(compared), None)
        return status
    for ordinal, other in zip(ORDINALS, compared["comparisons"], strict=False):
        first, second = (" → ".join(run["versions"]) or "?" for run in (compared["first"], other))
        print_line(f"case\tfirst ({first})\t{ordinal} ({second})\tdifference\tlow\thigh\tp\tp_corrected")
        for row in _rows(other):
            sides = [_side(row, side) for side in ("first", "second")]
            differences = [row[name] for name in ("difference", "low", "high")]
            figures = ["" if value is None else f"{value:+.2f}" for value in differences]
            figures += [_p(row[name]) for name in ("p", "p_corrected")]
            print_line("\t".join([row["case"], *sides, *figures]))
    for kind in KINDS:
        for line in (line for noted, line in notes if noted == kind):
            note(f"{kind}: {line}")
    return status


REGRESSION, UNDECIDED, NOT_TESTED, MISSED = KINDS = (
    "regression",
    "no verdict",
    "not tested",
    "ratio missed",
)
"""Kinds of notes on a case. A missed ratio by itself is not a failure, because pass rates that do not differ
significantly may be on either side of it."""


def _rows(other: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row per case, and a row for all cases together if several are compared."""
    cases: list[dict[str, Any]] = other["cases"]
    if sum(row["difference"] is not None for row in cases) < 2:
        return cases
    return [*cases, {**other["total"], "first_outcome": "", "second_outcome": "", "case": "all cases"}]


def _change(row: dict[str, Any], alpha: float) -> tuple[str, str] | None:
    """Return one of KINDS and the reason for a case that both runs have, or None.

    A regression is decided by the p of the difference, which the table shows, not by the required ratio.
    """
    outcomes = row["first_outcome"], row["second_outcome"]
    if None in outcomes:
        return None
    p, counts = row["p_corrected"], f"{_count(row, 'first')}, then {_count(row, 'second')}"
    if p is not None and p < alpha and row["difference"] < 0:
        return REGRESSION, f": {counts}, p (Holm) {_p(p)}"
    if {"error", "skipped"} & set(outcomes):
        return UNDECIDED, ""
    if outcomes[0] != "pass" or outcomes[1] == "pass":
        return None
    if p is None:
        return NOT_TESTED, f": passed, then {outcomes[1]}; {row['note']}"
    return MISSED, f": {counts}, not significantly lower, p (Holm) {_p(p)}"


def _count(row: dict[str, Any], side: str) -> str:
    return f"{row[f'{side}_passed']}/{row[f'{side}_n']}"


def _side(row: dict[str, Any], side: str) -> str:
    """Format outcome, count and errors of a case in one of the runs."""
    outcome, n = row[f"{side}_outcome"], row[f"{side}_errors"]
    if outcome is None:
        return "–"
    errors = f"{n} error{'' if n == 1 else 's'}"
    if n and not row[f"{side}_n"]:
        return f"no verdict: {errors}"
    verdict = f"{outcome} {_count(row, side)}".strip()
    return f"{verdict}, {errors}" if n else verdict


def _p(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
