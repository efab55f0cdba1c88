"""Commands that run a site: serve, web, worker, doctor and init; `manage` runs any other.

The site is a Django project: `lmgym/_site` in the wheel, the repository itself in a checkout. It runs in a separate
process, so that its packages (gym, suites, models_registry) cannot be imported next to the library.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lmgym.cli.shared import Failed
from lmgym.cli.site_options import OPTIONS

PACKAGE = Path(__file__).resolve().parents[1]
PROG = "LM_GYM_PROG"
"""Environment variable with the name of the command, for usage lines and errors of manage.py."""


ABOUT = {
    "serve": "Prepare the database, then run the web server and a worker until Ctrl-C.",
    "web": "Run only the web server.",
    "worker": "Run queued jobs until stopped.",
    "doctor": "Check that this machine has what a site needs; exit with status 1 if something is missing.",
    "init": "Create or update the tables, and an administrator if there is none.",
    "manage": "Run any other command of the site: migrate, createsuperuser, import_suite, clean_up … `lmgym manage "
    "help` lists them.",
}


def parser(prog: str) -> argparse.ArgumentParser:
    """Build a parser for docs/commands.md and completion; the site parses the arguments."""
    name = prog.split()[-1]
    described = argparse.ArgumentParser(prog=prog, description=f"{ABOUT[name]} Needs lm-gym[site].")
    if name in OPTIONS:
        OPTIONS[name](described)
    else:
        described.add_argument(
            "arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="the command and its arguments"
        )
    return described


def main(argv: Sequence[str], prog: str) -> int:
    """Replace this process with `manage.py COMMAND …`; return only if the site cannot be started."""
    name = prog.split()[-1]
    words = list(argv) if name == "manage" else [name, *argv]
    try:
        command = [sys.executable, str(manage_py()), *words]
    except Failed as error:
        print(f"{prog}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    sys.stdout.flush()
    name_shown = prog if name == "manage" else prog.rpartition(" ")[0]
    os.execve(sys.executable, command, os.environ | {PROG: name_shown})  # noqa: S606  our own command line


def manage_py() -> Path:
    """Return the path of the site's manage.py. Raises Failed if the site or its dependencies are not installed."""
    candidates = (PACKAGE / "_site" / "manage.py", PACKAGE.parent / "manage.py")
    script = next((path for path in candidates if (path.parent / "gym" / "settings.py").is_file()), None)
    if script is None:
        raise Failed("this installation has no site; install the wheel or use a checkout of the repository")
    if importlib.util.find_spec("django") is None:
        raise Failed('the site needs more packages: pip install "lm-gym[site,hf]"')
    return script
