"""Group seeds of one model into one row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from lmgym.runs.against_chance import NO_VERDICT
from lmgym.runs.leaderboard.board import Cell, Mean, Model, Row
from lmgym.stats import spread


def grouped(
    rows: Sequence[Row[Model]], group_of: Callable[[Any], tuple[Hashable, str] | None]
) -> list[Row[Model]]:
    """Merge rows of models in the same group: means over seeds with their spread, as in the ACL 2020 paper. A model
    alone in its group is unchanged. `group_of`: key and name of a model's group; None = no group."""
    groups: dict[tuple[Hashable, str] | None, list[Row[Model]]] = {}
    for row in rows:
        groups.setdefault(group_of(row.model), []).append(row)
    single = groups.pop(None, []) + [members[0] for members in groups.values() if len(members) == 1]
    merged = [_merged(group[1], members) for group, members in groups.items() if group and len(members) > 1]
    return single + merged


def _merged(name: str, rows: Sequence[Row[Model]]) -> Row[Model]:
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
    sums = {
        name: sum(getattr(cell, name) for cell in known)
        for name in ("passed", "judged", "ties", "too_close", "not_evaluable")
    }
    policies = dict.fromkeys(cell.policy for cell in known if cell.policy)
    return replace(
        known[0],
        **sums,
        rate=over.mean,
        low=over.least,
        high=over.greatest,
        p=None,
        uploaded=any(cell.uploaded for cell in known),
        spread=over,
        verdict=NO_VERDICT,
        n_words=None,
        n_unknown_words=None,
        policy="; ".join(policies),
        whitespace="; ".join(dict.fromkeys(cell.whitespace for cell in known)),
    )


def _merged_mean(means: Sequence[Mean | None]) -> Mean | None:
    known = [mean for mean in means if mean is not None]
    over = spread([mean.rate for mean in known])
    if over is None:
        return None
    suites_run = min(mean.suites_run for mean in known)
    return Mean(over.mean, over.least, over.greatest, suites_run, known[0].suites, over)
