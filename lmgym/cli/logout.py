"""`lmgym logout`: forget the site and the token."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lmgym.cli import login_file, shared


def parser(prog: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=prog,
        description="Delete what lmgym login stored. The token stays valid until it is revoked on the profile page.",
    )


def main(argv: Sequence[str], prog: str = "lmgym logout") -> int:
    """Run; the exit status. Wrong arguments raise SystemExit(2)."""
    return shared.run(_logout, parser(prog), argv)


def _logout(options: argparse.Namespace) -> int:
    shared.note("Logged out." if login_file.forget() else "There was no login.")
    return shared.DONE
