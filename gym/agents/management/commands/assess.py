from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gym.agents.core.assessor import Assessment, assess, choices, chooser, samples_of, text_report
from gym.agents.core.cases import CaseError
from gym.agents.core.driver import run_case
from gym.agents.core.llm_judge import AgentJudge
from gym.agents.core.results import CaseResult
from gym.agents.core.transport import Transport
from gym.agents.management import options as shared


class Command(BaseCommand):
    help = "Make all iterations of an agent test case and sort its failures into modes."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a test case")
        parser.add_argument("--format", choices=["text", "json"], default="text")
        parser.add_argument("--namer", metavar="AGENT", help="agent that says why answers failed")
        shared.add_arguments(parser)

    def handle(self, *args: Any, **given: Any) -> None:
        shared.check_output(given)
        server = shared.transport(given["server"], given)
        try:
            case = shared.read(given["file"], given, lambda line: self.stderr.write(line))
        except CaseError as error:
            raise CommandError(shared.explain(given["file"], error, given), returncode=shared.WRONG) from None
        judge, options = shared.judge(given, server), shared.options(given)
        result = shared.hidden(run_case(case, server, judge, options), given)
        assessment = self._named(result, server, given["namer"]) if given["namer"] else assess(result)
        if given["format"] == "json":
            text = json.dumps(assessment.as_dict(), ensure_ascii=False, indent=2) + "\n"
        else:
            text = text_report(assessment)
        shared.write_output(self, given, text)

    def _named(self, result: CaseResult, server: Transport, namer: str) -> Assessment:
        made = list(choices(samples_of(result), {}, chooser(AgentJudge(server, namer))))
        troubles = [choice.trouble for choice in made if choice.trouble]
        undecided = sum(not choice.mode for choice in made)
        if undecided:
            why = troubles[0] if troubles else "neither a number of the list nor NEW was said."
            self.stderr.write(f"{undecided} of {len(made)} failures stay as grouped by text. {namer}: {why}")
        return assess(
            result,
            names={choice.mode: choice.name for choice in made if choice.mode},
            chosen={choice.place: choice.mode for choice in made if choice.mode},
        )
