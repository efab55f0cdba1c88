"""`lmgym runs`: cancel, retry or delete many runs of a site."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from lmgym.cli import at_site, shared
from lmgym.client import Client
from lmgym.text import count
from lmgym.text.arguments import Parser

ACTIONS = {"cancel": "cancelled", "retry": "queued again", "delete": "deleted"}
FILTERS = ("suite", "model", "tag", "state", "owner")
STATES = ("queued", "running", "done", "failed", "cancelled")


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Cancel, retry or delete all runs of your account that match the options. Unfinished runs can be "
        "cancelled, failed and cancelled ones retried, ended ones deleted.",
    )
    top.add_argument("action", choices=tuple(ACTIONS))
    top.add_argument("--suite", metavar="SLUG")
    top.add_argument("--model", metavar="SLUG")
    top.add_argument("--tag", help="tag of the suite")
    top.add_argument("--state", choices=STATES)
    top.add_argument("--owner", metavar="USER", help="another account (staff)")
    top.add_argument("--yes", action="store_true", help="delete without a filter")
    top.add_argument("--format", choices=("table", "json"), default="table")
    at_site.add_site(top)
    top.set_defaults(act=_change)
    return top


def main(argv: Sequence[str], prog: str = "lmgym runs") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _change(client: Client, options: argparse.Namespace) -> int:
    filters = {name: value for name in FILTERS if (value := getattr(options, name)) is not None}
    if options.action == "delete" and not (set(filters) - {"owner"} or options.yes):
        raise shared.Failed(
            "This deletes all ended runs of the account. Name a suite, model, tag or state, or add --yes."
        )
    changed = client.change_runs(options.action, **filters)
    total = changed["done"]
    while changed["left"] and changed["done"]:
        changed = client.change_runs(options.action, **filters)
        total += changed["done"]
    refused, left = changed["refused"], changed["left"]
    if options.format == "json":
        print(json.dumps({"done": total, "refused": refused, "left": left}))  # noqa: T201
    else:
        print(f"{count(total, 'run')} {ACTIONS[options.action]}.")  # noqa: T201
        for reason, n in refused.items():
            shared.note(f"{count(n, 'run')} refused: {reason}")
        if left:
            shared.note(f"{count(left, 'more run')} not tried, because all before were refused")
    return shared.WRONG if refused else shared.DONE
