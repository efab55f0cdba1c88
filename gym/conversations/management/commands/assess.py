from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gym.conversations.assessor import assess, text_report
from gym.conversations.cases import CaseError
from gym.conversations.driver import run_case
from gym.conversations.judges import AgentJudge
from gym.conversations.management import options as shared
from gym.conversations.naming import chooser


class Command(BaseCommand):
    help = "Make all iterations of an agent test case and sort its failures into modes."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a test case")
        parser.add_argument("--format", choices=["text", "json"], default="text")
        parser.add_argument("--namer", metavar="AGENT", help="agent that names the failures of gist checks")
        shared.add_arguments(parser)

    def handle(self, *args: Any, **given: Any) -> None:
        server = shared.transport(given["server"], given)
        try:
            case = shared.read(given["file"], given, lambda line: self.stderr.write(line))
        except CaseError as error:
            raise CommandError(shared.explain(given["file"], error), returncode=shared.WRONG) from None
        result = run_case(case, server, shared.judge(given, server), shared.options(given))
        choose = chooser(AgentJudge(server, given["namer"])) if given["namer"] else None
        assessment = assess(result, choose=choose)
        if given["format"] == "json":
            text = json.dumps(assessment.as_dict(), ensure_ascii=False, indent=2) + "\n"
        else:
            text = text_report(assessment)
        if given["output"]:
            given["output"].write_text(text, encoding="utf-8")
        else:
            self.stdout.write(text, ending="")
