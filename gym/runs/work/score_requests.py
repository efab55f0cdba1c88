"""Use case: have sentences scored, and wait for a moment, because most are done at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils import timezone

from gym.accounts import daily_sentences
from gym.jobs import services as jobs
from gym.jobs.waiting import WAIT_SECONDS, wait_for_job
from gym.runs.models import KEEP_SCORE_REQUESTS, ScoreRequest
from models_registry import permissions
from models_registry.backends.policies import refusal
from models_registry.engine import ScoringPolicy
from models_registry.models import RegisteredModel

if TYPE_CHECKING:
    from gym.accounts.models import User

KIND, QUEUE = "score", "preview"
MAX_TEXTS = 1_000
MAX_TEXT_CHARACTERS = 10_000
MAX_CHARACTERS = 200_000


def queue_scores(
    texts: Sequence[str], model: RegisteredModel, policy: ScoringPolicy, *, actor: User
) -> ScoreRequest:
    """Queue these sentences, in front of nobody's runs and beside them. They count for the daily cap.

    Raises ValidationError, TooManySentences, TooManyJobs."""
    if not permissions.can_run(actor, model):
        raise PermissionDenied("you may not run this model")
    if not model.is_hosted:
        raise ValidationError(model.not_hosted)
    if not model.is_ready:
        raise ValidationError(
            f"{model.name} is not ready: {model.status_reason or model.get_status_display()}."
        )
    if reason := refusal(model.backend, policy):
        raise ValidationError(f"{model.name}: {reason}")
    characters = sum(map(len, texts))
    if characters > MAX_CHARACTERS:
        raise ValidationError(
            f"{characters:,} characters; at most {MAX_CHARACTERS:,} at a time. Send them in parts."
        )
    with transaction.atomic():
        daily_sentences.charge(actor, len(texts))
        ScoreRequest.objects.filter(created__lt=timezone.now() - KEEP_SCORE_REQUESTS).delete()
        request = ScoreRequest.objects.create(
            owner=actor, model=model, policy=policy.to_dict(), texts=list(texts), n_sentences=len(texts)
        )
        request.job = jobs.enqueue(
            KIND,
            {"request": request.pk},
            owner=actor,
            queue=QUEUE,
            title=f"{len(texts)} sentences with {model.slug}",
            total=len(texts),
        )
        request.save(update_fields=["job"])
    return request


def wait_for(request: ScoreRequest, seconds: float = WAIT_SECONDS) -> ScoreRequest:
    """The request as it is when its job has ended, or as it is now where nobody may wait any longer."""
    wait_for_job(request.job_id, seconds)
    return ScoreRequest.objects.select_related("model", "job").get(pk=request.pk)
