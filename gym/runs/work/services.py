"""Use cases for runs: queue, cancel, retry, delete, and queue a leaderboard's missing runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q

from gym.accounts import daily_sentences
from gym.accounts.errors import LimitReached
from gym.accounts.models import AnyUser, User
from gym.jobs import services as jobs
from gym.jobs.models import ACTIVE_STATES
from gym.runs import permissions
from gym.runs.models import RunScore, SuiteRun
from gym.runs.policies import default_policy
from gym.runs.quotas import RUNS
from gym.runs.read.leaderboard.build import StoredBoard
from gym.runs.read.selectors import visible_to
from gym.runs.work.deleted_runs import delete_runs
from gym.runs.work.start_tokens import plain
from gym.sharing.addresses import NOTE
from lmgym.models.backends.base import refusal
from lmgym.models.engine import ENGINE_VERSION, ScoringPolicy
from lmgym.text.columns import described
from models_registry import permissions as model_permissions
from models_registry.models import RegisteredModel
from models_registry.queues import queue_of
from models_registry.selectors import runnable_by
from suites import permissions as suite_permissions
from suites.models import SuiteRevision
from suites.permissions import can_run

NOTHING_NEEDED = "This suite has no predictions, so no tokens are needed. Compute all tokens."


def queue_run(
    revision: SuiteRevision, model: RegisteredModel, policy: ScoringPolicy | None = None, *, actor: User
) -> SuiteRun:
    """Queue one model on one frozen revision without looking for an existing run; user requests go through
    `queue_once`. Run and job are created together or not at all.

    Raises PermissionDenied, ValidationError, OverQuota, TooManySentences and LimitReached.
    """
    if not suite_permissions.can_run(actor, revision.suite) or not model_permissions.can_run(actor, model):
        raise PermissionDenied("you may not run this model on this suite")
    if not revision.is_frozen:
        raise ValidationError("Freeze the revision first: results need a fixed revision.")
    if not model.is_hosted:
        raise ValidationError(model.not_hosted)
    if not model.is_ready:
        raise ValidationError(
            f"{model.name} is not ready: {(model.status_reason or model.get_status_display()).rstrip('.')}."
        )
    policy = plain(policy or default_policy(revision), model)
    if policy.tokens == "needed" and not revision.predictions.exists():
        raise ValidationError(NOTHING_NEEDED)
    if reason := refusal(model.backend, policy):
        raise ValidationError(f"{model.name}: {reason}")
    n_sentences = revision.sentences.count()
    with transaction.atomic():
        RUNS.require_quota(actor, 1)
        daily_sentences.charge(actor, n_sentences)
        run = SuiteRun.objects.create(
            revision=revision,
            model=model,
            owner=actor,
            policy=policy.to_dict(),
            n_sentences=n_sentences,
        )
        run.job = jobs.enqueue(
            "suite_run",
            {"run": run.pk},
            owner=actor,
            queue=queue_of(model),
            title=f"{model.name} on {revision.suite.title} r{revision.number}",
            total=run.n_sentences,
            batch=jobs.batch_of(actor),
        )
        run.save(update_fields=["job"])
    return run


def same_run(
    revision: SuiteRevision, model: RegisteredModel, policy: ScoringPolicy, *, user: User
) -> SuiteRun | None:
    """Return the newest visible run, done or under way, with the same model files, revision, policy and engine version.
    A new run would give the same numbers."""
    policy = plain(policy, model)
    done = Q(completed_at__isnull=False)
    if model.fingerprint:
        done &= Q(provenance__model_fingerprint=model.fingerprint, provenance__engine=ENGINE_VERSION)
    runs = visible_to(user).filter(
        Q(completed_at=None, job__state__in=ACTIVE_STATES) | done,
        revision=revision,
        model=model,
        source=SuiteRun.Source.COMPUTED,
        policy=policy.to_dict(),
    )
    return runs.order_by("-created", "-pk").first()


@dataclass(frozen=True)
class QueuedRun:
    """The run for a request. `is_new`: it was queued for this request; else it already existed."""

    run: SuiteRun
    is_new: bool


def queue_once(
    revision: SuiteRevision,
    model: RegisteredModel,
    policy: ScoringPolicy | None = None,
    *,
    actor: User,
    again: bool = False,
) -> QueuedRun:
    """Return an equivalent run (see `same_run`), or queue a new one. `again`: always queue a new one.

    Locks the account from the lookup until the new row is written, so that simultaneous requests create only
    one run. Raises the same errors as `queue_run`.
    """
    policy = policy or default_policy(revision)
    with transaction.atomic():
        actor.lock()
        existing = None if again else same_run(revision, model, policy, user=actor)
        if existing is not None:
            return QueuedRun(existing, is_new=False)
        return QueuedRun(queue_run(revision, model, policy, actor=actor), is_new=True)


def cancel_run(run: SuiteRun, *, actor: User) -> None:
    """Stop a run. Scores of finished chunks stay in the cache."""
    _require_steer(actor, run)
    if run.job is not None:
        jobs.request_cancel(run.job, actor=actor)


def retry_run(run: SuiteRun, *, actor: User) -> None:
    """Queue a failed or cancelled run again. Finished chunks are kept."""
    _require_steer(actor, run)
    if run.job is None:
        raise ValidationError("The job of this run was deleted. Start a new run.")
    with transaction.atomic():
        jobs.retry(run.job, actor=actor, batch=jobs.batch_of(run.owner) if run.owner else None)


def delete_run(run: SuiteRun, *, actor: User, note: str = "") -> None:
    """Delete a run that has ended, with its results. Scores stay in the cache, so a new run is fast. The address of a
    finished public run keeps a description and the note. Raises PermissionDenied, InUse for a run that a published
    collection shows, and ValidationError for an unfinished run or a note that is too long."""
    if not permissions.can_delete(actor, run):
        raise PermissionDenied("this run belongs to someone else")
    if run.job is not None and run.job.is_active:
        raise ValidationError("This run is not finished. Cancel it first.")
    if len(note) > NOTE:
        raise ValidationError(f"A note has at most {NOTE} characters.")
    delete_runs(SuiteRun.objects.filter(pk=run.pk), note)


def _require_steer(actor: User, run: SuiteRun) -> None:
    if not permissions.can_steer(actor, run):
        raise PermissionDenied("this run belongs to someone else")


MAX_AT_ONCE = 100
"""Maximum number of missing runs queued in one request."""


@dataclass(frozen=True)
class Queued:
    """Result of `queue_missing`."""

    runs: Sequence[SuiteRun]
    waiting: int = described("runs already queued or running")
    left: int = described("missing runs not queued yet; repeat the request when the queued ones are done")
    stopped: str = described("reason why some could not be queued", default="")


def missing_pairs(board: StoredBoard, user: AnyUser) -> list[tuple[SuiteRevision, RegisteredModel]]:
    """Return the board's missing cells whose model is hosted and ready and may be run by this user. Seeds of
    a group are counted individually, and a rate counts whether it was computed or uploaded."""
    if not user.is_authenticated:
        return []
    models = {model.pk for row in board.rows for model in row.models}
    runnable = set(runnable_by(user).filter(pk__in=models).values_list("pk", flat=True))
    if board.options.source or board.options.group:
        with_rate = _with_rate(board, runnable)
        cells = [(model, column) for row in board.rows for model in row.models for column in board.columns]
        lacking = [(m, c) for m, c in cells if (c.revision.pk, m.pk) not in with_rate]
    else:
        lacking = [
            (row.model, column)
            for row in board.rows
            for column, cell in zip(board.columns, row.cells, strict=True)
            if cell is None
        ]
    return [(column.revision, model) for model, column in lacking if model.pk in runnable]


def _with_rate(board: StoredBoard, models: Iterable[int]) -> set[tuple[int, int]]:
    """Return (revision, model) pairs with a rate under the board's rule, from any run."""
    rows = RunScore.objects.filter(
        rule=board.options.rule.key,
        rate__isnull=False,
        run__completed_at__isnull=False,
        run__revision__in=[column.revision.pk for column in board.columns],
        run__model__in=models,
    )
    return set(rows.values_list("run__revision_id", "run__model_id"))


def queue_missing(board: StoredBoard, *, actor: User) -> Queued:
    """Queue a run with the default policy for each missing cell, at most MAX_AT_ONCE runs. Cells with a run under way
    are left out. Stops when a run is refused."""
    with transaction.atomic():
        actor.lock()
        return _queue_missing(missing_pairs(board, actor), actor)


def _queue_missing(pairs: Sequence[tuple[SuiteRevision, RegisteredModel]], actor: User) -> Queued:
    active = set(
        SuiteRun.objects.filter(
            revision__in=[revision.pk for revision, _ in pairs],
            completed_at=None,
            job__state__in=ACTIVE_STATES,
        ).values_list("revision_id", "model_id")
    )
    to_queue = [pair for pair in pairs if (pair[0].pk, pair[1].pk) not in active]
    runs: list[SuiteRun] = []
    for revision, model in to_queue[:MAX_AT_ONCE]:
        if not can_run(actor, revision.suite):
            continue
        whole = SuiteRevision.objects.select_related("suite").get(pk=revision.pk)
        try:
            runs.append(queue_run(whole, RegisteredModel.objects.get(pk=model.pk), actor=actor))
        except (ValidationError, LimitReached) as error:
            reason = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
            return Queued(runs, len(pairs) - len(to_queue), len(to_queue) - len(runs), reason)
    return Queued(runs, len(pairs) - len(to_queue), len(to_queue) - len(runs))
