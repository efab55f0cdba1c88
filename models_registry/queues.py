"""Choice of the queue for a model's jobs, so that they run on workers that can load it."""

from __future__ import annotations

from django.conf import settings

from gym.jobs.conf import SHORT
from models_registry.models import RegisteredModel

MEGABYTE = 1_000_000
TAG = "queue:"
"""The tag `queue:NAME` sends a model's jobs to that queue, if GYM_MODEL_QUEUES has it."""
GPU = "gpu"
"""Queue of models whose configuration names a GPU, if GYM_MODEL_QUEUES has it."""


def queue_of_check(model: RegisteredModel) -> str:
    """Return the queue for a check: SHORT, unless only certain workers can load the model."""
    queue = queue_of(model)
    return SHORT if queue == "default" else queue


def queue_of(model: RegisteredModel) -> str:
    """Return the queue of GYM_MODEL_QUEUES named by a tag; else `gpu` if the model is configured for a GPU; else the
    queue with the largest size (in megabytes) that its weights reach; else `default`."""
    queues: dict[str, int | None] = settings.GYM_MODEL_QUEUES
    for tag in model.tags:
        if str(tag).startswith(TAG) and (name := str(tag).removeprefix(TAG)) in queues:
            return name
    if GPU in queues and str(model.config.get("device", "")).startswith("cuda"):
        return GPU
    sizes = {size: name for name, size in queues.items() if size is not None}
    reached = {size: name for size, name in sizes.items() if model.weight_bytes >= size * MEGABYTE}
    return reached[max(reached)] if reached else "default"
