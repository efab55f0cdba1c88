from __future__ import annotations

import argparse
import sys
from typing import Any, TextIO, cast

from django.core.management.base import BaseCommand, CommandParser

from lmgym.propara import cli


class Command(BaseCommand):
    help = "Score, check, compare and convert ProPara predictions."
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """The reference's options and exit codes, so Django's own options (-v, --settings, ...) are not offered."""
        sys.exit(cli.main(argv[2:], prog=f"manage.py {argv[1]}"))

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("command", choices=cli.COMMANDS)
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *args: Any, **options: Any) -> None:
        """For call_command."""
        out, err = cast(TextIO, self.stdout), cast(TextIO, self.stderr)  # OutputWrapper is no TextIO
        code = cli.main([options["command"], *options["arguments"]], "manage.py propara", out, err)
        if code:
            sys.exit(code)
