"""Pass rates on the command line: the table and `--fail-under`, for local runs and runs on a site."""

from __future__ import annotations

import argparse
from typing import Any

from lmgym.cli.shared import BELOW, DONE, aligned, note, rendered, share, write
from lmgym.runs.against_chance import CHANCE_WORDS


def add_gate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-under",
        type=share,
        metavar="RATE",
        help="0 to 1: exit with status 1 if the pass rate of a prediction is lower, or if there are no predictions",
    )


def report(rates: Any, options: argparse.Namespace) -> int:
    """Write a frame of `Result.rates` in the format of the options; return the exit status of `gate`."""
    write(table(rates) if options.format == "table" else rendered(rates, options.format), options.output)
    return gate(rates, options.fail_under)


def gate(rates: Any, least: float | None) -> int:
    """Return the exit status for --fail-under. A missing rate is below any limit; a table without rates
    fails."""
    if least is None:
        return DONE
    if rates["rate"].dropna().empty:
        note("no predictions: nothing was tested")
        return BELOW
    return BELOW if (rates["rate"].fillna(-1.0) < least).any() else DONE


def table(rates: Any) -> str:
    """Format one line per prediction, in aligned columns."""
    if rates.empty:
        return "The suites have no predictions.\n"
    head = ("suite", "model", "prediction", "passed", "rate", "95%", "chance", "")
    body = [
        (
            row["suite"], row["model"], row["prediction"], f"{row['passed']}/{row['n']}",
            percent(row["rate"]), f"{percent(row['low'])}–{percent(row['high'])}", percent(row["chance"]),
            CHANCE_WORDS.get(row["against_chance"], ""),
        )
        for row in rates.to_dict("records")
    ]  # fmt: skip
    return aligned((head, *body), right=(3, 4, 5, 6))


def percent(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.1%}"
