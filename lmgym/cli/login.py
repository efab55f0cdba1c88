"""`lmgym login`: store the address of a site and an API token."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence

from lmgym.cli import at_site, login_file, shared
from lmgym.text.arguments import Parser


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Store the address of a site and an API token, so that other commands need neither. Create the "
        "token on your profile page; it is read without echo, or from standard input. The file is lm-gym/login.json in "
        "your configuration folder (~/.config on Linux), readable only by you.",
    )
    top.add_argument("site", metavar="URL", help="https://…")
    return top


def main(argv: Sequence[str], prog: str = "lmgym login") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return shared.run(_login, parser(prog), argv)


def _login(options: argparse.Namespace) -> int:
    client = at_site.opened(options.site, "")
    at_site.require_lm_gym(client)
    client.transport.token = _token(client.transport.server)
    at_site.require_lm_gym(client)
    account = client.get("me/")
    site = client.transport.server
    path = login_file.store(login_file.Login(site, client.transport.token))
    shared.note(f"Logged in at {site} as {account['username']}; stored in {path}")
    return shared.DONE


def _token(site: str) -> str:
    if sys.stdin.isatty():
        token = getpass.getpass(f"Token for {site} (create one on your profile page): ").strip()
    else:
        token = sys.stdin.readline().strip()
    if not token or not token.isascii() or not token.isprintable():
        raise shared.Failed(
            "Not a token. Tokens begin with lmg_; your profile page shows a token only when you create it."
        )
    return token
