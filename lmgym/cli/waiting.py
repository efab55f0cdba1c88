"""Options and a callback for waiting for a site's jobs; progress is reported on standard error."""

from __future__ import annotations

import argparse
import math

from lmgym.cli import shared


def seconds(text: str) -> float:
    """Parse a duration in seconds, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def add_waiting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=3600.0,
        metavar="SECONDS",
        help="maximum time to wait in seconds; default: 3600",
    )


class Waiting:
    """Callback that reports what a job is waiting for, whenever this changes."""

    def __init__(self) -> None:
        self.reported = ""

    def __call__(self, name: str, behind: str) -> None:
        if behind and behind != self.reported:
            shared.note(f"{name}: {behind}")
        self.reported = behind
