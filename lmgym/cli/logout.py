"""`lmgym logout`: delete the stored site and token."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lmgym.cli import login_file, shared
from lmgym.text.arguments import Parser


def parser(prog: str) -> argparse.ArgumentParser:
    return Parser(
        prog=prog,
        description="Delete the stored login. The token stays valid until you revoke it on your profile page.",
    )


def main(argv: Sequence[str], prog: str = "lmgym logout") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return shared.run(_logout, parser(prog), argv)


def _logout(options: argparse.Namespace) -> int:
    shared.note("Logged out." if login_file.forget() else "You were not logged in.")
    return shared.DONE
