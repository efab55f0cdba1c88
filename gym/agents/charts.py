"""Charts of agent tests: cases by servers, one case over time, a suite from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db.models import Q, QuerySet
from django.utils.timezone import localtime

from gym.accounts.models import AnyUser
from gym.agents import selectors
from gym.agents.models import AgentCase, AgentRun, AgentSuite, CaseRun
from gym.agents.selectors import Column, Row
from lmgym.agents.pass_rates import Evidence, evidence
from lmgym.agents.run_comparison import numbered
from lmgym.charts.figure import Figure
from lmgym.charts.heatmap import heat_chart
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.svg import Markup
from lmgym.charts.xy import Point, xy_chart
from lmgym.text import count, listing
from models_registry.names import disambiguate

SUITE_TREND = "agent-suite-trend"
RUNS_AT_MOST = 60
"""Runs in the trend of a suite, the newest ones."""
TREND_NOTE = (
    "Iterations pooled over the {} that all these runs have verdicts on: {}.{} 95% Wilson interval, of iterations with "
    "a verdict. Runs that scored stored answers again, or that stop early, are left out."
)
SHARED_AT_LEAST = 0.5
"""Runs with verdicts on a smaller part of the cases are left out of the trend, so that many cases stay in it."""
SERIES_AT_MOST = 8


def matrix_figure(
    suite: AgentSuite, columns: Sequence[Column], rows: Sequence[Row], *, by_version: bool = False
) -> Figure | None:
    """Share of iterations that passed in the newest run of every case on every server, or on every version of the
    servers; None before the first run."""
    if not columns:
        return None
    names = [_name(column) for column in columns]
    found = [[cell.evidence for cell in row.cells] for row in rows]
    title = f"{suite.title}: cases by server"
    draw = partial(
        heat_chart,
        [row.case.name for row in rows],
        names,
        [[one.rate if one and not one.early_stop else None for one in row] for row in found],
        title,
        said="Iterations passed of made in the newest run; the darker, the greater the share",
        texts=[[one.count if one else "" for one in row] for row in found],
        missing="not run, without a verdict, or stopped early",
        unit=" passed",
    )
    header = (
        "case", "server", "version", "passed", "made", "errors", "rate", "ci_low_95", "ci_high_95", "required_rate",
        "outcome", "early_stop",
    )  # fmt: skip
    table = [
        (
            row.case.name, names[k], cell.newest.run.server_version, *_numbers(cell.evidence),
            cell.newest.outcome, cell.evidence.early_stop,
        )
        for row in rows
        for k, cell in enumerate(row.cells)
        if cell.evidence and cell.newest
    ]  # fmt: skip
    query = {"suite": suite.slug} | ({"by": "version"} if by_version else {})
    return Figure("agent-matrix", title, draw, header, table, query)


def _name(column: Column) -> str:
    name = column.server.model.label
    return name if column.version is None else f"{name} {column.version or '(no version)'}"


def case_trend(case: AgentCase, history: Sequence[tuple[CaseRun, Evidence]]) -> Figure | None:
    """Every run of a case, oldest first, against the rate it asks for; None before the first run. Scoring stored
    answers again is no other run."""
    asked = [(row, found) for row, found in reversed(history) if row.run.rescored_from_id is None]
    if not asked:
        return None
    told = [(row, found, when) for (row, found), when in zip(asked, _times(asked), strict=True)]
    servers = list(dict.fromkeys(row.run.server.model.label for row, _, _ in told))
    series = servers if len(servers) <= SERIES_AT_MOST else ()
    marks = [
        RowMark(
            when if series else f"{when} · {row.run.server.model.label}",
            found.rate,
            low,
            high,
            found.required,
            servers.index(row.run.server.model.label),
            f"iterations {found.count}" + (", stopped early" if found.early_stop else ""),
        )
        for row, found, when in told
        for low, high in [found.ends]
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
    header = (
        "run", "created", "server", "version", "passed", "made", "errors", "rate", "ci_low_95", "ci_high_95",
        "required_rate", "outcome", "text_as_now", "early_stop",
    )  # fmt: skip
    rows = [
        (
            row.run.key, row.run.created.isoformat(), row.run.server.model.label, row.run.server_version,
            *_numbers(found), row.outcome, row.text == case.text, found.early_stop,
        )
        for row, found, _ in told
    ]  # fmt: skip
    query = {"suite": case.suite.slug, "case": str(case.pk)}
    return Figure("agent-trend", title, draw, header, rows, query, has_narrow=True)


def _times(rows: Sequence[tuple[CaseRun, Evidence]]) -> list[str]:
    """When the runs were made, to the second where several were made in one minute."""
    times = [localtime(row.run.created) for row, _ in rows]
    minutes = [f"{time:%Y-%m-%d %H:%M}" for time in times]
    if len(set(minutes)) == len(minutes):
        return minutes
    return numbered([f"{time:%Y-%m-%d %H:%M:%S}" for time in times])


def _numbers(found: Evidence) -> tuple[float | None, ...]:
    return (found.passed, found.n, found.errors, found.rate, *found.ends, found.required)


def suite_trend(suite: AgentSuite, user: AnyUser) -> Figure | None:
    """Iterations of a run pooled over the cases that all runs of the trend share. Runs belong to it if they have
    verdicts on at least half of the cases of the run that has most of the current ones (of several, the newest). None
    below two runs."""
    runs = _finished(selectors.runs_visible_to(user).filter(suite=suite))
    of_run: dict[int, list[CaseRun]] = {}
    rows = CaseRun.objects.filter(run__in=[run.pk for run in runs], made__gt=0).exclude(outcome="")
    for row in rows.only("run_id", "name", "passed", "made", "errors"):
        of_run.setdefault(row.run_id, []).append(row)
    runs = [run for run in runs if run.pk in of_run]
    if not runs:
        return None
    disambiguate(run.server.model for run in runs)
    cases = {run.pk: {row.name for row in of_run[run.pk]} for run in runs}
    now = {case.name for case in suite.cases.all()}
    names = max((cases[run.pk] for run in runs), key=lambda known: len(known & now))
    alike = [run for run in reversed(runs) if len(cases[run.pk] & names) >= SHARED_AT_LEAST * len(names)]
    if len(alike) < 2:
        return None
    shared = set.intersection(*(cases[run.pk] for run in alike))
    if not shared:
        return None
    pooled = [(run, _pooled([row for row in of_run[run.pk] if row.name in shared])) for run in alike]
    return _suite_figure(suite, pooled, _trend_note(shared, names | now))


def _trend_note(shared: set[str], known: set[str]) -> str:
    left = sorted(known - shared)
    without = f" Not in all of them: {listing(left)}." if left else ""
    return TREND_NOTE.format(count(len(shared), "case"), listing(sorted(shared)), without)


def _finished(runs: QuerySet[AgentRun]) -> list[AgentRun]:
    """Newest first."""
    fixed = Q(options__early_stop=False) | ~Q(options__has_key="early_stop")
    done = runs.filter(fixed, completed_at__isnull=False, rescored_from=None)
    return list(done.order_by("-created")[:RUNS_AT_MOST])


def _pooled(rows: Sequence[CaseRun]) -> Evidence:
    passed, made, errors = (sum(getattr(row, name) for row in rows) for name in ("passed", "made", "errors"))
    return evidence(passed, made, 1.0, errors=errors)


def _suite_figure(suite: AgentSuite, runs: Sequence[tuple[AgentRun, Evidence]], note: str) -> Figure:
    title = f"{suite.title}: iterations passed, run by run"
    series: dict[str, list[Point]] = {}
    table = []
    for number, (run, found) in enumerate(runs, 1):
        server = run.server.model.label
        label = f"run {number}, {run.created:%Y-%m-%d %H:%M}: {found.count}"
        low, high = (found.interval.low, found.interval.high) if found.interval else (0.0, 1.0)
        rate = found.rate or 0.0
        series.setdefault(server, []).append(Point(number, rate, label, low, high))
        table.append((
            number, run.key, run.created.isoformat(timespec="seconds"), server, run.server_version, found.passed,
            found.n, round(rate, 4), round(low, 4), round(high, 4), found.errors,
        ))  # fmt: skip

    def draw(*, standalone: bool, narrow: bool = False) -> Markup:
        return xy_chart(
            list(series.items()), title, x_label="run, oldest first", y_label="share of iterations that passed",
            counted_x=True, joined=True, note=note if standalone else "",
            standalone=standalone, narrow=narrow,
        )  # fmt: skip

    header = (
        "run_number", "run", "time", "server", "version", "passed", "iterations", "rate", "ci_low_95", "ci_high_95",
        "errors",
    )  # fmt: skip
    return Figure(SUITE_TREND, title, draw, header, table, {"suite": suite.slug}, note, has_narrow=True)
