from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gym.agents.core import reports
from gym.agents.core.cases import CaseError, Ratio
from gym.agents.core.driver import run_case
from gym.agents.core.results import CaseResult
from gym.agents.management import options as shared


class Command(BaseCommand):
    help = (
        "Run agent test cases (HOCON) against an agent server. Exit status: 0 when all passed, 1 when some failed, "
        "2 when something could not be read, 3 when none failed and some have no verdict, because a server or judge "
        "could not be asked."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "files", nargs="+", type=Path, metavar="FILE", help="test cases, or folders of them"
        )
        parser.add_argument("--format", choices=reports.FORMATS, default="table")
        parser.add_argument(
            "--early-stop", action="store_true", help="stop when enough iterations passed or no longer can"
        )
        shared.add_arguments(parser)

    def handle(self, *args: Any, **given: Any) -> None:
        shared.check_output(given)
        server = shared.transport(given["server"], given)
        judge = shared.judge(given, server)
        options = shared.options(given, early_stop=given["early_stop"])
        results: list[tuple[str, CaseResult]] = []
        wrong = False
        for path in shared.files(given["files"]):
            try:
                case = shared.read(path, given, lambda line: self.stderr.write(line))
            except CaseError as error:
                message = shared.explain(path, error, given)
                self.stderr.write(message)
                result = CaseResult("", Ratio(1, 1, ""), options.reading, error=message)
                wrong = True
            else:
                result = shared.hidden(run_case(case, server, judge, options), given)
            results.append((shared.said_path(path), result))
        text = reports.render(results, given["format"])
        shared.write_output(self, given, text)
        if status := shared.WRONG if wrong else reports.exit_status(results):
            sys.exit(status)
