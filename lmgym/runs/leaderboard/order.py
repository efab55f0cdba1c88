"""Rank and sort a leaderboard's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lmgym.runs.leaderboard.board import Column, Model, Row

EQUAL_SCORES = 1e-9
"""Scores closer than this differ only by rounding."""


def ranked(rows: Sequence[Row[Model]], columns: Sequence[Column], *, whole: bool) -> list[Row[Model]]:
    """Rank rows by SG score. Only rows whose models have all run every weighted suite that any row has run are ranked,
    so that all scores are means over the same suites. Equal scores share a rank (1, 2, 2, 4). `whole`: require every
    weighted suite, even if no row has run it."""
    counted = [
        place
        for place, column in enumerate(columns)
        if column.weight > 0 and (whole or any(row.cells[place] is not None for row in rows))
    ]
    scores = {
        id(row): row.score.rate
        for row in rows
        if row.score is not None
        and all(row.cells[place] is not None for place in counted)
        and not {gap.suite for gap in row.gaps} & {columns[place].key for place in counted}
    }
    return [
        replace(row, rank=1 + sum(rival > score + EQUAL_SCORES for rival in scores.values()))
        if (score := scores.get(id(row))) is not None
        else row
        for row in rows
    ]


def in_order(
    rows: Sequence[Row[Model]], columns: Sequence[Column], tags: Sequence[str], sort: str
) -> list[Row[Model]]:
    """Sort by `sg`, `name`, `parameters`, `missing`, `suite:KEY` or `tag:NAME`; a leading `-` means descending. A bare
    slug means the suite's newest revision here. Rows whose mean lacks suites go below the others when sorting by a
    mean.
    """
    key, down = sort.removeprefix("-"), sort.startswith("-")
    kind, _, name = key.partition(":")
    newest = sorted(enumerate(columns), key=lambda pair: pair[1].revision.number)
    places = {column.suite.slug: k for k, column in newest} | {c.key: k for k, c in enumerate(columns)}
    place = {"suite": places, "tag": {tag: k for k, tag in enumerate(tags)}}.get(kind, {}).get(name)

    def value(row: Row) -> float | None:
        if key == "parameters":
            return float(row.model.parameters) if row.model.parameters else None
        if key == "missing":
            return float(row.missing)
        if place is not None:
            seen = row.cells[place] if kind == "suite" else row.tags[place]
            return seen.rate if seen else None
        return row.score.rate if row.score else None

    by_name = sorted(rows, key=lambda row: row.name.lower(), reverse=down and key == "name")
    if key == "name":
        return by_name
    lacking = set() if key in ("parameters", "missing") else _lacking_in_mean(rows, kind, place)
    known = [(number, row) for row in by_name if (number := value(row)) is not None]
    known.sort(key=lambda pair: (id(pair[1]) in lacking, -pair[0] if down else pair[0]))
    return [row for _, row in known] + [row for row in by_name if value(row) is None]


def _lacking_in_mean(rows: Sequence[Row], kind: str, place: int | None) -> set[int]:
    """Return the ids of rows whose mean covers fewer suites than others; empty when sorting by a suite."""
    if place is None:
        return {id(row) for row in rows if row.rank is None}
    if kind == "suite":
        return set()
    means = {id(row): mean.suites_run for row in rows if (mean := row.tags[place])}
    return {key for key, n in means.items() if n < max(means.values())}
