"""The command `lmgym`: a subcommand's module is imported when it is called.

Commands are local by default; with `--site`, and if they work only on a site, they use `lmgym.client`. Exit statuses
are listed in `lmgym.cli.shared.EXIT_STATUS`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from lmgym import __version__

Main = Callable[[Sequence[str], str], int]

DESCRIPTION = "Targeted tests of language models."
COMMANDS: dict[str, tuple[str, str]] = {
    "evaluate": ("lmgym.cli.evaluate", "run suites on models and print the pass rates"),
    "score": ("lmgym.cli.score", "compute surprisals of sentences, token by token"),
    "compare": ("lmgym.cli.compare", "compare two models on the same items"),
    "people": ("lmgym.cli.people", "compare models with reading times and judgments of people"),
    "lint": ("lmgym.cli.lint", "check suites for problems"),
    "convert": ("lmgym.cli.convert", "write a suite in another format"),
    "lmc": ("lmgym.cli.lmc", "LM Challenge: typing games and their logs"),
    "propara": ("lmgym.cli.propara", "ProPara: score predictions about processes"),
    "agents": ("lmgym.cli.agents", "test agents with scripted conversations"),
    "login": ("lmgym.cli.login", "store the address of a site and an API token"),
    "logout": ("lmgym.cli.logout", "delete the stored login"),
    "suites": ("lmgym.cli.suites", "on a site: list suites"),
    "models": ("lmgym.cli.models", "download a trained model; on a site: list, register, check, approve"),
    "push": ("lmgym.cli.push", "on a site: upload suite files"),
    "pull": ("lmgym.cli.pull", "on a site: download a suite as a file"),
    "run": ("lmgym.cli.run", "on a site: run models on suites"),
    "wait": ("lmgym.cli.wait", "on a site: wait for runs"),
    "runs": ("lmgym.cli.runs", "on a site: cancel, retry or delete many runs"),
    "upload": ("lmgym.cli.upload", "on a site: upload results computed elsewhere"),
    "export": ("lmgym.cli.export", "on a site: download results of many runs as one table"),
    "serve": ("lmgym.cli.site", "run a site: web server and worker together"),
    "web": ("lmgym.cli.site", "run only a site's web server"),
    "worker": ("lmgym.cli.site", "run a site's queued jobs"),
    "doctor": ("lmgym.cli.site", "check that this machine has what a site needs"),
    "init": ("lmgym.cli.site", "prepare a site's database and first account"),
    "manage": ("lmgym.cli.site", "run any other command of a site (Django's manage.py)"),
}
"""Commands by name: the module with `main(argv, prog)` and `parser(prog)`, and the line in `lmgym --help`."""

SHELLS = ("bash", "zsh", "fish")


def main(argv: Sequence[str], prog: str = "lmgym") -> int:
    """Run the command; return its exit status. Invalid arguments of a subcommand raise SystemExit(2)."""
    name = argv[0] if argv else "--help"
    if name in ("-h", "--help"):
        print(usage(prog))  # noqa: T201
        return 0
    if name == "--version":
        print(f"lmgym {__version__}")  # noqa: T201
        return 0
    if name == "--print-completion":
        from lmgym.cli import completion

        return completion.main(argv[1:], prog)
    if name not in COMMANDS:
        from lmgym.text.near_names import nearest_name

        meant = nearest_name(name, COMMANDS)
        hint = f" Did you mean {meant}?" if meant else ""
        print(f"{prog}: unknown command {name!r}.{hint} {prog} --help lists all commands.", file=sys.stderr)  # noqa: T201
        return 2
    run: Main = import_module(COMMANDS[name][0]).main
    return run(_site_apart(argv[1:]), f"{prog} {name}")


def _site_apart(argv: Sequence[str]) -> list[str]:
    """Give `--site` a value only if the next word is a URL: `compare --site A B` uses the default site."""
    words: list[str] = []
    for word, following in zip(argv, [*argv[1:], ""], strict=False):
        words.append("--site=" if word == "--site" and "://" not in following else word)
    return words


def usage(prog: str) -> str:
    """Return the text of `lmgym --help`."""
    from lmgym.cli.shared import EXIT_STATUS

    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items())
    statuses = "\n".join(f"  {status:<{width}}  {text}" for status, text in EXIT_STATUS.items())
    return (
        f"usage: {prog} COMMAND …\n\n{DESCRIPTION} Commands run locally, unless they are for a site or have --site.\n\n"
        f"{rows}\n\n"
        f"{prog} COMMAND --help shows the details; {prog} --version prints the version; "
        f"{prog} --print-completion {'|'.join(SHELLS)} prints a completion script for your shell.\n\n"
        f"The site is taken from --site URL, LM_GYM_SITE or {prog} login; the token from LM_GYM_TOKEN or the login.\n\n"
        f"Exit status:\n{statuses}"
    )
