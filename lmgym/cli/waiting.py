"""Waiting for what a site works off, with remarks on standard error."""

from __future__ import annotations

import argparse

from lmgym.cli import shared


def add_waiting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=float, default=3600.0, metavar="SECONDS", help="longest time to wait; default: 3600"
    )


class Waiting:
    """Report what something waits for, whenever that changes."""

    def __init__(self) -> None:
        self.said = ""

    def __call__(self, name: str, behind: str) -> None:
        if behind and behind != self.said:
            shared.note(f"{name}: {behind}")
        self.said = behind
