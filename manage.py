#!/usr/bin/env python
"""Entry point of LM Gym. If Django is missing, it prints instructions instead of a traceback."""

import os
import sys
from pathlib import Path

SITE = str(Path(__file__).resolve().parent)


def main() -> None:
    # Take precedence over installed packages with the same names as the site's, even if PYTHONSAFEPATH is set.
    sys.path[:] = [SITE, *(path for path in sys.path if path != SITE)]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gym.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "Django is not installed in this Python. Run `make run`, which creates .venv and starts the site."
        )
    from django.db import Error as DatabaseError

    from gym.env import EnvError

    program = os.environ.pop("LM_GYM_PROG", sys.argv[0])
    try:
        execute_from_command_line([program, *sys.argv[1:]])
    except (
        BrokenPipeError
    ):  # as in `lmgym doctor | head`; Python would complain again when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except EnvError as error:
        sys.exit(f"{Path(program).name}: {error}")
    except DatabaseError:
        from gym.site_command import connection_problem, migration_problem

        # After a failed migration others are still unapplied; its own error is the useful one.
        problem = connection_problem() or (migration_problem() if sys.argv[1] != "migrate" else "")
        if not problem:
            raise
        sys.exit(problem)


if __name__ == "__main__":
    main()
