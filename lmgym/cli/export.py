"""`lmgym export`: download results of many runs of a site as one table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lmgym.cli import at_site, shared
from lmgym.client import Client
from lmgym.text.arguments import Parser

TABLES = ("scores", "predictions", "outcomes", "regions", "tokens")


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Download results of many runs as one table. By default, it contains the newest run of each model "
        "on every suite that you can see in the list of suites.",
    )
    top.add_argument(
        "table", nargs="?", choices=TABLES, default="predictions",
        help="one row per run, per prediction, per item and prediction, per region, or per token; default: predictions",
    )  # fmt: skip
    top.add_argument(
        "--suite", action="append", default=[], metavar="SLUG", help="only this suite; may be repeated"
    )
    top.add_argument(
        "--model", "-m", action="append", default=[], metavar="SLUG", help="only this model; may be repeated"
    )
    top.add_argument("--tag", help="only suites with this tag")
    top.add_argument("--collection", metavar="SLUG", help="only the revisions in this collection")
    top.add_argument("--all", action="store_true", help="every finished run, not only the newest")
    shared.add_output(top, ("csv", "parquet"))
    at_site.add_site(top)
    top.set_defaults(act=_export)
    return top


def main(argv: Sequence[str], prog: str = "lmgym export") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _export(client: Client, options: argparse.Namespace) -> int:
    data = client.export(
        options.table,
        options.format,
        suites=options.suite,
        models=options.model,
        tag=options.tag,
        collection=options.collection,
        every=options.all,
    )
    shared.write(data, options.output)
    return shared.DONE
