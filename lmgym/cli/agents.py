"""`lmgym agents`: tests of agents, on this machine and on a site."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lmgym.agents import cli as local
from lmgym.cli import at_site
from lmgym.cli.shared import BELOW, DONE, NO_VERDICT, WRONG, as_json, note, say, write
from lmgym.cli.waiting import add_waiting
from lmgym.client import AgentRun, ApiError, Client
from lmgym.client.agent_tests import case_files

FORMS = ("table", "json", "junit", "csv")
READINGS = ("document", "reference-compatible")
PLACES = ("second", "third", "fourth", "fifth")


def parser(prog: str) -> ArgumentParser:
    return local.parser(prog, _add_site_commands)


def main(argv: Sequence[str], prog: str = "lmgym agents") -> int:
    """Run a command and return its exit status. Raises SystemExit(2) for wrong arguments."""
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
    card.add_argument("--url", required=True, help="its address")
    card.add_argument("--slug", help="default: derived from the name")

    send = _added(names, "upload", upload, "on a site: upload cases into a suite")
    send.add_argument("file", nargs="+", type=Path, help="case files, folders of them, or a .zip of a folder")
    send.add_argument("--suite", required=True, metavar="SLUG", help="created if it does not exist")

    start = _added(names, "run", run, "on a site: run the cases, wait and print the report")
    start.add_argument("suite", help="slug")
    start.add_argument("--agent-server", required=True, metavar="SLUG", help="a registered server")
    start.add_argument("--case", action="append", metavar="NAME", help="only this one; may be repeated")
    start.add_argument(
        "--reading",
        choices=READINGS,
        help="the rules of neuro-san's documentation (default), or of neuro-san 0.7.15 (reference-compatible)",
    )
    start.add_argument("--iterations", type=int, metavar="N", help="of each case; default: as the case says")
    start.add_argument("--parallel", type=int, metavar="N", help="iterations to run at the same time")
    start.add_argument("--early-stop", action="store_true", help="stop once the ratio is decided")
    start.add_argument("-o", "--output", type=Path, help="a file; standard output is then the run's id")
    add_waiting(start)

    versus = _added(names, "compare", compare, "on a site: compare runs with a first one, case by case")
    versus.add_argument("first", help="id of the earlier run")
    versus.add_argument("second", nargs="+", help="ids of later runs, each compared with the first")
    versus.add_argument(
        "--alpha",
        type=_alpha,
        default=0.05,
        metavar="P",
        help="exit with 1 where a rate is lower with p (Holm) below this; default: 0.05",
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


def register(client: Client, given: Namespace) -> int:
    """Register a server. Return WRONG if its check fails."""
    card = {"slug": given.slug} if given.slug else {}
    slug = client.register_agent_server(given.name, given.url, **card)
    state = client.wait_for_agent_server(slug)
    found = client.get(f"agent-servers/{slug}/")
    if given.format == "json":
        write(as_json(found), None)
    else:
        say(f"{slug}\t{state}\t{found['version']}\t{', '.join(found['agents'])}")
    if state == "broken":
        note(found["state_reason"])
    return DONE if state == "ready" else WRONG


def upload(client: Client, given: Namespace) -> int:
    """Upload cases. If they are rejected, a suite created for them is deleted."""
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
            with suppress(ApiError):  # report why the cases were rejected, not this
                client.delete_agent_suite(given.suite)
        raise
    if is_new:
        note(f"created the suite {given.suite}")
    if given.format == "json":
        write(as_json(names), None)
    else:
        for name in names:
            say(name)
    return DONE


def run(client: Client, given: Namespace) -> int:
    options: dict[str, Any] = {"early_stop": given.early_stop}
    optional = {name: getattr(given, name) for name in ("reading", "iterations", "parallel")}
    options |= {name: value for name, value in optional.items() if value is not None}
    made = client.start_agent_run(given.suite, given.agent_server, cases=given.case, **options)
    note(f"run {made.id} of {given.suite} on {given.agent_server} queued")
    done = client.wait_for_agent_run(made.id, seconds=given.timeout)
    note(f"{done.server} {' → '.join(done.versions)}: {done.state}")
    report = _table(done).encode() if given.format == "table" else client.agent_report(done.id, given.format)
    write(report, given.output)
    if given.output is not None:
        say(done.id)
    return _status(done)


def _table(done: AgentRun) -> str:
    head = "case\toutcome\tpassed\tn\terrors\n"
    rows = (f"{row.name}\t{row.outcome}\t{row.passed}\t{row.n}\t{row.errors}\n" for row in done.cases)
    return head + "".join(rows)


def _status(done: AgentRun) -> int:
    """Return the exit status, as `agenttest` does: DONE if all passed, BELOW if some failed, NO_VERDICT if none failed
    but some have no verdict, WRONG if no check of a case was made or the run itself failed."""
    unchecked = [row.name for row in done.cases if row.is_unchecked]
    for name in unchecked:
        note(f"no check was made: {name}")
    if done.state != "done" or unchecked:
        return WRONG
    if any(row.outcome in ("fail", "timeout") for row in done.cases):
        return BELOW
    return DONE if all(row.outcome == "pass" for row in done.cases) else NO_VERDICT


def compare(client: Client, given: Namespace) -> int:
    """Print the comparison.

    Return BELOW if the rate of a case, or of all cases together, is lower than in the first run at the corrected p;
    otherwise NO_VERDICT if a case has no verdict, or missed its ratio and has no p.
    """
    compared = client.compare_agent_runs(given.first, *given.second)
    several = len(compared["comparisons"]) > 1
    notes: list[tuple[str, str]] = []
    for other in compared["comparisons"]:
        for row in _rows(other):
            if change := _change(row, given.alpha):
                kind, why = change
                place = f" in {other['id']}" if several else ""
                notes.append((kind, f"{row['case']}{place}{why}"))
    kinds = {kind for kind, _ in notes}
    status = BELOW if REGRESSION in kinds else NO_VERDICT if kinds & {UNDECIDED, NOT_TESTED} else DONE
    if given.format == "json":
        write(as_json(compared), None)
        return status
    for place, other in zip(PLACES, compared["comparisons"], strict=False):
        first, second = (" → ".join(run["versions"]) or "?" for run in (compared["first"], other))
        say(f"case\tfirst ({first})\t{place} ({second})\tdifference\tlow\thigh\tp\tp_corrected")
        for row in _rows(other):
            sides = [_side(row, side) for side in ("first", "second")]
            differences = [row[name] for name in ("difference", "low", "high")]
            figures = ["" if value is None else f"{value:+.2f}" for value in differences]
            figures += [_p(row[name]) for name in ("p", "p_corrected")]
            say("\t".join([row["case"], *sides, *figures]))
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
"""Kinds of notes on a case. A missed ratio alone is no failure: equal rates may lie on both sides of it."""


def _rows(other: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cases, and if there are several, all of them together."""
    cases: list[dict[str, Any]] = other["cases"]
    if sum(row["difference"] is not None for row in cases) < 2:
        return cases
    return [*cases, {**other["total"], "first_outcome": "", "second_outcome": "", "case": "all cases"}]


def _change(row: dict[str, Any], alpha: float) -> tuple[str, str] | None:
    """Return one of KINDS and the reason, for a case that both runs have, or None. The rate decides, whose p the table
    shows, not the side of the required ratio that it lies on."""
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
