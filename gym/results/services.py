"""Use cases of results: run what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError

from gym.evaluations.models import SuiteRun
from gym.evaluations.services import queue_run
from gym.jobs.errors import TooManyJobs
from gym.results.leaderboard import Board
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
    """Cells without a result that this user could have computed: the model is hosted, ready and may be run."""
    runnable = set(runnable_by(user).values_list("pk", flat=True)) if user.is_authenticated else set()
    return [
        (column.revision, model)
        for row in board.rows
        for model in row.models
        for column, cell in zip(board.columns, row.cells, strict=True)
        if cell is None and model.pk in runnable
    ]


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
