"""Use cases of results: run what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError

from gym.accounts.errors import TooManyJobs
from gym.runs.models import RunScore, SuiteRun
from gym.runs.read.leaderboard.model import Board
from gym.runs.work.services import queue_run
from models_registry.models import RegisteredModel
from models_registry.selectors import runnable_by
from suites.models import SuiteRevision
from suites.permissions import can_run

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User

MAX_AT_ONCE = 100
"""Runs that one click queues."""


@dataclass(frozen=True)
class Queued:
    """`runs` now wait; `waiting` were under way already; `stopped` says why not all of them could be queued."""

    runs: Sequence[SuiteRun]
    waiting: int
    left: int
    stopped: str = ""


def missing_pairs(board: Board, user: User | AnonymousUser) -> list[tuple[SuiteRevision, RegisteredModel]]:
    """Models on suites of this table that have no rate under its rule, and that this user could have computed: the
    model is hosted, ready and may be run. Seeds count one by one, and results that a filter hides are there."""
    if not user.is_authenticated:
        return []
    models = {model.pk for row in board.rows for model in row.models}
    runnable = set(runnable_by(user).filter(pk__in=models).values_list("pk", flat=True))
    if board.options.source or board.options.group:
        there = _with_rate(board, runnable)
        wanted = [(model, column) for row in board.rows for model in row.models for column in board.columns]
        lacking = [(m, c) for m, c in wanted if (c.revision.pk, m.pk) not in there]
    else:
        lacking = [
            (row.model, column)
            for row in board.rows
            for column, cell in zip(board.columns, row.cells, strict=True)
            if cell is None
        ]
    return [(column.revision, model) for model, column in lacking if model.pk in runnable]


def _with_rate(board: Board, models: Iterable[int]) -> set[tuple[int, int]]:
    """(revision, model) with a rate under the board's rule, wherever it comes from."""
    rows = RunScore.objects.filter(
        rule=board.options.rule.key,
        rate__isnull=False,
        run__completed_at__isnull=False,
        run__revision__in=[column.revision.pk for column in board.columns],
        run__model__in=models,
    )
    return set(rows.values_list("run__revision_id", "run__model_id"))


def queue_missing(board: Board, *, actor: User) -> Queued:
    """Queue a run with default policy for every missing cell, at most MAX_AT_ONCE; what is under way stays alone."""
    pairs = missing_pairs(board, actor)
    active = set(
        SuiteRun.objects.filter(
            revision__in=[revision.pk for revision, _ in pairs],
            completed_at=None,
            job__state__in=["queued", "running"],
        ).values_list("revision_id", "model_id")
    )
    wanted = [pair for pair in pairs if (pair[0].pk, pair[1].pk) not in active]
    runs: list[SuiteRun] = []
    for revision, model in wanted[:MAX_AT_ONCE]:
        if not can_run(actor, revision.suite):
            continue
        whole = SuiteRevision.objects.select_related("suite").get(pk=revision.pk)
        try:
            runs.append(queue_run(whole, RegisteredModel.objects.get(pk=model.pk), actor=actor))
        except (ValidationError, TooManyJobs) as error:
            said = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
            return Queued(runs, len(pairs) - len(wanted), len(wanted) - len(runs), said)
    return Queued(runs, len(pairs) - len(wanted), len(wanted) - len(runs))
