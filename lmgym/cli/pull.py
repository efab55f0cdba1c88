"""`lmgym pull`: download a suite from a site as a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lmgym.cli import at_site, shared
from lmgym.client import Client
from lmgym.text.arguments import Parser

FORMATS = (
    "json", "json-trimmed", "json-early", "csv", "tsv", "xlsx", "csv-excel", "blimp", "lm-eval", "inspect-ai", "bib",
)  # fmt: skip


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(prog=prog, description="Download a frozen revision of a suite as a file.")
    top.add_argument("suite", metavar="SLUG")
    top.add_argument("--revision", type=int, metavar="N", help="default: the newest frozen revision")
    top.add_argument("--format", choices=FORMATS, help="default: by the extension of --output, else json")
    top.add_argument("--output", "-o", type=Path, help="default: standard output")
    at_site.add_site(top)
    top.set_defaults(act=_pull)
    return top


def main(argv: Sequence[str], prog: str = "lmgym pull") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _pull(client: Client, options: argparse.Namespace) -> int:
    form = options.format or shared.format_of(options.output, FORMATS, shared.PAIR_ENDINGS)
    shared.write(client.suite_file(options.suite, options.revision, form), options.output)
    return shared.DONE
