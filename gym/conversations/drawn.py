"""Charts of agent tests: cases by agents, one case over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.utils.timezone import localtime

from gym.conversations.figures import Evidence
from gym.conversations.models import AgentCase, AgentSuite, CaseRun
from gym.conversations.selectors import Column, Row
from gym.results.draw.heat import heat_chart
from gym.results.draw.rows import RowMark, interval_rows
from gym.results.figures import Figure

SERIES_AT_MOST = 8


def matrix_figure(
    suite: AgentSuite, columns: Sequence[Column], rows: Sequence[Row], *, by_version: bool = False
) -> Figure | None:
    """Share of iterations that passed in the newest run of every case on every agent, or on every version of the
    agents; None before the first run."""
    if not columns:
        return None
    names = [_name(column) for column in columns]
    found = [[cell.evidence for cell in row.cells] for row in rows]
    title = f"{suite.title}: cases by agent"
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
        "case",
        "agent",
        "version",
        "passed",
        "made",
        "errors",
        "rate",
        "ci_low_95",
        "ci_high_95",
        "required_rate",
        "outcome",
        "early_stop",
    )
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


def trend_figure(case: AgentCase, history: Sequence[tuple[CaseRun, Evidence]]) -> Figure | None:
    """Every run of a case, oldest first, against the rate it asks for; None before the first run."""
    if not history:
        return None
    told = [(row, found, f"{localtime(row.run.created):%Y-%m-%d %H:%M}") for row, found in reversed(history)]
    agents = list(dict.fromkeys(row.run.server.model.label for row, _, _ in told))
    marks = [
        RowMark(
            f"{when} · {row.run.server.model.label}",
            found.rate,
            found.interval.low if found.interval else None,
            found.interval.high if found.interval else None,
            found.required,
            agents.index(row.run.server.model.label),
            f"iterations {found.count}" + (", stopped early" if found.early_stop else ""),
        )
        for row, found, when in told
    ]
    title = f"{case.name} over time"
    draw = partial(
        interval_rows,
        marks,
        title,
        unit="share of iterations that passed",
        reference="required",
        series=agents if 1 < len(agents) <= SERIES_AT_MOST else (),
    )
    header = (
        "run", "created", "agent", "version", "passed", "made", "errors", "rate", "ci_low_95", "ci_high_95",
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
    return Figure("agent-trend", title, draw, header, rows, query)


def _numbers(found: Evidence) -> tuple[float | None, ...]:
    interval = found.interval
    return (
        found.passed, found.n, found.errors, found.rate,
        interval.low if interval else None, interval.high if interval else None, found.required,
    )  # fmt: skip
