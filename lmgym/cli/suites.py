"""`lmgym suites`: list the suites of a site."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lmgym.cli import at_site, shared
from lmgym.client import Client
from lmgym.text.arguments import Parser


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(prog=prog, description="List the suites of a site.")
    names = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    text = "list suites: slug, items, predictions, visibility, title"
    listed = names.add_parser("list", help=text, description=f"{text[0].upper()}{text[1:]}.")
    listed.add_argument("-q", metavar="WORDS", help="only suites with these words")
    listed.add_argument("--tag", help="only suites with this tag")
    shared.add_output(listed, ("table", "json"))
    at_site.add_site(listed)
    listed.set_defaults(act=_list)
    return top


def main(argv: Sequence[str], prog: str = "lmgym suites") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _list(client: Client, options: argparse.Namespace) -> int:
    rows = list(client.suites(q=options.q, tag=options.tag))
    if options.format == "json":
        text = shared.as_json([row.raw for row in rows])
    else:
        lines = (
            f"{row.slug}\titems: {row.n_items}\tpredictions: {row.n_predictions}\t{row.visibility}\t{row.title}"
            for row in rows
        )
        text = "".join(f"{line}\n" for line in lines)
    shared.write(text, options.output)
    return shared.DONE
