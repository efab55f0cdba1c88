#!/usr/bin/env python
"""Entry point of LM Gym. Without its environment it says what to do instead of a traceback."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gym.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "Django is not installed in this Python. Type `make run`: it makes .venv and starts the site."
        )
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
