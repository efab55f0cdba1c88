from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from django.core.management.base import CommandError, CommandParser

from gym.site_command import SiteCommand
from lmgym.suites.formats import SuiteDocument, write_json
from lmgym.suites.formats.write import WRITERS
from suites.models import Suite
from suites.selectors import export_document


class Command(SiteCommand):
    help = "Write a revision of a suite as JSON, long CSV or wide TSV."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--revision", type=int, help="default: the newest frozen one, else the draft")
        parser.add_argument("--format", choices=["json", "json-early", "csv", "tsv"], default="json")
        parser.add_argument(
            "--trimmed", action="store_true", help="JSON without the extra spaces of the imported file"
        )
        parser.add_argument("--output", "-o", type=Path, help="default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        suite = Suite.objects.filter(slug=options["slug"]).first()
        if suite is None:
            raise CommandError(f"Suite not found: {options['slug']!r}.")
        if options["revision"] is not None:
            revision = suite.revisions.filter(number=options["revision"]).first()
        else:
            revision = suite.latest_frozen or suite.draft
        if revision is None:
            raise CommandError(f"{suite.slug} has no such revision.")
        text = _write(export_document(revision), options["format"], trimmed=options["trimmed"])
        if options["output"]:
            options["output"].write_text(text, encoding="utf-8")
            self.stderr.write(f"{suite.slug} r{revision.number} -> {options['output']}")
        else:
            self.stdout.write(text, ending="")


def _write(document: SuiteDocument, form: str, *, trimmed: bool) -> str:
    if trimmed and form.startswith("json"):
        dialect: Literal["current", "early"] = "early" if form == "json-early" else "current"
        return write_json(document, dialect=dialect, whitespace="trimmed")
    return str(WRITERS[form](document))
