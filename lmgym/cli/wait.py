"""`lmgym wait`: wait for queued runs of a site."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from lmgym.cli import at_site, rates, shared
from lmgym.cli.waiting import add_waiting
from lmgym.client import Client, Run
from lmgym.text.arguments import Parser

REPORT_SECONDS = 10.0


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog, description="Wait for runs of a site to end, and print the pass rates as lmgym run does."
    )
    top.add_argument("runs", nargs="+", metavar="RUN", help="id printed by lmgym run --no-wait")
    shared.add_output(top)
    rates.add_gate(top)
    add_waiting(top)
    at_site.add_site(top)
    top.set_defaults(act=_wait)
    return top


def main(argv: Sequence[str], prog: str = "lmgym wait") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _wait(client: Client, options: argparse.Namespace) -> int:
    return finished(client, options.runs, options)


def finished(client: Client, keys: Sequence[str], options: argparse.Namespace) -> int:
    """Wait for the runs and report their rates; return the exit status."""
    try:
        runs = client.wait_all(keys, on_update=_Progress(), seconds=options.timeout)
    except (KeyboardInterrupt, TimeoutError):
        continuing = "The run continues" if len(keys) == 1 else "The runs continue"
        shared.note(f"{continuing} on the site. To wait again: lmgym wait {' '.join(keys)}")
        raise
    for run in runs:
        shared.note(f"{run.model} on {run.suite} r{run.revision}: {client.transport.server}/runs/{run.id}/")
    ended_badly = [run for run in runs if run.state != "done"]
    status = rates.report(client.table(runs), options) if len(ended_badly) < len(runs) else shared.WRONG
    for run in ended_badly:
        shared.note(f"{run.model} on {run.suite} r{run.revision}: {run.state}. {run.error}".rstrip())
    if ended_badly:
        return shared.WRONG
    tested = all(run.predictions for run in runs)
    return status if tested or options.fail_under is None else shared.BELOW


class _Progress:
    """Callback that prints a line when the state or the reason for waiting changes, and every ten seconds."""

    def __init__(self) -> None:
        self.reported, self.at = ("", ""), 0.0

    def __call__(self, run: Run) -> None:
        now = time.monotonic()
        state = f"{run.state}, {run.behind}" if run.behind else run.state
        if (run.id, state) != self.reported or now - self.at > REPORT_SECONDS:
            done = f" {run.done} of {run.total}" if run.state == "running" and run.total else ""
            shared.note(f"{run.model} on {run.suite}: {state}{done}")
            self.reported, self.at = (run.id, state), now
