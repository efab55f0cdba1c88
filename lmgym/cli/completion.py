"""`lmgym --print-completion SHELL`: print a shell script that completes the command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from lmgym.cli import SHELLS, shared
from lmgym.text.arguments import Parser


def main(argv: Sequence[str], prog: str = "lmgym") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    top = Parser(prog=f"{prog} --print-completion")
    top.add_argument("shell", choices=SHELLS)
    return shared.run(_print, top, argv)


def _print(options: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError as error:
        raise shared.Failed("Completion needs the package shtab: pip install shtab") from error
    from lmgym.cli.tree import parser

    top = parser()
    _complete_files(top, shtab.FILE)
    shared.print_line(shtab.complete(top, options.shell))
    return shared.DONE


def _complete_files(parser: argparse.ArgumentParser, files: Any) -> None:
    """Complete file names for every value without choices, as shells do by default."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                _complete_files(sub, files)
        elif action.choices is None and action.nargs != 0:
            vars(action)["complete"] = files  # an attribute specific to shtab
