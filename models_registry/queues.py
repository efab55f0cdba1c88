"""Which queue the jobs of a model go to: that of the workers that can load it."""

from __future__ import annotations

from django.conf import settings

from gym.jobs.conf import SHORT
from models_registry.models import RegisteredModel

MEGABYTE = 1_000_000
TAG = "queue:"
"""A model's tag `queue:NAME` sends its jobs to that queue, where GYM_MODEL_QUEUES has it."""
GPU = "gpu"
"""The queue of models whose cards ask for a GPU, where GYM_MODEL_QUEUES has it."""


def queue_of_check(model: RegisteredModel) -> str:
    """Checks are short work, but go to the workers that can load the model."""
    queue = queue_of(model)
    return SHORT if queue == "default" else queue


def queue_of(model: RegisteredModel) -> str:
    """The queue of GYM_MODEL_QUEUES that the model's tag names; else `gpu` where its card asks for one; else that with
    the highest number of megabytes that its weights reach; else `default`."""
    queues: dict[str, int | None] = settings.GYM_MODEL_QUEUES
    for tag in model.tags:
        if str(tag).startswith(TAG) and (name := str(tag).removeprefix(TAG)) in queues:
            return name
    if GPU in queues and str(model.config.get("device", "")).startswith("cuda"):
        return GPU
    sizes = {size: name for name, size in queues.items() if size is not None}
    reached = {size: name for size, name in sizes.items() if model.weight_bytes >= size * MEGABYTE}
    return reached[max(reached)] if reached else "default"
