"""Rows of a leaderboard: seeds joined, names told apart, put in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gym.lib.stats import spread
from gym.runs.read.leaderboard.model import Cell, Column, Mean, Row
from models_registry.models import RegisteredModel
from models_registry.names import GROUP, told_apart
from suites.models import SuiteRevision


def column_keys(revisions: Sequence[SuiteRevision]) -> list[str]:
    """The suite's slug; with the revision where several revisions of one suite are beside each other: "name r2"."""
    often = Counter(row.suite.slug for row in revisions)
    return [
        row.suite.slug if often[row.suite.slug] == 1 else f"{row.suite.slug} r{row.number}"
        for row in revisions
    ]


def labelled(rows: Sequence[Row]) -> list[Row]:
    labels = told_apart([(row.name, row.model.slug) for row in rows])
    return [replace(row, label=label) for row, label in zip(rows, labels, strict=True)]


# --- seeds and checkpoints ------------------------------------------------------------------------------------------
def tagged(model: RegisteredModel, prefix: str) -> str:
    """What follows the prefix in the model's first tag that has it."""
    tags = (str(tag) for tag in model.tags)
    return next((tag[len(prefix) :].strip() for tag in tags if tag.startswith(prefix)), "")


def group_of(model: RegisteredModel) -> tuple[int, str] | None:
    """Owner and name: what somebody else calls the same is another model."""
    name = tagged(model, GROUP)
    return (model.owner_id, name) if name else None


def grouped(rows: Sequence[Row]) -> list[Row]:
    """Rows of the same group become one: means over seeds with their spread, as the ACL 2020 paper counts. A model that
    is alone in its group stays as it is."""
    groups: dict[tuple[int, str] | None, list[Row]] = {}
    for row in rows:
        groups.setdefault(group_of(row.model), []).append(row)
    single = groups.pop(None, []) + [members[0] for members in groups.values() if len(members) == 1]
    merged = [_merged(group[1], members) for group, members in groups.items() if group and len(members) > 1]
    return single + merged


def _merged(name: str, rows: Sequence[Row]) -> Row:
    return Row(
        name,
        tuple(row.model for row in rows),
        tuple(_merged_cell(cells) for cells in zip(*(row.cells for row in rows), strict=True)),
        _merged_mean([row.score for row in rows]),
        tuple(_merged_mean(means) for means in zip(*(row.tags for row in rows), strict=True)),
        tuple(gap for row in rows for gap in row.gaps),
    )


def _merged_cell(cells: Sequence[Cell | None]) -> Cell | None:
    known = [cell for cell in cells if cell is not None]
    over = spread([cell.rate for cell in known])
    if over is None:
        return None
    sums = [
        sum(getattr(cell, name) for cell in known)
        for name in ("passed", "judged", "ties", "too_close", "not_evaluable")
    ]
    policies = dict.fromkeys(cell.policy for cell in known if cell.policy)
    return Cell(
        known[0].run, known[0].n, *sums, over.mean, over.least, over.greatest, known[0].chance, None,
        any(cell.uploaded for cell in known), over, "; ".join(policies),
        "; ".join(dict.fromkeys(cell.whitespace for cell in known)),
    )  # fmt: skip


def _merged_mean(means: Sequence[Mean | None]) -> Mean | None:
    known = [mean for mean in means if mean is not None]
    over = spread([mean.rate for mean in known])
    if over is None:
        return None
    return Mean(over.mean, over.least, over.greatest, min(mean.n for mean in known), known[0].of, over)


# --- order ------------------------------------------------------------------------------------------------------------
def in_order(rows: Sequence[Row], columns: Sequence[Column], tags: Sequence[str], sort: str) -> list[Row]:
    """By `sg`, `name`, `parameters`, `missing`, `suite:KEY` or `tag:NAME`; `-` in front: greatest first. A slug alone
    means the suite's newest revision here."""
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
    known = [(number, row) for row in by_name if (number := value(row)) is not None]
    known.sort(key=lambda pair: -pair[0] if down else pair[0])
    return [row for _, row in known] + [row for row in by_name if value(row) is None]
