from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gym.site_command import database_problem
from lmgym.cli import shared
from lmgym.cli.lint import as_json, as_text, has_error
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.lint import lint
from lmgym.suites.regions import JOIN_POLICIES
from suites.management.files import read_file
from suites.models import SuiteRevision
from suites.selectors import document_of


class Command(BaseCommand):
    help = (
        "What a careful reviewer would notice in suites: files, or suites of this site by their slugs, joined as set "
        "here. Exit status 1 when there is an error among it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, help="files, or slugs of suites of this site")
        parser.add_argument(
            "--join",
            choices=JOIN_POLICIES,
            help="how regions are joined; default: as the suite is set here, and of a file with spaces",
        )
        shared.add_columns(parser)
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        reports = {}
        for path in options["files"]:
            document, join = _asked(path, options["columns"])
            reports[str(path)] = (lint(document, options["join"] or join), document.notices)
        text = as_json(reports) if options["format"] == "json" else as_text(reports)
        self.stdout.write(text, ending="")
        if has_error(reports):
            sys.exit(1)


def _asked(path: Path, columns: dict[str, str]) -> tuple[SuiteDocument, str]:
    """The suite in a file, or the newest revision of the suite with this slug; and how its regions are joined."""
    if path.exists() or len(path.parts) > 1 or path.suffix:
        return read_file(path, columns), "space"
    if problem := database_problem():
        raise CommandError(f"{path} is no file. {problem}")
    revision = SuiteRevision.objects.filter(suite__slug=str(path)).order_by("-number").first()
    if revision is None:
        raise CommandError(f"{path}: there is no such file, and no suite of this site with that slug.")
    return document_of(revision), revision.join_policy
