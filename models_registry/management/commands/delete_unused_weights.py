from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.template.defaultfilters import filesizeformat

from gym.site_command import SiteCommand
from models_registry.weights import delete_unused, unused


class Command(SiteCommand):
    help = "Delete weights that this site downloaded from the Hub to this machine and that no registered model uses."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="list them only")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            for cached in unused():
                self.stdout.write(f"{cached.repo} at {cached.commit[:12]}: {filesizeformat(cached.bytes)}")
            return
        total = 0
        for cached, freed in delete_unused():
            total += freed
            self.stdout.write(f"{cached.repo} at {cached.commit[:12]}: {filesizeformat(freed)}")
        self.stdout.write(f"{filesizeformat(total)} freed.")
