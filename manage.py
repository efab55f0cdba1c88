#!/usr/bin/env python
"""Entry point of LM Gym. Without its environment it says what to do instead of a traceback."""

import os
import sys
from pathlib import Path

SITE = str(Path(__file__).resolve().parent)


def main() -> None:
    # Before anything that is installed under the name of one of the site's packages, also if PYTHONSAFEPATH is set.
    sys.path[:] = [SITE, *(path for path in sys.path if path != SITE)]
    if (code := _without_the_site(sys.argv[1:])) is not None:
        sys.exit(code)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gym.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "Django is not installed in this Python. Type `make run`: it makes .venv and starts the site."
        )
    from django.db import Error as DatabaseError

    from gym.env import EnvError

    try:
        execute_from_command_line([os.environ.pop("LM_GYM_PROG", sys.argv[0]), *sys.argv[1:]])
    except EnvError as error:
        sys.exit(f"manage.py: {error}")
    except DatabaseError:
        from gym.site_command import connection_problem, migration_problem

        # A migration that fails leaves others waiting: its own error is the one to see.
        problem = connection_problem() or (migration_problem() if sys.argv[1] != "migrate" else "")
        if not problem:
            raise
        sys.exit(problem)


def _without_the_site(argv: list[str]) -> int | None:
    """Run a command that needs nothing of the site, without loading Django; None if this is another one."""
    prog = f"manage.py {argv[0]}" if argv else ""
    if argv[:1] == ["propara"]:
        from lmgym.propara import cli as propara

        return propara.main(argv[1:], prog=prog)
    if (
        argv[:1] == ["lmc"]
        and argv[1:2]
        and argv[1] in ("stats", "ic-opt", "pretty", "compare", "corpus", "run")
    ):
        from lmgym.lmchallenge import cli as lmc

        if lmc.needs_no_site(argv[1:]):
            return lmc.main(argv[1:], prog, named=lmc.named_players)
    if argv[:1] in (["agenttest"], ["assess"]):
        from lmgym.agents import cli as agents

        return agents.main(argv, "manage.py")
    return None


if __name__ == "__main__":
    main()
