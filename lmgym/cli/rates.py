"""Pass rates on the command line: the table, and the gate --fail-under. Of `lmgym evaluate` and of runs at a site."""

from __future__ import annotations

import argparse
from typing import Any

from lmgym.cli.shared import BELOW, DONE, aligned, check_output, note, rendered, share, write
from lmgym.runs.against_chance import CHANCE_WORDS


def add_gate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-under",
        type=share,
        metavar="RATE",
        help="0 to 1: exit with 1 if a prediction passes less often, or if there is none",
    )


def report(rates: Any, options: argparse.Namespace) -> int:
    """Write the rates as --format says; returns the exit status of the gate. `rates`: a DataFrame with suite, model,
    prediction, passed, n, rate, low, high, chance, against_chance."""
    check_output(options)
    write(table(rates) if options.format == "table" else rendered(rates, options.format), options.output)
    return gate(rates, options.fail_under)


def gate(rates: Any, least: float | None) -> int:
    """Rates that are missing count as 0, and so does a table without predictions: a gate that tests nothing is shut."""
    if least is None:
        return DONE
    if rates["rate"].dropna().empty:
        note("no predictions: nothing was tested")
        return BELOW
    return BELOW if (rates["rate"].fillna(-1.0) < least).any() else DONE


def table(rates: Any) -> str:
    """A line for each prediction, in columns."""
    if rates.empty:
        return "The suites have no predictions.\n"
    head = ("suite", "model", "prediction", "passed", "rate", "95 %", "chance", "")
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
