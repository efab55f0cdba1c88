"""Score sentences that belong to no suite.

A request is queued and waited for briefly, because most finish at once. The worker scores the texts missing from the
cache and stores all scores."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from gym.accounts import daily_sentences
from gym.accounts.models import User
from gym.jobs import rights
from gym.jobs import services as jobs
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.services import WAIT_SECONDS, wait_for_job
from gym.runs.models import KEEP_SCORE_REQUESTS, ScoreRequest
from gym.runs.work.preview import score_missing
from lmgym.models.backends import BackendError
from lmgym.models.backends.base import refusal
from lmgym.models.engine import ScoringFailure, ScoringPolicy
from lmgym.models.engine.whitespace import corrected_scores
from lmgym.runs import score_store
from lmgym.runs.token_arrays import Scores
from lmgym.text import count
from models_registry import permissions
from models_registry.models import RegisteredModel

KIND, QUEUE = "score", "preview"
MAX_TEXTS = 1_000
MAX_TEXT_CHARACTERS = 10_000
MAX_CHARACTERS = 200_000


def queue_scores(
    texts: Sequence[str], model: RegisteredModel, policy: ScoringPolicy, *, actor: User
) -> ScoreRequest:
    """Queue sentences on the quick queue. They count towards the daily cap.

    Raises PermissionDenied, ValidationError, TooManySentences, LimitReached.
    """
    if not permissions.can_run(actor, model):
        raise PermissionDenied("you may not run this model")
    if not model.is_hosted:
        raise ValidationError(model.not_hosted)
    if not model.is_ready:
        raise ValidationError(
            f"{model.name} is not ready: {(model.status_reason or model.get_status_display()).rstrip('.')}."
        )
    if reason := refusal(model.backend, policy):
        raise ValidationError(f"{model.name}: {reason}")
    characters = sum(map(len, texts))
    if characters > MAX_CHARACTERS:
        raise ValidationError(
            f"{characters:,} characters; at most {MAX_CHARACTERS:,} per request. Send fewer sentences."
        )
    with transaction.atomic():
        daily_sentences.charge(actor, len(texts))
        drop_old()
        request = ScoreRequest.objects.create(
            owner=actor, model=model, policy=policy.to_dict(), texts=list(texts), n_sentences=len(texts)
        )
        request.job = jobs.enqueue(
            KIND,
            {"request": request.pk},
            owner=actor,
            queue=QUEUE,
            title=f"{count(len(texts), 'sentence')} with {model.name}",
            total=len(texts),
        )
        request.save(update_fields=["job"])
    return request


def wait_for(request: ScoreRequest, seconds: float = WAIT_SECONDS) -> ScoreRequest:
    """Poll until the job has ended or `seconds` have passed; return the request's current state."""
    wait_for_job(request.job_id, seconds)
    return ScoreRequest.objects.select_related("model", "job").get(pk=request.pk)


def visible_to(user: User) -> QuerySet[ScoreRequest]:
    rows = ScoreRequest.objects.select_related("model", "job")
    return rows if user.is_staff else rows.filter(owner=user.pk)


@handler(KIND, seconds=3600)
def score(context: JobContext) -> None:
    from models_registry.warm import loaded_model

    request = ScoreRequest.objects.select_related("model").filter(pk=context.payload["request"]).first()
    if request is None:
        raise PermanentFailure("The request was deleted.")
    model = request.model
    rights.require(
        context,
        {f"the model {model.slug}": lambda person: permissions.can_run(person, model)},
    )
    policy = ScoringPolicy.from_dict(request.policy)
    try:
        with loaded_model(model) as backend:
            known = score_missing(context, backend, policy, request.texts)
    except BackendError as error:
        raise PermanentFailure(str(error)) from error
    rows = [_row(text, known[text], policy) for text in request.texts]
    with context.finish():
        ScoreRequest.objects.filter(pk=request.pk).update(scores=rows, completed_at=timezone.now())


def _row(text: str, scores: Scores, policy: ScoringPolicy) -> dict[str, object]:
    if policy.whitespace == "trailing" and not isinstance(scores, ScoringFailure):
        scores = corrected_scores(text, scores)
    return score_store.to_json(scores) | ({} if isinstance(scores, ScoringFailure) else {"failure": ""})


def drop_old() -> int:
    """Delete requests older than KEEP_SCORE_REQUESTS, with their sentences; return how many."""
    old = ScoreRequest.objects.filter(created__lt=timezone.now() - KEEP_SCORE_REQUESTS)
    return old.delete()[1].get(ScoreRequest._meta.label, 0)
