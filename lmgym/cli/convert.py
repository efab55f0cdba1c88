"""`lmgym convert`: a suite in another format."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lmgym.cli import shared
from lmgym.suites.formats.write import WRITERS


def main(argv: Sequence[str], prog: str = "lmgym convert") -> int:
    """Run; the exit status. Wrong arguments raise SystemExit(2)."""
    top = argparse.ArgumentParser(
        prog=prog,
        description="Write a suite in another format. What was changed in reading is said on standard error.",
    )
    top.add_argument("suite", metavar="SUITE", help="JSON, JSON Lines, CSV, TSV, .xlsx or .ods")
    top.add_argument(
        "--to",
        dest="form",
        choices=sorted(WRITERS),
        help="default: what the ending of --output says, else json",
    )
    top.add_argument("--output", "-o", type=Path, help="default: standard output")
    shared.add_columns(top)
    return shared.run(_convert, top, argv)


def _convert(options: argparse.Namespace) -> int:
    ending = options.output.suffix.lstrip(".").lower() if options.output else ""
    form = options.form or (ending if ending in WRITERS else "json")
    if form == "xlsx" and options.output is None:
        raise shared.Failed("A workbook is no text: name a file with --output.")
    document = shared.load(options.suite, options.columns)
    for notice in document.notices:
        print(f"{options.suite}: {notice}", file=sys.stderr)  # noqa: T201
    shared.write(WRITERS[form](document), options.output)
    return 0
