"""One parser for the whole command, used to generate docs/commands.md and shell completion."""

from __future__ import annotations

import argparse
from importlib import import_module

from lmgym.cli import COMMANDS, DESCRIPTION


def parser(prog: str = "lmgym") -> argparse.ArgumentParser:
    """Build the parsers of all subcommands. Imports all their modules, which takes about half a second."""
    top = argparse.ArgumentParser(prog=prog, description=DESCRIPTION)
    top.add_argument("--version", action="version", version="")
    names = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, (_, text) in COMMANDS.items():
        names.add_parser(name, help=text, parents=[subcommand(name, prog)], add_help=False)
    return top


def subcommand(name: str, prog: str = "lmgym") -> argparse.ArgumentParser:
    """Build the parser of one subcommand with its module's `parser(prog)`.

    The parser is empty if the module has no such function.
    """
    module, text = COMMANDS[name]
    build = getattr(import_module(module), "parser", None)
    made: argparse.ArgumentParser = (
        build(f"{prog} {name}")
        if build
        else argparse.ArgumentParser(f"{prog} {name}", description=f"{text[0].upper()}{text[1:]}.")
    )
    return made
