"""Commands for a site: the option `--site`, and a client for the chosen site."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from lmgym.cli import login_file, shared
from lmgym.client import ApiError, Client
from lmgym.text.arguments import Parser

Act: TypeAlias = Callable[[Client, argparse.Namespace], int]
AddCommands: TypeAlias = Callable[[Any], None]
"""Function that adds subcommands to the object returned by `add_subparsers`."""

SITE_DEFAULT = "default: LM_GYM_SITE, or the site of lmgym login"
VISIBILITIES = ("private", "unlisted", "public")


def add_site(parser: argparse.ArgumentParser) -> None:
    """Add `--site` to a command that always needs a site."""
    parser.add_argument("--site", nargs="?", metavar="URL", help=f"https://…; {SITE_DEFAULT}")


def add_choice_of_site(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--site` to a command that is local without it. `what` describes the command, or its arguments, on a site."""
    parser.add_argument(
        "--site", nargs="?", const="", metavar="URL", help=f"on a site: {what}; {SITE_DEFAULT}"
    )


def has_site_option(argv: Sequence[str]) -> bool:
    """Return whether the arguments include --site."""
    return any(word == "--site" or word.startswith("--site=") for word in argv)


def run(parser: argparse.ArgumentParser, argv: Sequence[str]) -> int:
    """Parse the arguments, connect, and call the parser's default `act(client, options)`."""

    def act(options: argparse.Namespace) -> int:
        status: int = options.act(client_of(options), options)
        return status

    return shared.run(act, parser, argv)


# --- commands that work locally and on a site ---


def add_command(names: Any, name: str, act: Act, text: str) -> argparse.ArgumentParser:
    """Add a subcommand that runs `act` on a site."""
    command: argparse.ArgumentParser = names.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}."
    )
    command.add_argument("--format", choices=("table", "json"), default="table")
    add_site(command)
    command.set_defaults(act=act)
    return command


def parser_with_site(
    prog: str,
    build: Callable[[str, AddCommands], argparse.ArgumentParser],
    either: Mapping[str, str],
    add_site_commands: AddCommands,
) -> argparse.ArgumentParser:
    """Build the parser for calls without --site.

    Args:
        prog: name of the program.
        build: function that builds the parser of the local commands, and calls its second argument to add more.
        either: help texts of the local commands that also work on a site, by name.
        add_site_commands: function that adds the commands that work only on a site.
    """

    def add(names: Any) -> None:
        for name, text in either.items():
            add_choice_of_site(names.choices[name], f"{text}; see {prog} {name} --site --help")
        add_site_commands(names)

    return build(prog, add)


def parser_of_site(prog: str, description: str, *adders: AddCommands) -> argparse.ArgumentParser:
    """Build the parser for calls with --site."""
    top = Parser(prog=prog, description=description)
    names = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in adders:
        add(names)
    return top


def run_either(
    argv: Sequence[str],
    prog: str,
    *,
    parsers: tuple[Callable[[str], argparse.ArgumentParser], Callable[[str], argparse.ArgumentParser]],
    local_commands: Collection[str],
    run_local: Callable[[], int],
) -> int:
    """Run a command on a site if the arguments include --site, else locally; return its exit status.

    `parsers` build the parsers for calls without and with --site. Invalid arguments raise SystemExit(2).
    """
    parser, site_parser = parsers
    if has_site_option(argv):
        return run(site_parser(prog), argv)
    if argv and argv[0] in local_commands and not {"-h", "--help"} & set(argv):
        try:
            return run_local()
        except KeyboardInterrupt:
            shared.note(f"{prog}: interrupted")
            return shared.INTERRUPTED
    return run(parser(prog), argv)


# --- the client ---


def client_of(options: argparse.Namespace) -> Client:
    """Connect to the chosen site and check that it is an LM Gym site. Raises Failed, ApiError or NotReached."""
    login = login_file.stored()
    site = options.site or os.environ.get("LM_GYM_SITE") or (login.site if login else "")
    if not site:
        raise shared.Failed("No site chosen. Run: lmgym login https://… (or use --site or LM_GYM_SITE)")
    client = opened(site, os.environ.get("LM_GYM_TOKEN", ""))
    # Send the stored token only to the site it belongs to.
    if not client.transport.token and login and login.site == client.transport.server:
        client.transport.token = login.token
    require_lm_gym(client)
    return client


def opened(site: str, token: str) -> Client:
    try:
        return Client(site, token)
    except ValueError as error:
        raise shared.Failed(str(error)) from error


def require_lm_gym(client: Client) -> None:
    """Raise Failed if the server is not an LM Gym site or rejects the token."""
    server = client.transport.server
    try:
        index = client.get("")
    except ApiError as error:
        if error.status == 401:
            raise shared.Failed(
                f"{server} rejected the token: {error.detail} Run: lmgym login {server}"
            ) from error
        if not error.code:
            raise shared.Failed(f"{server}: {error.detail}") from error
        raise
    if not isinstance(index, dict) or not {"suites", "models", "runs"} <= index.keys():
        raise shared.Failed(f"{server} responds, but it is not an LM Gym site.")
