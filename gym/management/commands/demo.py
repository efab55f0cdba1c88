from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from gym.demo.loader import load_demo
from gym.site_command import SiteCommand


class Command(SiteCommand):
    help = "Create the demo accounts, suites and models, and queue their runs. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-runs", action="store_true", help="do not queue runs")

    def handle(self, *args: Any, **options: Any) -> None:
        for line in load_demo(queue_runs=not options["no_runs"]):
            self.stdout.write(line)
