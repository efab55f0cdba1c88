"""Charts of agent tests: a case over time, and a suite over its runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.timezone import localtime

from gym.accounts.models import AnyUser
from gym.agents import selectors
from gym.agents.models import AgentCase, AgentRun, AgentSuite, CaseRun
from lmgym.agents.pass_rates import Evidence, evidence
from lmgym.agents.run_comparison import numbered
from lmgym.agents.tables import CaseTrendRow, SuiteTrendRow
from lmgym.charts.figure import Figure
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.svg import Markup
from lmgym.charts.xy import Point, xy_chart
from lmgym.text import count, listing
from lmgym.text.columns import header
from lmgym.text.columns import row as values
from models_registry.names import disambiguate

SUITE_TREND = "agent-suite-trend"
MAX_RUNS = 60
"""Maximum number of runs in a suite's trend; the newest are shown."""
TREND_NOTE = (
    "Iterations are pooled over the {} with verdicts in all these runs: {}.{} Intervals: 95% Wilson, over iterations "
    "with a verdict. Rescored runs and runs that stop early are excluded."
)
MIN_SHARED = 0.5
"""A run is in the trend only if it has verdicts on at least this share of the reference run's cases; see `suite_trend`.
Runs with fewer would leave few cases in common."""
MAX_SERIES = 8


def case_trend(case: AgentCase, history: Sequence[tuple[CaseRun, Evidence]]) -> Figure | None:
    """Draw a case's runs in `history` (newest first), oldest first, with the required rate. Rescored runs are excluded;
    None if there are no others."""
    made = [(row, evidence) for row, evidence in reversed(history) if row.run.rescored_from_id is None]
    if not made:
        return None
    runs = [(row, evidence, when) for (row, evidence), when in zip(made, _times(made), strict=True)]
    servers = list(dict.fromkeys(row.run.server.model.label for row, _, _ in runs))
    series = servers if len(servers) <= MAX_SERIES else ()
    marks = [
        RowMark(
            when if series else f"{when} · {row.run.server.model.label}",
            evidence.rate,
            evidence.low,
            evidence.high,
            evidence.required,
            servers.index(row.run.server.model.label),
            f"iterations {evidence.count}" + (", stopped early" if evidence.early_stop else ""),
        )
        for row, evidence, when in runs
    ]
    title = f"{case.name} over time"
    draw = partial(
        interval_rows,
        marks,
        title,
        unit="share of iterations that passed",
        reference="required",
        series=series,
    )
    rows = [
        CaseTrendRow(
            **_columns_of(row.run, evidence),
            required_rate=evidence.required,
            outcome=row.outcome,
            text_as_now=row.text == case.text,
            early_stop=evidence.early_stop,
        )
        for row, evidence, _ in runs
    ]
    query = {"suite": case.suite.slug, "case": str(case.pk)}
    return Figure(
        "agent-trend",
        title,
        draw,
        tuple(header(CaseTrendRow)),
        [values(row) for row in rows],
        query,
        has_narrow=True,
    )


def _times(rows: Sequence[tuple[CaseRun, Evidence]]) -> list[str]:
    """Return the times of runs to the minute, or to the second if several runs share a minute; numbered if
    they still coincide."""
    times = [localtime(row.run.created) for row, _ in rows]
    minutes = [f"{time:%Y-%m-%d %H:%M}" for time in times]
    if len(set(minutes)) == len(minutes):
        return minutes
    return numbered([f"{time:%Y-%m-%d %H:%M:%S}" for time in times])


def _columns_of(run: AgentRun, evidence: Evidence) -> dict[str, Any]:
    """Return values for the fields of TrendRow."""
    return {
        "run": run.key,
        "created": run.created.isoformat(),
        "server": run.server.model.label,
        "version": run.server_version,
        **{name: getattr(evidence, name) for name in ("passed", "n", "errors", "rate", "low", "high")},
    }


def suite_trend(suite: AgentSuite, user: AnyUser) -> Figure | None:
    """Draw pass rates pooled over the cases shared by all runs in the trend; None for fewer than two runs, or if they
    share no case.

    The reference is the run with verdicts on the largest number of current cases (the newest such run, if several tie).
    A run is in the trend if it has verdicts on at least half of the reference's cases.
    """
    runs = _finished(selectors.runs_visible_to(user).filter(suite=suite))
    of_run: dict[int, list[CaseRun]] = {}
    rows = CaseRun.objects.filter(run__in=[run.pk for run in runs], n__gt=0).exclude(outcome="")
    for row in rows.only("run_id", "name", "passed", "n", "errors"):
        of_run.setdefault(row.run_id, []).append(row)
    runs = [run for run in runs if run.pk in of_run]
    if not runs:
        return None
    disambiguate(run.server.model for run in runs)
    cases = {run.pk: {row.name for row in of_run[run.pk]} for run in runs}
    now = {case.name for case in suite.cases.all()}
    names = max((cases[run.pk] for run in runs), key=lambda known: len(known & now))
    alike = [run for run in reversed(runs) if len(cases[run.pk] & names) >= MIN_SHARED * len(names)]
    if len(alike) < 2:
        return None
    shared = set.intersection(*(cases[run.pk] for run in alike))
    if not shared:
        return None
    pooled = [(run, _pooled([row for row in of_run[run.pk] if row.name in shared])) for run in alike]
    return _suite_figure(suite, pooled, _trend_note(shared, names | now))


def _trend_note(shared: set[str], known: set[str]) -> str:
    left = sorted(known - shared)
    without = f" Cases not in all runs: {listing(left)}." if left else ""
    return TREND_NOTE.format(count(len(shared), "case"), listing(sorted(shared)), without)


def _finished(runs: QuerySet[AgentRun]) -> list[AgentRun]:
    """Return the newest finished runs with a fixed number of iterations, newest first."""
    fixed = Q(options__early_stop=False) | ~Q(options__has_key="early_stop")
    done = runs.filter(fixed, completed_at__isnull=False, rescored_from=None)
    return list(done.order_by("-created")[:MAX_RUNS])


def _pooled(rows: Sequence[CaseRun]) -> Evidence:
    passed, n, errors = (sum(getattr(row, name) for row in rows) for name in ("passed", "n", "errors"))
    return evidence(passed, n, 1.0, errors=errors)


def _suite_figure(suite: AgentSuite, runs: Sequence[tuple[AgentRun, Evidence]], note: str) -> Figure:
    title = f"{suite.title}: iterations passed, run by run"
    series: dict[str, list[Point]] = {}
    rows = []
    for number, (run, pooled) in enumerate(runs, 1):
        label = f"run {number}, {run.created:%Y-%m-%d %H:%M}: {pooled.count}"
        low, high = (0.0, 1.0) if pooled.low is None or pooled.high is None else (pooled.low, pooled.high)
        point = Point(number, pooled.rate or 0.0, label, low, high)
        series.setdefault(run.server.model.label, []).append(point)
        rows.append(values(SuiteTrendRow(**_columns_of(run, pooled), run_number=number)))

    def draw(*, standalone: bool, narrow: bool = False) -> Markup:
        return xy_chart(
            list(series.items()), title, x_label="run, oldest first", y_label="share of iterations that passed",
            counted_x=True, joined=True, note=note if standalone else "",
            standalone=standalone, narrow=narrow,
        )  # fmt: skip

    query = {"suite": suite.slug}
    return Figure(SUITE_TREND, title, draw, tuple(header(SuiteTrendRow)), rows, query, note, has_narrow=True)
