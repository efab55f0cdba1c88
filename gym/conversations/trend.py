"""How the rate of iterations that pass goes from run to run, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q

from gym.conversations import selectors
from gym.conversations.figures import Evidence, evidence
from gym.conversations.models import AgentRun, AgentSuite, CaseRun
from gym.evaluations.svg import Markup
from gym.results.draw.xy import Point, xy_chart
from gym.results.figures import Figure
from models_registry.names import tell_apart

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User

KIND = "agent-suite-trend"
MOST = 60
"""Runs drawn at most, the newest ones."""
HEADER = (
    "run_number", "run", "time", "agent", "version", "passed", "iterations", "rate", "ci_low_95", "ci_high_95",
    "errors",
)  # fmt: skip
INTERVAL = (
    "95% Wilson interval, of iterations with a verdict. Runs that scored stored answers again, or that stop early, are "
    "left out."
)


@dataclass(frozen=True)
class _Dot:
    key: str
    created: datetime
    agent: str
    version: str
    found: Evidence

    @property
    def interval(self) -> tuple[float, float]:
        return (self.found.interval.low, self.found.interval.high) if self.found.interval else (0.0, 1.0)


def suite_trend(suite: AgentSuite, user: User | AnonymousUser) -> Figure | None:
    """All iterations of a run pooled, over the runs with a verdict on the same cases as the newest run with one on all
    cases there are now. None below two runs."""
    runs = _finished(selectors.runs_visible_to(user).filter(suite=suite))
    of_run: dict[int, list[CaseRun]] = {}
    rows = CaseRun.objects.filter(run__in=[run.pk for run in runs], made__gt=0).exclude(outcome="")
    for row in rows.only("run_id", "name", "passed", "made", "errors"):
        of_run.setdefault(row.run_id, []).append(row)
    runs = [run for run in runs if run.pk in of_run]
    if not runs:
        return None
    tell_apart(run.server.model for run in runs)
    asked = {run.pk: {row.name for row in of_run[run.pk]} for run in runs}
    now = {case.name for case in suite.cases.all()}
    names = next((asked[run.pk] for run in runs if asked[run.pk] >= now), asked[runs[0].pk])
    dots = [_dot(run, of_run[run.pk]) for run in runs if asked[run.pk] == names]
    note = f"Iterations of all {len(names)} cases pooled; runs with verdicts on other cases are left out."
    return _figure(f"{suite.title}: iterations passed, run by run", dots, {"suite": suite.slug}, note)


def _finished(runs: selectors.QuerySet[AgentRun]) -> list[AgentRun]:
    """Newest first."""
    fixed = Q(options__early_stop=False) | ~Q(options__has_key="early_stop")
    done = runs.filter(fixed, completed_at__isnull=False, rescored_from=None)
    return list(done.order_by("-created")[:MOST])


def _dot(run: AgentRun, rows: Sequence[CaseRun]) -> _Dot:
    passed, made, errors = (sum(getattr(row, name) for row in rows) for name in ("passed", "made", "errors"))
    found = evidence(passed, made, 1.0, errors=errors)
    return _Dot(run.key, run.created, run.server.model.label, run.server_version, found)


def _figure(title: str, newest_first: Sequence[_Dot], query: dict[str, str], note: str) -> Figure | None:
    dots = [dot for dot in reversed(newest_first) if dot.found.n]
    if len(dots) < 2:
        return None
    series: dict[str, list[Point]] = {}
    for number, dot in enumerate(dots, 1):
        label = f"run {number}, {dot.created:%Y-%m-%d %H:%M}: {dot.found.count}"
        point = Point(number, dot.found.rate or 0.0, label, *dot.interval)
        series.setdefault(dot.agent, []).append(point)
    rows = [
        (
            number, dot.key, dot.created.isoformat(timespec="seconds"), dot.agent, dot.version, dot.found.passed,
            dot.found.n, round(dot.found.rate or 0.0, 4), *(round(end, 4) for end in dot.interval),
            dot.found.errors,
        )
        for number, dot in enumerate(dots, 1)
    ]  # fmt: skip
    said = f"{note} {INTERVAL}".strip()

    def draw(*, standalone: bool) -> Markup:
        return xy_chart(
            list(series.items()), title, x_label="run, oldest first", y_label="share of iterations that passed",
            counted_x=True, joined=True, note=said if standalone else "", standalone=standalone,
        )  # fmt: skip

    return Figure(KIND, title, draw, HEADER, rows, query, said)
