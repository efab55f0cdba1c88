"""Background work on models: the check."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from django.utils import timezone

from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from models_registry.models import RegisteredModel


@handler("check_model")
def check_model(context: JobContext) -> None:
    """Load the model, score a probe sentence, write down what was found, or exactly why it does not work."""
    model = RegisteredModel.objects.filter(pk=context.payload["model"]).first()
    if model is None:
        raise PermanentFailure("The model was deleted.")
    findings = inspect(model, repin=context.payload.get("repin", True))
    if findings["status_reason"]:
        context.log(findings["status_reason"])
    with context.finish():
        RegisteredModel.objects.filter(pk=model.pk).update(**findings)


def inspect(model: RegisteredModel, *, repin: bool = True) -> dict[str, Any]:
    """What a check finds, as values of RegisteredModel's fields.

    A model that cannot be used is a finding (status broken, with the reason), not an error. With `repin` a branch of
    the hub is resolved to its newest commit; otherwise the commit that was approved stays.
    """
    from models_registry.backends import BackendError, probe
    from models_registry.warm import forget, load_registered

    model.facts = {}
    if repin:
        model.source_revision = ""
    started = perf_counter()
    try:
        forget(model)
        backend = load_registered(model)
        loading = perf_counter() - started
        found = probe(backend)
    except BackendError as error:
        return {
            "status": RegisteredModel.Status.BROKEN,
            "status_reason": str(error),
            "facts": {},
            "checked_at": timezone.now(),
        }
    facts = backend.facts
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
