"""Suite files on the command line: options for reading one, and its problems in words."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmgym.cli.shared import Failed
from lmgym.errors import FormatError
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.intake import ENCODINGS, NotUnderstood
from lmgym.suites.intake.parsing import ROLES

NAMES = ("columns", "sheet", "encoding")
"""The options, which are arguments of `load_suite`."""


def add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to read a suite file")
    group.add_argument(
        "--columns",
        type=columns,
        default={},
        metavar="A=item,B=condition,C=text,D=data",
        help=f"role of each column of a table, by letter: {', '.join(ROLES)} (data: kept with the items, not scored); "
        "columns not named are not read. Needed if a column may not be a region",
    )
    group.add_argument(
        "--sheet",
        default="",
        metavar="NAME",
        help="of a workbook; needed if several sheets could be the suite",
    )
    group.add_argument("--encoding", default="", choices=list(ENCODINGS), help="of a text that is not UTF-8")


def columns(text: str) -> dict[str, str]:
    """{letter: role} of `A=item,B=condition`."""
    found = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        letter, _, role = part.partition("=")
        if not letter.isalpha() or role not in ROLES:
            raise argparse.ArgumentTypeError(f"“{part}”: write a column's letter = one of {', '.join(ROLES)}")
        found[letter.upper()] = role
    return found


def reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """The reading options that were given, as arguments of `load_suite`."""
    return {name: options[name] for name in NAMES if options[name]}


def load(path: str, options: argparse.Namespace) -> SuiteDocument:
    """The suite in a file. Raises Failed, which names the file and every problem with its place."""
    from lmgym.evaluation import load_suite

    try:
        return load_suite(path, **reading(vars(options)))
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}") from error
    except FormatError as error:
        raise Failed(unread(path, error)) from error


def unread(path: str | Path, error: FormatError) -> str:
    """Every problem of an unreadable file with its place, and the option that would resolve it."""
    problems = "\n".join(f"  {problem}" for problem in error.problems)
    return f"{path} cannot be read as a suite:\n{problems}{_way_out(error)}"


def _way_out(error: FormatError) -> str:
    if not isinstance(error, NotUnderstood):
        return ""
    read = error.result
    if "columns" in read.asks:
        proposed = ",".join(f"{letter}={role}" for letter, role in read.proposed_columns.items())
        return f"\nFor example: --columns {proposed}"
    if "sheet" in read.asks:
        return f'\nSheets: {", ".join(read.sheets)}. For example: --sheet "{read.sheets[0]}"'
    if "encoding" in read.asks:
        samples = [f"\n  --encoding {name}: {lines[0]}" for name, lines in read.encodings.items() if lines]
        return "".join(["\nThe first line with letters beyond ASCII, by encoding:", *samples])
    return ""
