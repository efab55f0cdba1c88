from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand

from gym.doctor import BAD, findings


class Command(BaseCommand):
    help = (
        "What is missing on this machine, in words. Exit status 1 when something keeps the site from working."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        found = findings()
        for level, text in found:
            self.stdout.write(f"{level} {text}")
        bad = sum(level == BAD for level, _ in found)
        self.stdout.write("" if bad else "\nNothing is in the way.")
        if bad:
            sys.exit(1)
