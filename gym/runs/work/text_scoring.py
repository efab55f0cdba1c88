"""The worker's part: score what the cache does not know, and write all scores with the state `done`."""

from __future__ import annotations

from django.utils import timezone

from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from gym.runs.core.compute import Scores
from gym.runs.models import ScoreRequest
from gym.runs.work import cache
from gym.runs.work.preview import score_missing
from gym.runs.work.score_requests import KIND
from models_registry import permissions
from models_registry.backends import BackendError
from models_registry.engine import ScoringFailure, ScoringPolicy
from models_registry.engine.whitespace import corrected_scores


@handler(KIND, seconds=3600)
def score(context: JobContext) -> None:
    from models_registry.warm import borrow

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
        with borrow(model) as backend:
            known = score_missing(context, backend, policy, request.texts)
    except BackendError as error:
        raise PermanentFailure(str(error)) from error
    rows = [_row(text, known[text], policy) for text in request.texts]
    with context.finish():
        ScoreRequest.objects.filter(pk=request.pk).update(scores=rows, completed_at=timezone.now())


def _row(text: str, scores: Scores, policy: ScoringPolicy) -> dict[str, object]:
    if policy.whitespace == "trailing" and not isinstance(scores, ScoringFailure):
        scores = corrected_scores(text, scores)
    return cache.to_json(scores) | ({} if isinstance(scores, ScoringFailure) else {"failure": ""})
