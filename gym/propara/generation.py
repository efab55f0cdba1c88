"""Use case: let a registered model answer an answer set."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts import daily_sentences
from gym.accounts.models import User
from gym.jobs import services as jobs
from gym.propara import permissions
from gym.propara.models import AnswerSetVersion, Submission
from gym.propara.quotas import SUBMISSIONS
from gym.propara.services import About, describe
from lmgym.models.engine import ScoringPolicy
from lmgym.propara.generate import PROMPT
from models_registry import permissions as model_permissions
from models_registry.models import RegisteredModel
from models_registry.queues import queue_of

GENERATE = "propara_generate"
MAX_STEPS = 2_000
"""Participants times sentences, over all processes of an answer set that a model may be asked about."""


def about_generated(model: RegisteredModel, visibility: str) -> About:
    return About(f"{model.name} (by surprisal)"[:200], visibility=visibility)


def queue_generation(
    version: AnswerSetVersion, model: RegisteredModel, about: About, *, actor: User
) -> Submission:
    """Queue a model on an answer set. Submission and job are written together or not at all. Each step of a participant
    counts as a sentence of the daily cap."""
    if not permissions.can_submit(actor, version.answer_set) or not model_permissions.can_run(actor, model):
        raise PermissionDenied("you may not run this model on these reference answers")
    if not model.is_hosted:
        raise ValidationError(model.not_hosted)
    if not model.is_ready:
        raise ValidationError(
            f"{model.name} is not ready: {model.status_reason or model.get_status_display()}."
        )
    if not version.sentences:
        raise ValidationError("This version has no sentences, so there is nothing for a model to read.")
    rows = sum(version.events.values())
    if rows > MAX_STEPS and not actor.is_staff:
        raise ValidationError(f"{rows:,} steps of participants; at most {MAX_STEPS:,} are generated here.")
    with SUBMISSIONS.growing(actor, new=True):
        daily_sentences.charge(actor, rows)
        submission = Submission(
            version=version,
            owner=actor,
            model=model,
            state=Submission.State.GENERATING,
            source=Submission.Source.GENERATED,
            kind="actions",
            filename=f"{model.slug}.tsv",
            provenance={
                "model": model.slug,
                "fingerprint": model.fingerprint,
                "prompt": PROMPT,
                "policy": ScoringPolicy().to_dict(),
                "answers_sha256": version.sha256,
                "sentences_sha256": version.sentences_sha256,
            },
        )
        describe(submission, about)
        submission.save()
        submission.job = jobs.enqueue(
            GENERATE,
            {"submission": submission.pk},
            owner=actor,
            queue=queue_of(model),
            title=f"{model.name} on {version}",
            total=version.n_processes,
            batch=jobs.batch_of(actor),
        )
        submission.save(update_fields=["job"])
    return submission


def cancel_generation(submission: Submission, *, actor: User) -> None:
    """Processes that are answered stay, in case it is queued again."""
    _require(actor, submission)
    if submission.job is not None:
        jobs.request_cancel(submission.job, actor=actor)


def retry_generation(submission: Submission, *, actor: User) -> None:
    _require(actor, submission)
    if submission.job is None:
        raise ValidationError("This submission has no job any more. Start a new one.")
    with transaction.atomic():
        batch = jobs.batch_of(submission.owner) if submission.owner else None
        jobs.retry(submission.job, actor=actor, batch=batch)


def _require(actor: User, submission: Submission) -> None:
    if not permissions.can_steer(actor, submission) or not submission.is_generated:
        raise PermissionDenied("this belongs to somebody else")
