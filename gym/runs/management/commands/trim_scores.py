from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from gym.runs.work.cache import trim
from gym.site_command import SiteCommand


class Command(SiteCommand):
    help = "Reduce the score cache to its budget (GYM_SCORE_CACHE_SENTENCES): delete the least recently read scores."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--keep", type=int, help="sentences to keep, instead of the setting; 0 = none")

    def handle(self, *args: Any, **options: Any) -> None:
        done = trim(options["keep"])
        self.stdout.write(f"{done.removed:,} scored sentences deleted, {done.left:,} left.")
