"""Write gym/api/openapi.json."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from drf_spectacular.drainage import GENERATOR_STATS

from gym.api.description import FILE, generated


class Command(BaseCommand):
    help = "Write the OpenAPI description of the REST API to gym/api/openapi.json."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="write nothing; fail if the file is outdated"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        text = generated()
        if GENERATOR_STATS:
            raise CommandError("The description has errors; see the messages above.")
        if options["check"]:
            if not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
                raise CommandError("gym/api/openapi.json is outdated: run manage.py api_schema")
            return
        FILE.write_text(text, encoding="utf-8")
        self.stdout.write(f"{FILE}: {text.count('operationId')} operations")
