"""`lmgym convert`: write a suite in another format."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from lmgym.cli import shared
from lmgym.cli.suite_files import add_reading, load
from lmgym.runs.evaluation_tasks import FOLDERS, evaluation_tasks, task_folder
from lmgym.runs.other_programs import Refused, blimp_jsonl
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.write import WRITERS
from lmgym.suites.regions import JOIN_POLICIES
from lmgym.text.arguments import Parser

JOINED = ("blimp", *FOLDERS)
"""Formats with whole texts, in which regions are joined."""
BINARY = ("xlsx", *FOLDERS)


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Write a suite in another format. Notices about the input go to standard error.",
    )
    top.add_argument(
        "suite",
        metavar="SUITE",
        help="JSON, JSON Lines, CSV, TSV, .xlsx, .ods, Parquet, or items of Ibex (.js)",
    )
    top.add_argument(
        "--to",
        dest="form",
        choices=[*sorted(WRITERS), *JOINED],
        help="default: by the extension of --output, else json. blimp: minimal pairs, JSON Lines, if "
        "every prediction compares two conditions; lm-eval, inspect-ai: a zipped folder of tasks for "
        "lm-evaluation-harness or inspect_ai",
    )
    top.add_argument("--output", "-o", type=Path, help="default: standard output")
    top.add_argument(
        "--join",
        choices=JOIN_POLICIES,
        default="space",
        help="how blimp, lm-eval and inspect-ai join regions; default: space",
    )
    add_reading(top)
    return top


def main(argv: Sequence[str], prog: str = "lmgym convert") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return shared.run(_convert, parser(prog), argv)


def _convert(options: argparse.Namespace) -> int:
    form = options.form or shared.format_of(
        options.output, (*WRITERS, *JOINED), shared.PAIR_ENDINGS, option="--to"
    )
    if form in BINARY and options.output is None:
        raise shared.Failed(f"{form} is binary: specify a file with --output.")
    document = load(options.suite, options)
    for notice in document.notices:
        shared.note(f"{options.suite}: {notice}")
    shared.write(_writer(form, options.join)(document), options.output)
    return shared.DONE


def _writer(form: str, join: str) -> Callable[[SuiteDocument], str | bytes]:
    if form in WRITERS:
        return WRITERS[form]

    def write(document: SuiteDocument) -> str | bytes:
        name = re.sub(r"[^A-Za-z0-9]+", "_", document.name).strip("_").lower() or "suite"
        try:
            if form == "blimp":
                return blimp_jsonl(document, name, 1, join)
            for reason in evaluation_tasks(document, name).left_out:
                shared.note(f"Not exported: {reason}")
            return task_folder(form, document, name, 1, join, f"sha256 {document.sha256()}")
        except Refused as error:
            raise shared.Failed(str(error)) from error

    return write
