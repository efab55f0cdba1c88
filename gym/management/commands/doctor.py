from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand

from gym.doctor import BAD, findings


class Command(BaseCommand):
    help = "Check this machine. The exit status is 1 if a problem keeps the site from working."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        checks = findings()
        for level, text in checks:
            self.stdout.write(f"{level} {text}")
        bad = sum(level == BAD for level, _ in checks)
        self.stdout.write("" if bad else "\nNo problems found.")
        if bad:
            sys.exit(1)
