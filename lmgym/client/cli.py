"""The command line: `python -m lmgym.client run suite.json --model demo-gpt2 --server https://… --token lmg_…`.

Exit status: 0 = well, 1 = a pass rate is below --fail-under, or agent tests failed or got worse, 2 = something went
wrong, 3 = no agent test failed, but some have no verdict.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import agents_commands, commands, lmc_commands, propara_commands
from .client import Client
from .transport import ApiError, NotReached

FORMATS = ("json", "json-trimmed", "json-early", "csv", "tsv", "xlsx", "csv-excel", "blimp", "lm-eval", "bib")
EPILOG = (
    "LM_GYM_SERVER and LM_GYM_TOKEN stand for --server and --token. "
    "Exit status: 0 well, 1 below --fail-under or failed agent tests, 2 error, 3 agent tests without a verdict."
)


def parser(prog: str = "python -m lmgym.client") -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog=prog, description="Talk to an LM Gym.", epilog=EPILOG)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--server", default=os.environ.get("LM_GYM_SERVER", "http://127.0.0.1:8000"))
    common.add_argument("--token", default=os.environ.get("LM_GYM_TOKEN", ""))
    common.add_argument("--json", action="store_true", help="print what the server says, for programs")
    names = top.add_subparsers(dest="command", required=True)

    run = names.add_parser("run", parents=[common], help="run models on a suite and print the pass rates")
    run.add_argument("suite", help="a suite file, or the slug of a suite that is there")
    run.add_argument("--model", action="append", required=True, help="slug; may be repeated")
    run.add_argument("--into", metavar="SLUG", help="put the file into this suite instead of a new one")
    run.add_argument("--title", default="", help="of a new suite")
    run.add_argument("--policy", action="append", default=[], metavar="NAME=VALUE", help="e.g. eos=true")
    run.add_argument(
        "--fail-under", type=_share, metavar="RATE", help="0 to 1, of every prediction; without any it fails"
    )
    run.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS")
    run.set_defaults(act=commands.run)

    score = names.add_parser("score", parents=[common], help="surprisals of sentences")
    score.add_argument("sentences", nargs="*", help="default: the lines of standard input")
    score.add_argument("--model", required=True)
    score.add_argument("--policy", action="append", default=[], metavar="NAME=VALUE")
    score.set_defaults(act=commands.score)

    for name, act in (("suites", commands.suites), ("models", commands.models)):
        listed = names.add_parser(name, parents=[common], help=f"list {name}")
        listed.add_argument("-q", default=None, metavar="WORDS", help="only those with these words")
        listed.set_defaults(act=act)

    export = names.add_parser("export", parents=[common], help="a suite as a file")
    export.add_argument("suite", help="slug")
    export.add_argument("--revision", type=int, help="default: the newest frozen one")
    export.add_argument("--format", default="json", choices=FORMATS)
    export.add_argument("-o", "--output", type=Path, help="default: standard output")
    export.set_defaults(act=commands.export)

    bring = names.add_parser("import", parents=[common], help="a file as a new suite")
    bring.add_argument("file", type=Path)
    bring.add_argument("--title", default="")
    bring.add_argument("--visibility", default="private", choices=["private", "unlisted", "public"])
    bring.add_argument("--freeze", action="store_true", help="at once, so that models can be run on it")
    bring.add_argument("--again", action="store_true", help="also where a suite says the same already")
    bring.set_defaults(act=commands.bring)
    for room in (lmc_commands, propara_commands, agents_commands):
        room.add_parsers(names, common)
    return top


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def main(words: Sequence[str] | None = None, prog: str = "python -m lmgym.client") -> int:
    """Run one command; returns the exit status."""
    given = parser(prog).parse_args(words)
    try:
        client = Client(given.server, given.token)
        status: int = given.act(client, given)
    except ApiError as error:
        return _failed(error.lines())
    except FileNotFoundError as error:
        return _failed([f"There is no file {error.filename}."])
    except (NotReached, TimeoutError, OSError, ValueError) as error:
        return _failed([str(error)])
    except KeyboardInterrupt:
        return _failed(["Interrupted. What was queued goes on; see the runs on the site."])
    return status


def _failed(lines: Sequence[str]) -> int:
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return 2
