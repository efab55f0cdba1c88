"""Options of the commands that run a site. The site's commands add them, and docs/commands.md and completion list
them."""

from __future__ import annotations

import argparse
import os


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    add_web_options(parser)
    parser.add_argument("--workers", type=number, default=1, help="worker processes; default: 1")
    parser.add_argument("--demo", action="store_true", help="load the demo suites, models and accounts")


def add_web_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on; default: 127.0.0.1, this machine only"
    )
    parser.add_argument("--port", type=port, default=8000, help="default: 8000")
    parser.add_argument("--threads", type=number, default=8, help="threads of a web process; default: 8")
    # Two, so that a process that hangs does not stop the site.
    parser.add_argument(
        "--processes",
        type=number,
        default=min(2, os.cpu_count() or 1),
        help="web processes; default: 2, or 1 on a single core",
    )


def add_worker_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=1, help="jobs to run at the same time; default: 1")
    parser.add_argument("--queues", nargs="+", metavar="QUEUE", help="serve only these queues")
    parser.add_argument("--once", action="store_true", help="run one job and exit")
    parser.add_argument("--drain", action="store_true", help="run queued jobs until none is left, then exit")


def add_doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--deploy", action="store_true", help="exit with 1 if there is anything to change, even a note"
    )


def add_init_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--demo", action="store_true", help="also load the demo suites, models and accounts")


def number(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def port(text: str) -> int:
    value = number(text)
    if value > 65535:
        raise ValueError(text)
    return value


OPTIONS = {
    "serve": add_serve_options,
    "web": add_web_options,
    "worker": add_worker_options,
    "doctor": add_doctor_options,
    "init": add_init_options,
}
"""Functions that add the options of a command to its parser, by the command's name."""
