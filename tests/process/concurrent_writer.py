"""Run management commands while another connection writes just before each of their statements and
transactions.

Prints {command: error, or ""} as JSON. Runs as a separate process, because its database is a file.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.process.settings")
django.setup()

from django.core.management import CommandError, call_command  # noqa: E402
from django.db import OperationalError, connection  # noqa: E402

from gym.demo.loader import demo_user, load_demo  # noqa: E402
from tests.factories import make_model  # noqa: E402
from tests.lmgym.suites.documents import suite_bytes  # noqa: E402
from tests.process.commands import MODELS, commands  # noqa: E402


class Site:
    """Second connection to the database, which writes whenever the command holds no lock."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(connection.settings_dict["NAME"], timeout=0.1, isolation_level=None)
        self.written = 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not connection.in_atomic_block:
            self.written += 1
            self.connection.execute(
                "UPDATE accounts_user SET first_name = ? WHERE username = 'bob'", (f"Bob {self.written}",)
            )
        return execute(sql, params, many, context)


def prepare(folder: Path) -> None:
    list(load_demo(queue_runs=False))
    make_model(demo_user())
    (folder / "suite.json").write_bytes(suite_bytes())
    rows = [
        f"seed-{seed},agreement,{item},{(seed + item) % 3 > 0}" for seed in range(MODELS) for item in range(3)
    ]
    (folder / "results.csv").write_text("\n".join(["model,suite,item,correct", *rows]) + "\n")


def trouble(words: tuple[str, ...], site: Site) -> str:
    before = site.written
    try:
        with connection.execute_wrapper(site):
            call_command(*words, stdout=io.StringIO(), stderr=io.StringIO())
    except (CommandError, OperationalError) as error:
        return f"{type(error).__name__}: {error}"
    return "" if site.written > before else "the site had no chance to write"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    prepare(folder)
    site = Site()
    print(json.dumps({words[0]: trouble(words, site) for words in commands(folder)}))
