"""`lmgym evaluate`: many suites on many models."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmgym.cli import shared
from lmgym.runs.against_chance import CHANCE_WORDS


def parser(prog: str) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog=prog,
        description="Run suites on models and print the pass rates.",
        epilog="Exit status: 0, 1 below --fail-under (or nothing was tested), 2 what cannot be read or used.",
    )
    top.add_argument(
        "suites", nargs="+", metavar="SUITE", help='a file, or a pattern such as "suites/*.json"'
    )
    top.add_argument(
        "--model", "-m", dest="models", action="append", required=True, metavar="MODEL",
        help="a folder, an n-gram file, or organisation/name[@revision] on the hub; may be repeated",
    )  # fmt: skip
    top.add_argument("--format", choices=("table", "csv", "json", "parquet"), default="table")
    top.add_argument(
        "--rows", choices=("rates", "outcomes", "regions", "tokens"), default="rates",
        help="what a row is: a prediction, an item's outcome, a region, a token; a table has rates",
    )  # fmt: skip
    top.add_argument("--output", "-o", type=Path, help="default: standard output")
    top.add_argument(
        "--fail-under",
        type=share,
        metavar="RATE",
        help="0 to 1: exit with 1 if a prediction passes less often",
    )
    top.add_argument(
        "--cache", type=Path, metavar="FILE", help="keep scores of sentences between calls in this file"
    )
    shared.add_policy(top)
    shared.add_device(top)
    shared.add_columns(top)
    return top


def main(argv: Sequence[str], prog: str = "lmgym evaluate") -> int:
    """Run; the exit status. Wrong arguments raise SystemExit(2)."""
    return shared.run(_evaluate, parser(prog), argv)


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no rate: a number from 0 to 1")
    return value


def _evaluate(options: argparse.Namespace) -> int:
    from lmgym.evaluation import evaluate

    if options.format == "table" and options.rows != "rates":
        raise shared.Failed(f"--rows {options.rows} needs --format csv, json or parquet.")
    if options.format == "parquet" and options.output is None:
        raise shared.Failed("Parquet is no text: name a file with --output.")
    documents = [shared.load(path, options.columns) for path in _paths(options.suites)]
    result = evaluate(
        documents,
        options.models,
        policy=shared.policy_of(options),
        device=options.device,
        dtype=options.dtype,
        cache=options.cache,
    )
    rates = result.rates()
    if options.format == "table":
        shared.write(table(rates), options.output)
    else:
        shared.write(shared.rendered(getattr(result, options.rows)(), options.format), options.output)
    return _status(rates, options.fail_under)


def _paths(given: Sequence[str]) -> Iterator[str]:
    from lmgym.evaluation import files_like

    for one in given:
        found = files_like(one)
        if not found:
            raise shared.Failed(f"No file matches {one}.")
        yield from found


def _status(rates: Any, least: float | None) -> int:
    if least is None:
        return 0
    known = rates["rate"].dropna()
    if known.empty:
        print("no predictions: nothing was tested", file=sys.stderr)  # noqa: T201
        return 1
    return int((known < least).any())


def table(rates: Any) -> str:
    """The pass rates for a terminal: a line for each prediction, in columns."""
    if rates.empty:
        return "The suites have no predictions.\n"
    head = ("suite", "model", "prediction", "passed", "rate", "95 %", "chance", "")
    body = [
        (
            row["suite"], row["model"], row["prediction"], f"{row['passed']}/{row['n']}",
            _percent(row["rate"]), f"{_percent(row['low'])}–{_percent(row['high'])}", _percent(row["chance"]),
            CHANCE_WORDS.get(row["against_chance"], ""),
        )
        for row in rates.to_dict("records")
    ]  # fmt: skip
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]
    right = {3, 4, 5, 6}
    lines = (
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (head, *body)
    )
    return "\n".join(lines) + "\n"


def _percent(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.1%}"
