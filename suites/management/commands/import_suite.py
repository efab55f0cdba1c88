from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from gym.sharing.models import Visibility
from gym.site_command import SiteCommand
from lmgym.cli.suite_files import add_reading, reading
from lmgym.suites.regions import METRICS
from lmgym.text import count
from suites import services
from suites.management.files import actor_named, read_file
from suites.models import JoinPolicy
from suites.options import SuiteOptions


class Command(SiteCommand):
    help = (
        "Import suite files (JSON, JSONL, CSV, TSV, .xlsx, .ods) as new suites. Nothing is saved if a file cannot be "
        "read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path)
        parser.add_argument(
            "--owner", default="", help="owner of the new suites; default: the first superuser"
        )
        parser.add_argument("--visibility", choices=Visibility.values, default=Visibility.PRIVATE)
        parser.add_argument("--tags", default="", help="separated by commas")
        parser.add_argument("--join", choices=JoinPolicy.values, default=JoinPolicy.SPACE)
        parser.add_argument(
            "--metric", choices=METRICS, help="value of a region; default: from the file, else sum"
        )
        add_reading(parser)
        parser.add_argument("--freeze", action="store_true", help="freeze the first revision")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = actor_named(options["owner"])
        documents = [(path, read_file(path, **reading(options))) for path in options["files"]]
        suite_options = SuiteOptions(
            visibility=options["visibility"],
            tags=tuple(options["tags"].split(",")),
            join_policy=options["join"],
            metric=options["metric"] or "",
        )
        for path, document in documents:
            suite = services.import_suite(document, suite_options, actor=actor)
            if options["freeze"]:
                services.freeze(suite, actor=actor, note=f"imported from {path.name}")
            for notice in document.notices:
                self.stderr.write(f"{path}: {notice}")
            self.stdout.write(
                f"{path} -> /suites/{suite.slug}/ ({count(len(document.sentences), 'sentence')})"
            )
