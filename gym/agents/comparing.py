"""Stored runs of agent tests as lmgym.agents.run_comparison compares them, and names that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from django.utils import timezone

from gym.agents.models import AgentRun, CaseIteration, CaseRun
from lmgym.agents import run_comparison
from lmgym.agents.checks import VERDICTS
from lmgym.agents.run_comparison import Compared, RunOutcomes, check_key, numbered

MOST_COMPARED = 5

ComparedRuns: TypeAlias = Compared[AgentRun, CaseRun]


def compare_runs(first: AgentRun, *others: AgentRun, by_check: bool = False) -> ComparedRuns:
    """Each of the others with the first. Without `by_check` no transcript is read, and `checks` are empty."""
    runs = [first, *others]
    answers = [_answers_of(run) for run in runs]
    found = [
        RunOutcomes(
            run,
            name,
            source,
            run.early_stop,
            {row.name: row for row in run.case_runs.select_related("run")},
            _iterations(run) if source == answers[0] in answers[1:] else {},
            _verdicts_of(run) if by_check else {},
        )
        for run, name, source in zip(runs, names_apart(runs), answers, strict=True)
    ]
    return run_comparison.compare_runs(found[0], found[1:])


def names_apart(runs: Sequence[AgentRun]) -> list[str]:
    """What to call them: by their servers, else their versions, else when they were made. Where no one of these tells
    all apart: by the server, if there are several, and the time to the second; those of one second get a number."""
    servers = [run.server.model.label for run in runs]
    times = [timezone.localtime(run.created) for run in runs]
    tellings = [
        servers,
        [run.server_version for run in runs],
        [f"{time:%d %b, %H:%M}" for time in times],
        [
            (f"{server}, " if len(set(servers)) > 1 else "") + f"{time:%d %b, %H:%M:%S}"
            for server, time in zip(servers, times, strict=True)
        ],
    ]
    for names in tellings:
        if all(names) and len(set(names)) == len(names):
            return names
    return numbered(names)


def _answers_of(run: AgentRun) -> int:
    """The run that asked for the answers that this one scores."""
    while run.rescored_from is not None:
        run = run.rescored_from
    return run.pk


def _iterations(run: AgentRun) -> dict[str, dict[int, bool]]:
    """By case, whether its iterations passed; those with a verdict."""
    found: dict[str, dict[int, bool]] = {}
    made = CaseIteration.objects.filter(case_run__run=run, outcome__in=VERDICTS)
    for name, number, outcome in made.values_list("case_run__name", "number", "outcome"):
        found.setdefault(name, {})[number] = outcome == "pass"
    return found


def _verdicts_of(run: AgentRun) -> dict[run_comparison.CheckKey, dict[int, bool]]:
    """By check, which iterations passed it. Transcripts stay in the database."""
    found: dict[run_comparison.CheckKey, dict[int, bool]] = {}
    made = CaseIteration.objects.filter(case_run__run=run)
    for case, number, checks in made.values_list("case_run__name", "number", "data__checks").iterator():
        for check in checks or ():
            if check["outcome"] in VERDICTS:
                places = (check["connection"], check["interaction"], check["where"], check["element"])
                found.setdefault(check_key(case, *places), {})[number] = check["outcome"] == "pass"
    return found
