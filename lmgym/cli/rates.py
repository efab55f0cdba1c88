"""Pass rates on the command line: the table and `--fail-under`, for local runs and runs on a site."""

from __future__ import annotations

import argparse
from typing import Any

from lmgym.cli.shared import BELOW, DONE, aligned, note, rendered, share, write
from lmgym.runs.against_chance import CHANCE_WORDS
from lmgym.text.number_format import format_interval, percent


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
    from lmgym.runs.outcomes import LENGTH_ADVICE

    if rates.empty:
        return "The suites have no predictions.\n"
    head = ("suite", "model", "prediction", "passed", "rate", "95%", "chance", "")
    body = [
        (
            row["suite"], row["model"], row["prediction"], *_counts(row), percent(row["chance"]),
            CHANCE_WORDS.get(row["against_chance"], ""),
        )
        for row in rates.to_dict("records")
    ]  # fmt: skip
    notes = [
        f"{row['suite']}, {row['model']}, {row['prediction']}: passing items: "
        f"{int(row['passed_with_means'])} with means per token, {int(row['passed_with_sums'])} with sums of bits.\n"
        for row in rates[rates["changed_by_length"].fillna(0) > 0].to_dict("records")
    ]
    advice = f"{LENGTH_ADVICE}\n" if notes else ""
    return aligned((head, *body), right=(3, 4, 5, 6)) + "".join(notes) + advice


def groups_table(groups: Any) -> str:
    """Format one line per prediction and value of item data, in aligned columns. `groups`: of `Result.rates_by`."""
    head = ("suite", "model", "prediction", groups["item_data"][0], "passed", "rate", "95%")
    body = [
        (row["suite"], row["model"], row["prediction"], row["group"] or "–", *_counts(row))
        for row in groups.fillna({"group": ""}).to_dict("records")
    ]
    return aligned((head, *body), right=(4, 5, 6))


def _counts(row: dict[str, Any]) -> tuple[str, str, str]:
    return (
        f"{row['passed']}/{row['n']}",
        percent(row["rate"]),
        format_interval(row["low"], row["high"], percent),
    )
