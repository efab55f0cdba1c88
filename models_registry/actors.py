"""Background work on models: the check."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils import timezone

from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from models_registry.models import RegisteredModel

if TYPE_CHECKING:
    from models_registry.backends import ModelFacts


def _seconds() -> float:
    """The check ends itself, see trials; this is for one that does not."""
    return float(settings.GYM_MODEL_CHECK_SECONDS) + 60


@handler("check_model", seconds=_seconds)
def check_model(context: JobContext) -> None:
    """Load the model, score a probe sentence, write down what was found, or exactly why it does not work."""
    wanted = RegisteredModel.objects.filter(pk=context.payload["model"], check_job=context.job_id)
    model = wanted.first()
    if model is None:
        raise PermanentFailure("The model was deleted or corrected.")
    findings = inspect(model, repin=context.payload.get("repin", True), tick=context.check)
    if findings["status_reason"]:
        context.log(findings["status_reason"])
    with context.finish():
        wanted.update(
            **findings
        )  # not if it was corrected meanwhile: another check then looks at what it is now


def inspect(
    model: RegisteredModel, *, repin: bool = True, tick: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """What a check finds, as values of RegisteredModel's fields.

    A model that cannot be used is a finding (status broken, with the reason), not an error. With `repin` a branch of
    the hub is resolved to its newest commit; otherwise the commit that was approved stays. `tick` is called several
    times a second while files are loaded, and may raise.
    """
    from models_registry.backends import BackendError
    from models_registry.warm import forget

    model.facts = {}
    if repin:
        model.source_revision = ""
    forget(model)
    try:
        facts, found, loading = _try_out(model, tick)
    except BackendError as error:
        return {
            "status": RegisteredModel.Status.BROKEN,
            "status_reason": str(error),
            "facts": {},
            "checked_at": timezone.now(),
        }
    return {
        "status": RegisteredModel.Status.READY,
        "status_reason": "",
        "facts": {**facts.to_dict(), "probe": found, "load_seconds": round(loading, 2)},
        "fingerprint": facts.fingerprint,
        "source_revision": facts.revision if model.config.get("source") == "hub" else "",
        "parameters": facts.parameters,
        "vocabulary_size": facts.vocabulary_size,
        "licence": model.licence or facts.licence[:60],
        "checked_at": timezone.now(),
    }


def _try_out(model: RegisteredModel, tick: Callable[[], None]) -> tuple[ModelFacts, dict[str, Any], float]:
    """Facts, what the probe saw, seconds of loading. Files are loaded in a child that can be ended. Raises
    BackendError."""
    from models_registry import trials
    from models_registry.backends import probe
    from models_registry.warm import load_registered

    if trials.has_trial(model):
        return trials.try_out(model, tick)
    started = perf_counter()
    backend = load_registered(model)
    loading = perf_counter() - started
    return backend.facts, probe(backend), loading
