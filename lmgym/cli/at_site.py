"""Commands for a site: the option `--site`, and a client for the site it names."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from lmgym.cli import login_file, shared
from lmgym.client import ApiError, Client

Act: TypeAlias = Callable[[Client, argparse.Namespace], int]

WHICH = "default: LM_GYM_SITE, or the site of lmgym login"
VISIBILITIES = ("private", "unlisted", "public")


def add_site(parser: argparse.ArgumentParser) -> None:
    """Add `--site` to a command that always needs a site."""
    parser.add_argument("--site", nargs="?", metavar="URL", help=f"https://…; {WHICH}")


def add_choice_of_site(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--site` to a command that is local without it. `what`: what the command does or takes at a site."""
    parser.add_argument("--site", nargs="?", const="", metavar="URL", help=f"at a site: {what}; {WHICH}")


def is_asked_for(argv: Sequence[str]) -> bool:
    """Do the arguments have --site?"""
    return any(word == "--site" or word.startswith("--site=") for word in argv)


def run(parser: argparse.ArgumentParser, argv: Sequence[str]) -> int:
    """Parse the arguments, connect, and call the parser's default `act(client, options)`."""

    def act(options: argparse.Namespace) -> int:
        status: int = options.act(client_of(options), options)
        return status

    return shared.run(act, parser, argv)


def client_of(options: argparse.Namespace) -> Client:
    """Connect to the chosen site and check that it is an LM Gym. Raises Failed, ApiError or NotReached."""
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
    """Raise Failed if another program responds or the token is wrong."""
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
