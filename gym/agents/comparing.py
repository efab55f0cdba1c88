"""Compare stored runs, under distinct names, by means of lmgym.agents.run_comparison."""

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
    """Compare the other runs with the first. Without `by_check`, `checks` are empty and no transcript is read."""
    runs = [first, *others]
    answers = [_answers_of(run) for run in runs]
    outcomes = [
        RunOutcomes(
            run,
            name,
            source,
            run.early_stop,
            {row.name: row for row in run.case_runs.select_related("run")},
            _iterations(run) if source == answers[0] in answers[1:] else {},
            _verdicts_of(run) if by_check else {},
        )
        for run, name, source in zip(runs, distinct_names(runs), answers, strict=True)
    ]
    return run_comparison.compare_runs(outcomes[0], outcomes[1:])


def distinct_names(runs: Sequence[AgentRun]) -> list[str]:
    """Return distinct names of runs: servers, versions or times, whichever distinguishes the runs first;
    failing that, server (if there are several) and time to the second, numbered if they still coincide."""
    servers = [run.server.model.label for run in runs]
    times = [timezone.localtime(run.created) for run in runs]
    candidates = [
        servers,
        [run.server_version for run in runs],
        [f"{time:%d %b, %H:%M}" for time in times],
        [
            (f"{server}, " if len(set(servers)) > 1 else "") + f"{time:%d %b, %H:%M:%S}"
            for server, time in zip(servers, times, strict=True)
        ],
    ]
    for names in candidates:
        if all(names) and len(set(names)) == len(names):
            return names
    return numbered(names)


def _answers_of(run: AgentRun) -> int:
    """Return the id of the run whose answers this run scores."""
    while run.rescored_from is not None:
        run = run.rescored_from
    return run.pk


def _iterations(run: AgentRun) -> dict[str, dict[int, bool]]:
    """Map case name and iteration number to whether the iteration passed. Iterations without a verdict are
    omitted."""
    passed: dict[str, dict[int, bool]] = {}
    made = CaseIteration.objects.filter(case_run__run=run, outcome__in=VERDICTS)
    for name, number, outcome in made.values_list("case_run__name", "number", "outcome"):
        passed.setdefault(name, {})[number] = outcome == "pass"
    return passed


def _verdicts_of(run: AgentRun) -> dict[run_comparison.CheckKey, dict[int, bool]]:
    """Map check and iteration number to whether the check passed. Transcripts are not loaded."""
    passed: dict[run_comparison.CheckKey, dict[int, bool]] = {}
    made = CaseIteration.objects.filter(case_run__run=run)
    for case, number, checks in made.values_list("case_run__name", "number", "data__checks").iterator():
        for check in checks or ():
            if check["outcome"] in VERDICTS:
                places = (check["connection"], check["interaction"], check["where"], check["element"])
                passed.setdefault(check_key(case, *places), {})[number] = check["outcome"] == "pass"
    return passed
