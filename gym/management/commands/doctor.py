from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gym.doctor import BAD, OK, findings
from lmgym.cli.site_options import add_doctor_options


class Command(BaseCommand):
    help = "Check this machine. The exit status is 1 if a problem keeps the site from working."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_doctor_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        checks = findings()
        for level, text in checks:
            self.stdout.write(f"{level} {text}")
        bad = sum(level == BAD for level, _ in checks)
        notes = sum(level not in (OK, BAD) for level, _ in checks)
        fails = bool(bad or (options["deploy"] and notes))
        if not bad:
            summary = (
                f"No problems, but --deploy fails on notes ({notes})." if fails else "No problems found."
            )
            self.stdout.write(f"\n{summary}")
        if fails:
            sys.exit(1)
