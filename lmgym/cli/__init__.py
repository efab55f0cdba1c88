"""The command `lmgym`, a module for each subcommand; what a subcommand needs is imported when it is called.

Exit status: 0 = done, 1 = a pass rate is below --fail-under, or a check found an error, 2 = something is wrong with the
arguments, a file or a model. Those of the neighbours' commands are theirs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from lmgym import __version__

Main = Callable[[Sequence[str], str], int]

COMMANDS: dict[str, tuple[str, str]] = {
    "evaluate": ("lmgym.cli.evaluate", "run suites on models and print the pass rates"),
    "score": ("lmgym.cli.score", "surprisals of sentences, token by token"),
    "lint": ("lmgym.cli.lint", "what a careful reviewer would notice in suites"),
    "convert": ("lmgym.cli.convert", "write a suite in another format"),
    "lmc": ("lmgym.lmchallenge.cli", "LM Challenge: typing games and their logs"),
    "propara": ("lmgym.propara.cli", "ProPara: score predictions about processes"),
    "agents": ("lmgym.agents.cli", "tests of agents: agenttest, assess"),
    "client": ("lmgym.client.cli", "talk to a site: run, upload, export, games, agent tests"),
    "serve": ("lmgym.cli.site", "run a site: web server and worker together"),
    "web": ("lmgym.cli.site", "run a site's web server alone"),
    "worker": ("lmgym.cli.site", "run a site's queued jobs"),
    "doctor": ("lmgym.cli.site", "what a site lacks on this machine"),
    "init": ("lmgym.cli.site", "prepare a site's database and first account"),
    "manage": ("lmgym.cli.site", "any other command of a site (Django's manage.py)"),
}
"""Name -> module with `main(argv, prog)`, and what it does."""


def main(argv: Sequence[str], prog: str = "lmgym") -> int:
    """Run; the exit status. Wrong arguments of a subcommand raise SystemExit(2)."""
    name = argv[0] if argv else "--help"
    if name in ("-h", "--help"):
        print(_help(prog))  # noqa: T201
        return 0
    if name == "--version":
        print(f"lmgym {__version__}")  # noqa: T201
        return 0
    if name not in COMMANDS:
        from lmgym.text.near_names import nearest_name

        meant = nearest_name(name, COMMANDS)
        hint = f" Did you mean {meant}?" if meant else ""
        print(f"{prog}: there is no command {name!r}.{hint} {prog} --help lists them.", file=sys.stderr)  # noqa: T201
        return 2
    run: Main = import_module(COMMANDS[name][0]).main
    return run(argv[1:], f"{prog} {name}")


def _help(prog: str) -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {what}" for name, (_, what) in COMMANDS.items())
    return (
        f"usage: {prog} COMMAND …\n\nTargeted tests of language models.\n\n{rows}\n\n"
        f"{prog} COMMAND --help says more; {prog} --version prints the version."
    )
