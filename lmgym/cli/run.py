"""`lmgym run`: run models on suites on a site."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lmgym.cli import at_site, rates, shared
from lmgym.cli.policy import add_policy, policy_of
from lmgym.cli.wait import finished
from lmgym.cli.waiting import add_waiting
from lmgym.client import Client
from lmgym.text.arguments import Parser


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Run models of a site on its suites, wait, and print the pass rates. Existing runs are reused. "
        "If one run is refused, none is queued.",
    )
    top.add_argument(
        "suites",
        nargs="+",
        metavar="SUITE",
        help="slug; the newest frozen revision is run (lmgym push FILE --freeze)",
    )
    top.add_argument(
        "--model", "-m", dest="models", action="append", required=True, metavar="SLUG", help="may be repeated"
    )
    top.add_argument("--again", action="store_true", help="create new runs even if matching runs exist")
    top.add_argument(
        "--no-wait", dest="wait", action="store_false", help="queue the runs and print their ids"
    )
    shared.add_output(top)
    rates.add_gate(top)
    add_waiting(top)
    add_policy(top)
    at_site.add_site(top)
    top.set_defaults(act=_run)
    return top


def main(argv: Sequence[str], prog: str = "lmgym run") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _run(client: Client, options: argparse.Namespace) -> int:
    keys = client.run_batch(options.suites, options.models, policy=policy_of(options), again=options.again)
    if not options.wait:
        shared.write("".join(f"{key}\n" for key in keys), options.output)
        return shared.DONE
    return finished(client, keys, options)
