"""The command `lmgym`: one module per subcommand, imported when it is called.

Commands are local by default; `--site` and the site-only commands use `lmgym.client`. Exit statuses:
`lmgym.cli.shared.EXIT_STATUS`.
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
    "score": ("lmgym.cli.score", "surprisals of sentences, token by token"),
    "compare": ("lmgym.cli.compare", "compare two models on the same items"),
    "lint": ("lmgym.cli.lint", "check suites for problems"),
    "convert": ("lmgym.cli.convert", "write a suite in another format"),
    "lmc": ("lmgym.cli.lmc", "LM Challenge: typing games and their logs"),
    "propara": ("lmgym.cli.propara", "ProPara: score predictions about processes"),
    "agents": ("lmgym.cli.agents", "tests of agents by conversations"),
    "login": ("lmgym.cli.login", "store the address of a site and an API token"),
    "logout": ("lmgym.cli.logout", "delete the stored login"),
    "suites": ("lmgym.cli.suites", "on a site: list suites"),
    "models": ("lmgym.cli.models", "download a trained model; on a site: list, register, check, approve"),
    "push": ("lmgym.cli.push", "on a site: upload suite files"),
    "pull": ("lmgym.cli.pull", "on a site: download a suite as a file"),
    "run": ("lmgym.cli.run", "on a site: run models on suites"),
    "wait": ("lmgym.cli.wait", "on a site: wait for runs"),
    "upload": ("lmgym.cli.upload", "on a site: upload results computed elsewhere"),
    "export": ("lmgym.cli.export", "on a site: download results of many runs as one table"),
    "serve": ("lmgym.cli.site", "run a site: web server and worker together"),
    "web": ("lmgym.cli.site", "run a site's web server alone"),
    "worker": ("lmgym.cli.site", "run a site's queued jobs"),
    "doctor": ("lmgym.cli.site", "check what a site needs on this machine"),
    "init": ("lmgym.cli.site", "prepare a site's database and first account"),
    "manage": ("lmgym.cli.site", "any other command of a site (Django's manage.py)"),
}
"""Name -> module with `main(argv, prog)` and `parser(prog)`, and its line in `lmgym --help`."""

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
        print(f"{prog}: unknown command {name!r}.{hint} {prog} --help lists them.", file=sys.stderr)  # noqa: T201
        return 2
    run: Main = import_module(COMMANDS[name][0]).main
    return run(_site_apart(argv[1:]), f"{prog} {name}")


def _site_apart(argv: Sequence[str]) -> list[str]:
    """Give `--site` a value only if the next word is an address: `compare --site A B` means the default site."""
    words: list[str] = []
    for word, following in zip(argv, [*argv[1:], ""], strict=False):
        words.append("--site=" if word == "--site" and "://" not in following else word)
    return words


def usage(prog: str) -> str:
    """Text of `lmgym --help`."""
    from lmgym.cli.shared import EXIT_STATUS

    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {what}" for name, (_, what) in COMMANDS.items())
    statuses = "\n".join(f"  {status:<{width}}  {what}" for status, what in EXIT_STATUS.items())
    return (
        f"usage: {prog} COMMAND …\n\n{DESCRIPTION} Local, unless a command is for a site or has --site.\n\n{rows}\n\n"
        f"{prog} COMMAND --help has the details; {prog} --version prints the version; "
        f"{prog} --print-completion {'|'.join(SHELLS)} prints a script for your shell.\n\n"
        f"Sites: --site URL, LM_GYM_SITE or {prog} login name the site; LM_GYM_TOKEN or the login the token.\n\n"
        f"Exit status:\n{statuses}"
    )
