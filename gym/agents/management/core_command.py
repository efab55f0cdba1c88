"""A command of the core as one of manage.py."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lmgym.agents import cli


class CoreCommand(BaseCommand):
    name = ""
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """The core's options, so Django's own (-v, --settings, ...) are not offered."""
        sys.exit(cli.main(argv[1:], "manage.py"))

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *args: Any, **options: Any) -> None:
        """For call_command."""
        code = cli.main([self.name, *options["arguments"]], "manage.py")
        if code:
            sys.exit(code)
