"""Use cases of runs: queue, cancel, retry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts import daily_sentences
from gym.jobs import services as jobs
from gym.runs import permissions
from gym.runs.models import SuiteRun
from gym.runs.policies import default_policy
from gym.runs.quotas import RUNS
from gym.runs.work.deleted_runs import delete_runs
from models_registry import permissions as model_permissions
from models_registry.backends.policies import refusal
from models_registry.engine import ScoringPolicy
from models_registry.models import RegisteredModel
from suites import permissions as suite_permissions
from suites.models import SuiteRevision

if TYPE_CHECKING:
    from gym.accounts.models import User


NOTHING_NEEDED = "This suite makes no predictions, so none of its tokens is needed. Compute all tokens."


def queue_run(
    revision: SuiteRevision, model: RegisteredModel, policy: ScoringPolicy | None = None, *, actor: User
) -> SuiteRun:
    """Queue one model on one frozen revision. Run and job are written together or not at all.

    Raises OverQuota, TooManySentences and TooManyJobs when the account's allowances are used up."""
    if not suite_permissions.can_run(actor, revision.suite) or not model_permissions.can_run(actor, model):
        raise PermissionDenied("you may not run this model on this suite")
    if not revision.is_frozen:
        raise ValidationError("Freeze the revision first: results belong to something that cannot change.")
    if not model.is_hosted:
        raise ValidationError(model.not_hosted)
    if not model.is_ready:
        raise ValidationError(
            f"{model.name} is not ready: {model.status_reason or model.get_status_display()}."
        )
    policy = policy or default_policy(revision)
    if policy.tokens == "needed" and not revision.predictions.exists():
        raise ValidationError(NOTHING_NEEDED)
    if reason := refusal(model.backend, policy):
        raise ValidationError(f"{model.name}: {reason}")
    n_sentences = revision.sentences.count()
    with transaction.atomic():
        RUNS.require_room(actor, 1)
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
            title=f"{model.slug} on {revision}",
            total=run.n_sentences,
        )
        run.save(update_fields=["job"])
    return run


def cancel_run(run: SuiteRun, *, actor: User) -> None:
    """Stop a run. What its finished chunks scored stays in the cache."""
    _require_steer(actor, run)
    if run.job is not None:
        jobs.request_cancel(run.job, actor=actor)


def retry_run(run: SuiteRun, *, actor: User) -> None:
    """Queue a failed or cancelled run again. Chunks that were done stay done."""
    _require_steer(actor, run)
    if run.job is None:
        raise ValidationError("This run has no job any more. Start a new run.")
    jobs.retry(run.job, actor=actor)


def delete_run(run: SuiteRun, *, actor: User) -> None:
    """Throw away a run that has ended, with its results. Scores stay in the cache, so a new run is quick. The address
    of a finished public run goes on saying what it was. Raises InUse for a run that a published collection shows."""
    if not permissions.can_delete(actor, run):
        raise PermissionDenied("this run belongs to somebody else")
    if run.job is not None and run.job.is_active:
        raise ValidationError("This run is not finished. Cancel it first.")
    delete_runs(SuiteRun.objects.filter(pk=run.pk))


def _require_steer(actor: User, run: SuiteRun) -> None:
    if not permissions.can_steer(actor, run):
        raise PermissionDenied("this run belongs to somebody else")
